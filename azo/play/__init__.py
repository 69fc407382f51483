"""Playing and analysing live games: the engine, its protocols, books and a terminal.

Read `host_position` and `live_game`, `engine_settings`, `evaluator` with `pattern_evaluator`,
`pattern_weights` and `network_evaluator`, `live_tree`, `live_simulation`, `live_search`,
`proven_report` and `live_engine` (the search of one game), `opening_book` and `book_building`,
`engine_factory` (engines from files), `terminal` with `interruptible` and `kept_game`, `gtp` and
`nboard` (front ends), `game_analysis` with `analysis_text` and `analysis_page`. The page in a
browser is in `web`, and one that shows a run in `watch`. A game imports JAX only with
`network_evaluator`. This room must not know how a network is trained, nor any command line.
"""
