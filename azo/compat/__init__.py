"""Interfaces of other packages around azo's parts, for programs that use those packages.

`pgx` has Othello as an environment of Pgx, on azo's rules; `mctx` has the policies of mctx with a
faster search. Nothing else in azo imports this layer. Pgx is optional.
"""
