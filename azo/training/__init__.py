"""Training of a run on the host: settings, the main loop, checkpoints and metrics.

Read `config` and `checks` (settings), `trainer` (the main loop), `curriculum`, `interruption`
(signals), `devices` with `program_cache`, `exported_network`, `checkpoint_folder`, `checkpoint` and
`network_files` (state on disk), `metrics`, `shown_games` and `console`. This room knows no players
or tournaments: the entry point hands in what plays matches.
"""
