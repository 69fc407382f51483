"""Endgame solvers for Othello: exact scores.

`device/` solves thousands of positions at once inside a compiled JAX program, up to about 12 empty
squares. `host/` solves one position at a time with numba, up to about 26 empty squares. The two
share the rules of `azo.games` and no code. This layer must not know networks, searches with a
network, or how games are played and recorded.
"""
