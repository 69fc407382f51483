"""Strength and accuracy: players, matches, ratings, tournaments, experiments, reports.

Read `players` and `arena` first: they turn networks into players, and play matches. All games are
played by `tournament/rounds`. `elo` has the statistics of matches, `accuracy` compares values with
the known scores of `position_sets`. `classical` has programs without a network, `pattern_search/`
the strongest one, and `external_engines` runs others. `report/` draws a run. `yardstick` measures a
network on the fixed `ladder`. `supervised_training` learns from given games. This room must not
know how a live game is played, and reads no command line.
"""
