"""Code that exists only for a CPU compiler.

`convolution` chooses Winograd's algorithm (`winograd`), `normalisation` has its own gradient, and
`batches` evaluates in blocks that fit a cache.
"""
