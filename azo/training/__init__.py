"""A run on the host: settings, the main loop, checkpoints and metrics.

Read `config` with `checks` (settings of a run) and `typed_run`, `trainer` (the main loop),
`curriculum`, `checkpoint` with `orbax_calls` (the state on disk), `devices`, `run_clock`,
`metrics`, `shown_games` and `shared_matches` (what plays the matches). `supervised_data` and
`supervised_training` learn from recorded games. This layer knows no matches: the entry point hands
in what plays them.
"""
