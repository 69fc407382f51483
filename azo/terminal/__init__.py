"""Playing, analysing and practising in a terminal.

Read `terminal` (a game), `practice`, `analysis_text`, `board_drawing`, `saved_game` (an unfinished
game on disk) and `interruptible` (searches that Ctrl-C stops).
"""
