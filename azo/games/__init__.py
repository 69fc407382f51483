"""Rules as pure functions on batches of positions.

Read in this order: `protocol` (what every game offers), `tictactoe` (the smallest game), `bitboard`
(64-bit boards as two uint32), `othello`, `symmetry` (batches moved by the eight symmetries),
`registry` (makes games from their settings). The host uses what does not import JAX:
`board_symmetry`, `variant` (Othello without its rules), `notation` (moves and boards as text),
`game_config` (settings of a game) and `patterns`. Nothing here knows of files, networks or
searches.
"""
