"""Tournaments: `openings`, a schedule and the games played (`game_log`), and tables.

`backends` hands requests for moves to networks, programs and external engines; `rounds` plays the
schedule with them; `standings` counts the results, `page` shows them, and `export` writes the games
for other programs. Files and folders of a tournament are the business of `azo.run`.
"""
