"""Games and positions in files: reading and writing.

Read in this order: `decoding` (bytes in any encoding), `ggf` (a game, and the format of GGS), `sgf`
(games of other programs), `obf` (positions with known scores), `boards` (drawings), `json_games`
(those of web sites), `game_texts` (games of a text of any format), `wthor` (the binary archive of
the French federation), `game_files` (one or all games of a file of any format, played by the
rules). Moves and boards as text are in `games.notation`. Nothing here knows of searches or
networks.
"""
