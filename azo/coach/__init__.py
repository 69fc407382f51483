"""What helps a player: judged games, reasons, practice.

Read `game_analysis` (losses and marks of a whole game), `reasons` with `attribution` (why a move is
a mistake), `deck` (positions to practise again) with `replies` (whether an answer is accepted), and
`formatting` (scores and moves as text).
"""
