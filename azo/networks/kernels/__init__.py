"""What is faster than a network's plain layers: for the CPU, and for accelerators.

`convolution` has Winograd's algorithm and evaluates in blocks that fit a cache, `normalisation`
has its own gradient: both for the CPU. `fused_tower` is for accelerators.
"""
