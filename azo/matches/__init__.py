"""Strength and accuracy: matches, Elo, ratings, tournaments.

Read `arena` first, which plays a match; all games are played by `tournament/rounds`. `elo` has the
statistics of matches, `ratings` rates a network on the fixed `ladder`, `run_matches` plays the
matches of a run. `accuracy` compares values with the known scores of `position_sets`.
`tournament_file` and `tournament_runner` are the command `azo tournament`. `game_defaults` has the
settings of a run that follow from its game.
"""
