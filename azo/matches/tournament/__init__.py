"""The match engine, and tournaments: `openings`, schedules and games (`game_log`), and tables.

`backends` hands requests for moves to networks, programs and external engines; `rounds` plays the
schedule with them; `page` shows the results, and `export` writes the games for other programs.
`azo.matches.arena` plays matches of two players with it, `tournament_runner` whole tournaments that
resume.
"""
