"""Kernels of the search for NVIDIA GPUs: one program for each game, written with Pallas.

`descent` and `expansion` do what the loops of `mcts` do, with equal visits; `check` compares them.
"""
