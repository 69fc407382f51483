"""The rules on the host, for single positions, compiled by numba.

Read `compiling`, `kernels`, `host_rules`, `move_lists` (whole games) and `live_game`. A game on the
host needs no JAX.
"""
