"""Evaluation of large batches on the CPU, a few positions at a time."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

Output = TypeVar("Output")


def apply(function: Callable[[jax.Array], Output], planes: jax.Array, *, block_size: int) -> Output:
    """Returns `function(planes)`, on the CPU in blocks that fit a core's cache.

    Args:
      function: maps planes `[M, ...]` to a pytree of arrays `[M, ...]`, position by position.
      planes: `[M, rows, columns, C]`.
      block_size: positions of a block.
    """
    if planes.shape[0] <= block_size:
        return function(planes)

    def in_blocks(planes: jax.Array) -> Output:
        batch = planes.shape[0]
        num_blocks = -(-batch // block_size)
        # Empty boards fill up the last block.
        missing = jnp.zeros((num_blocks * block_size - batch, *planes.shape[1:]), planes.dtype)
        blocks = jnp.concatenate([planes, missing])
        blocks = blocks.reshape(num_blocks, block_size, *planes.shape[1:])
        output = jax.lax.map(function, blocks)
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:batch], output)

    return jax.lax.platform_dependent(planes, cpu=in_blocks, default=function)


def block_size(num_channels: int) -> int:
    """Returns the number of positions of a convolutional network that suit a core.

    The output of a layer should stay in the core's cache, and each kernel in the cache should serve
    enough squares. Speed on 8x8 with a cache of 1 MB, relative to the whole batch at once: 1.07 for
    64 positions and 1.12 for 256 with 32 channels, 1.05 and 1.6 with 64 channels, 1.10 for 64
    positions with 128.
    """
    return max(256 // num_channels, num_channels // 16, 4)
