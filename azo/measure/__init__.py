"""Strength and accuracy: players, matches, ratings, tournaments, reports.

Read `players` and `arena` first: they turn networks into players, and play matches. `elo`, `cycles`
and `sequential` are the statistics of matches, `accuracy` compares values with the known scores of
`position_sets`. `classical` has programs without a network, `pattern_search/` the strongest one.
`external_engines` runs other programs, `tournament/` plays many players against one another, and
`report/` draws a run. Nothing here knows of training, or of settings files.
"""
