"""Rules as pure functions on batches of positions.

Read in this order: `protocol` (what every game offers), `tictactoe` (the smallest game), `bitboard`
(64-bit boards as two uint32), `othello`, `symmetry` (the eight symmetries), `notation` (moves and
boards as text), `registry` (settings that choose a game). Nothing here knows of files, networks or
searches.
"""
