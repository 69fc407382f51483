"""Rules as pure functions on batches of positions.

Read in this order: `protocol` (what every game offers), `tictactoe` (the smallest game), `bitboard`
(64-bit boards as two uint32), `othello`, `symmetry` (batches moved by the eight symmetries). The
host uses what does not import JAX: `board_symmetry`, `variant` (Othello without its rules),
`notation` (moves and boards as text), `registry` (games by their settings) and `patterns`. Nothing
here knows of files, networks or searches.
"""
