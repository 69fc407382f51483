"""Files of games and positions: reading and writing.

Read in this order: `files` (whole files, plain or gzipped), `checksums` (of a folder), `locks` (one
writer at a time), `ggf` (one game of GGS), `archives` (many games at once: transcripts and CSV),
`wthor` (the binary archive of the French federation), `game_files` (one or all games of a file of
any format), `obf` (positions with known scores).
Moves and boards as text are in `games.notation`. Nothing here knows of searches or networks.
"""
