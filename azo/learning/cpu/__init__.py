"""Code that exists only for a CPU compiler.

`convolution` has Winograd's algorithm and evaluates in blocks that fit a cache, `normalisation`
has a gradient of its own.
"""
