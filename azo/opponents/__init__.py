"""Opponents: networks, random games, classical programs, and programs of other authors.

Read `players` first (functions from a batch of positions to moves, by name), then `classical` with
`lookahead`, `iagno` and `pattern_search/` (programs without a network), and `external_engines` with
`engine_protocols`.
"""
