"""Runs of azo on the host: settings, training, queues, tournaments and all that they write.

Read `config` and `checks` (settings), `trainer` and `hooks` (the main loop), `curriculum`,
`interruption` (signals), `orbax_calls`, `checkpoint_folder`, `checkpoint`, `exported_network` and
`network_files` (state on disk), `metrics`, `shown_games` and `console`. Then come
`supervised_training`, `run_queue` with `queue_runner`, `tournament_file` with `tournament_runner`,
`records` with `strength_times`, and `run_report`. This room must not know how a live game is
played, and reads no command line.
"""
