"""Convolutions and normalisation that are faster than what XLA compiles for a CPU.

`convolution` has Winograd's algorithm and evaluates in blocks that fit a cache, `normalisation`
has a gradient of its own.
"""
