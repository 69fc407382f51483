"""The host's solver: deep endgames, one position at a time, compiled by numba.

Reading order: `endgame` (`Solver`, with limits on nodes and time), `deep` (alpha-beta with a table
of bounds), `table`, `last_squares` (the last few empty squares). A shallow search orders the moves:
`probcut` and `fixed_depth`, which also finds wipe-outs with many empty squares. The rules are those
of `azo.games.host`.
"""
