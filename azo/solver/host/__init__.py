"""The host's solver: deep endgames, one position at a time, compiled by numba.

Reading order: `endgame` (`Solver`, with limits on nodes and time), `deep` (alpha-beta with a table
of bounds), `table`, `last_squares` (the last few empty squares), `kernels` (moves and flips on
64-bit words). Selective search: `probcut`, `estimate`, `fixed_depth`. `early_end` finds wipe-outs
with many empty squares. `best_lines` plays endings to their end, and `line_workers` does so on all
cores.
"""
