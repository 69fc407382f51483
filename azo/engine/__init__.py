"""The engine of one live game: evaluators, its tree and searches, the solver, books.

Read `engine_settings`, `live_tree`, `live_simulation`, `live_search` with `pattern_evaluator`,
`pattern_weights` and `network_evaluator`, `search_report` and `live_engine` (the search of one
game), `people` (human levels), `opening_book` with `book_building`, and `engine_factory` (engines
from files). Only `network_evaluator` imports JAX.
"""
