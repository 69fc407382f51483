"""Interfaces of other packages around azo's parts, for programs that use those packages.

`pgx` has Othello as an environment of Pgx, on azo's rules. Nothing else in azo imports this room.
The packages are optional: a module says which one it needs.
"""
