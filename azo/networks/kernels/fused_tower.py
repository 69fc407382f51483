"""The residual tower in bfloat16 throughout, for play on accelerators.

With examples first (NHWC), output channels of a kernel first (OHWI) and bfloat16 from end to end,
XLA makes one call of cuDNN of a convolution, its bias, the residual sum and the rectifier. With
float32 between the convolutions each of them is a separate kernel. The projections with which the
heads begin are one convolution.

The residual stream is rounded to bfloat16 after each block, and each convolution still sums in
float32. Learning keeps a float32 stream: `residual`.
"""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Layer(NamedTuple):
    """A convolution with its bias."""

    kernel: jax.Array  # [D, rows, columns, C], 3x3 or 1x1
    bias: jax.Array  # [D]


class Block(NamedTuple):
    """A residual block; the shortcut changes the number of channels, if that is needed."""

    first: Layer
    second: Layer
    shortcut: Layer | None


class Tower(NamedTuple):
    """The weights of a tower and of the projections of its heads."""

    stem: Layer
    blocks: list[Block]
    projections: Layer  # all of them, one after the other
    widths: dict[str, int]  # channels of each projection, by its name


def prepare(
    params: Mapping[str, Any], num_blocks: int, heads: list[str], dtype: Any = jnp.bfloat16
) -> Tower:
    """Returns the weights of a folded `residual.ResidualNetwork`; `heads` name its projections."""

    def convolution(name: str) -> Layer:
        kernel = params[f"{name}_kernel"].transpose(3, 0, 1, 2)
        return Layer(kernel.astype(dtype), params[f"{name}_bias"].astype(dtype))

    def projection(name: str) -> Layer:
        kernel = params[name]["kernel"].T[:, None, None]
        return Layer(kernel.astype(dtype), params[f"{name}_bias"].astype(dtype))

    def block(name: str) -> Block:
        shortcut = f"{name}_shortcut"
        return Block(
            convolution(f"{name}_first"),
            convolution(f"{name}_second"),
            projection(shortcut) if shortcut in params else None,
        )

    parts = [projection(name) for name in heads]
    return Tower(
        stem=convolution("stem"),
        blocks=[block(f"block{number}") for number in range(num_blocks)],
        projections=Layer(*(jnp.concatenate(x) for x in zip(*parts, strict=True))),
        widths={name: len(part.bias) for name, part in zip(heads, parts, strict=True)},
    )


def apply(tower: Tower, board: jax.Array) -> dict[str, jax.Array]:
    """Returns projections `[rows, columns, M, width]` float32 of boards `[M, rows, columns, C]`.

    Squares come first, as in `residual`; the transposition costs nothing, as the heads undo it.
    """
    x = jax.nn.relu(_convolve(board.astype(tower.stem.kernel.dtype), tower.stem))
    x = _after_blocks(x, tower.blocks)
    x = jax.nn.relu(_convolve(x, tower.projections))
    ends = np.cumsum([*tower.widths.values()])
    parts = jnp.split(x, ends[:-1], axis=-1)
    squares_first = [part.transpose(1, 2, 0, 3).astype(jnp.float32) for part in parts]
    return dict(zip(tower.widths, squares_first, strict=True))


def _after_blocks(x: jax.Array, blocks: list[Block]) -> jax.Array:
    """Returns the residual stream after all blocks."""
    if len({str(jax.tree.map(jnp.shape, block)) for block in blocks}) != 1:
        return _in_turn(x, blocks)
    # A convolution takes 0.6 MiB of code on a TPU, so equal blocks are one loop there.
    return jax.lax.platform_dependent(x, blocks, tpu=_in_loop, default=_in_turn)


def _in_turn(x: jax.Array, blocks: list[Block]) -> jax.Array:
    return functools.reduce(_after_block, blocks, x)


def _in_loop(x: jax.Array, blocks: list[Block]) -> jax.Array:
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *blocks)

    def after(x: jax.Array, block: Block) -> tuple[jax.Array, None]:
        return _after_block(x, block), None

    # With one block per turn the compiler for a v6e copies the boards in each turn.
    return jax.lax.scan(after, x, stacked, unroll=2)[0]


def _after_block(x: jax.Array, block: Block) -> jax.Array:
    y = jax.nn.relu(_convolve(x, block.first))
    skip = x if block.shortcut is None else _convolve(x, block.shortcut)
    return jax.nn.relu(_convolve(y, block.second) + skip)


def _convolve(x: jax.Array, layer: Layer) -> jax.Array:
    y = jax.lax.conv_general_dilated(
        x, layer.kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "OHWI", "NHWC")
    )
    return y + jnp.broadcast_to(layer.bias, y.shape)
