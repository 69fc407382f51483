"""A 3x3 convolution: Winograd's on the CPU, the hardware's in bfloat16 on accelerators.

Winograd's convolution is about twice as fast as XLA's on the CPU. XLA's kernel gradient there is
also 25 to 37 times slower inside a `while` body (https://github.com/jax-ml/jax/issues/12868), and
the learner is a scan.

Arrays are float32 outside. In bfloat16 both factors of a product are rounded, the matrix units sum
in float32, and the result is rounded once more. A float32 result would be slower: XLA has no
convolution of mixed types for NVIDIA GPUs and would convert both factors to float32
(`ConvBfloat16Support` in its nvptx_compiler.cc).

Winograd's convolution is that of Lavin and Gray (2015, arXiv:1509.09308). A board is cut into tiles
of `m x m` squares, each with a margin of one: `a x a`, `a = m + 2`. Tiles and kernel are
transformed, multiplied point by point and transformed back. This takes `a**2` products for
each tile and pair of channels, instead of `9 * m**2`. The transforms are those of Toom and Cook
over small integers, with an error of 2e-6 of the largest result.

Squares come before examples, so that the transforms work on long rows. With examples first, or with
channels as a separate axis, they take twice as long. On one core, for a batch of 64 with all
transforms: 0.24 ms for 32 channels on 6x6 (XLA's convolution 0.43), 1.23 ms for 64 channels on 8x8
(2.74).
"""

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from azo.networks import network_config

Output = TypeVar("Output")
_SIZES = (2, 3, 4)
_POINTS = (0, 1, -1, 2, -2)


def convolve(
    images: jax.Array,
    kernel: jax.Array,
    bias: jax.Array | None,
    precision: network_config.Precision,
) -> jax.Array:
    """Returns the same-size 3x3 convolution `[rows, columns, M, D]`; squares beyond the edge are 0.

    Images `[rows, columns, M, C]`, kernel `[3, 3, C, D]` and bias `[D]` are float32. `precision` is
    that of the factors, also in the gradients: "auto" is float32 in a program for the CPU and
    bfloat16 in others.
    """

    def on_accelerator(images: jax.Array, kernel: jax.Array, bias: jax.Array | None) -> jax.Array:
        if precision != "float32":
            images, kernel = images.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16)
        layout = ("HWNC", "HWIO", "HWNC")
        output = jax.lax.conv_general_dilated(
            images, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=layout
        ).astype(jnp.float32)
        return output if bias is None else output + jnp.broadcast_to(bias, output.shape)

    if precision == "bfloat16":
        return on_accelerator(images, kernel, bias)
    return jax.lax.platform_dependent(images, kernel, bias, cpu=_winograd, default=on_accelerator)


@jax.custom_vjp
def _winograd(images: jax.Array, kernel: jax.Array, bias: jax.Array | None) -> jax.Array:
    return _forward(images, kernel, bias)[0]


_Saved = tuple[jax.Array, jax.Array, jax.Array | None]


def _forward(
    images: jax.Array, kernel: jax.Array, bias: jax.Array | None
) -> tuple[jax.Array, _Saved]:
    size = _tile_size(*images.shape[:2])
    transforms = _transforms(size)
    tiles = _into_tiles(images, transforms.into_tiles, size, first=-1)
    products = jnp.matmul(tiles, _at_points(kernel, size))
    if bias is not None:
        # The product at the point 1 is added to all squares of a tile. Adding the bias to the
        # squares themselves would break up the long rows.
        at_one = _POINTS.index(1)
        products = products.at[at_one, at_one].add(jnp.broadcast_to(bias, products.shape[2:]))
    output = _out_of_tiles(products, transforms.from_tiles.T, size, images.shape[:3], first=0)
    return output, (tiles, kernel, bias)


def _backward(saved: _Saved, gradient: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array | None]:
    """Returns the gradients; one transform of the output's gradient serves images and kernel."""
    tiles, kernel, bias = saved
    size = _tile_size(*gradient.shape[:2])
    transforms = _transforms(size)
    of_products = _into_tiles(gradient, transforms.from_tiles.T, size, first=0)
    of_tiles = jnp.matmul(of_products, _at_points(kernel.swapaxes(2, 3), size))
    of_images = _out_of_tiles(of_tiles, transforms.into_tiles, size, gradient.shape[:3], first=-1)
    of_points = jnp.matmul(tiles.swapaxes(2, 3), of_products)
    of_kernel = jnp.matmul(transforms.to_points.T, of_points.reshape(len(transforms.to_points), -1))
    of_bias = None if bias is None else gradient.sum(axis=(0, 1, 2))
    return of_images, of_kernel.reshape(kernel.shape), of_bias


_winograd.defvjp(_forward, _backward)


def _at_points(kernel: jax.Array, size: int) -> jax.Array:
    """Returns the kernel `[3, 3, C, D]` as `[a, a, C, D]`."""
    length = size + 2
    points = jnp.matmul(_transforms(size).to_points, kernel.reshape(9, -1))
    return points.reshape(length, length, *kernel.shape[2:])


def _into_tiles(x: jax.Array, transform: np.ndarray, size: int, first: int) -> jax.Array:
    """Returns `[a, a, T, C]` of `[rows, columns, M, C]`: `T` tiles of all examples, transformed.

    Tiles begin every `size` squares. The `transform` `[a, k]`, along columns and rows, takes the
    `k` squares from `first` on: -1 where a tile has a margin, else 0.
    """

    def along_second_axis(x: jax.Array) -> jax.Array:
        length = x.shape[1]
        beyond = jnp.zeros_like(x[:, 0])

        def tile(start: int) -> list[jax.Array]:
            places = range(start, start + transform.shape[1])
            return [x[:, i] if 0 <= i < length else beyond for i in places]

        tiles = [tile(start) for start in range(first, length + first, size)]
        return jnp.stack(
            [jnp.stack([_sum(row, squares) for squares in tiles], axis=1) for row in transform]
        )

    flat = x.reshape(*x.shape[:2], -1)
    done = along_second_axis(along_second_axis(flat))
    return done.reshape(*done.shape[:2], -1, x.shape[-1])


def _out_of_tiles(
    x: jax.Array, transform: np.ndarray, size: int, shape: tuple[int, ...], first: int
) -> jax.Array:
    """Returns `[*shape, C]` of `[a, a, T, C]`, the transpose of `_into_tiles`."""

    def squares(x: jax.Array, axis: int) -> list[jax.Array]:
        """Returns the sums over `[a, ...]` for each of a tile's own squares, tiles along `axis`."""
        own: list[list[jax.Array]] = [[] for _ in range(size)]
        for place, weights in enumerate(transform.T, first):
            own[place % size].append(_shifted(_sum(weights, x), place // size, axis))
        return [functools.reduce(jnp.add, terms) for terms in own]

    rows, columns, _ = shape
    num_tiles = (-(-rows // size), -(-columns // size))
    tiles = x.reshape(*x.shape[:2], *num_tiles, -1)
    # Along columns, then along rows.
    strips = jnp.stack(squares(tiles.swapaxes(0, 1), axis=2), axis=3)
    board = jnp.stack(squares(strips, axis=0), axis=1)
    tiled = (size * num_tiles[0], size * num_tiles[1])
    return board.reshape(*tiled, shape[2], -1)[:rows, :columns]


def _shifted(x: jax.Array, by: int, axis: int) -> jax.Array:
    """Returns `x` shifted along an axis, filled up with zeros."""
    padding = [(by, -by, 0) if i == axis else (0, 0, 0) for i in range(x.ndim)]
    return jax.lax.pad(x, jnp.zeros((), x.dtype), padding) if by else x


def _sum(weights: Iterable[float], terms: Iterable[jax.Array]) -> jax.Array:
    pairs = zip(weights, terms, strict=True)
    return functools.reduce(jnp.add, [float(w) * term for w, term in pairs if w != 0])


class _Transforms:
    """One-dimensional transforms for tiles of `size`; `a = size + 2`.

    A tile `d` `[a]` and a kernel `g` `[3]` have the correlation
    `from_tiles @ ((kernel @ g) * (into_tiles @ d))` `[size]`.
    """

    def __init__(self, size: int) -> None:
        points = np.array(_POINTS[: size + 1], float)
        length = size + 2
        # Evaluation at the points and at infinity; a transposed product of polynomials.
        self.from_tiles = np.zeros((size, length))
        self.kernel = np.zeros((length, 3))
        self.into_tiles = np.zeros((length, length))
        for i, point in enumerate(points):
            others = np.delete(points, i)
            self.from_tiles[:, i] = point ** np.arange(size)
            self.kernel[i] = point ** np.arange(3) / np.prod(point - others)
            self.into_tiles[i, : length - 1] = np.poly(others)[::-1]
        self.from_tiles[-1, -1] = self.kernel[-1, -1] = 1
        self.into_tiles[-1] = np.poly(points)[::-1]
        # Of a whole kernel, `[a**2, 9]`.
        self.to_points = np.kron(self.kernel, self.kernel).astype(np.float32)


_transforms = functools.cache(_Transforms)


def _tile_size(rows: int, columns: int) -> int:
    """Returns the size of tiles with the fewest products."""

    def num_products(size: int) -> int:
        return -(-rows // size) * -(-columns // size) * (size + 2) ** 2

    return min(_SIZES, key=num_products)


def apply_in_blocks(
    function: Callable[[jax.Array], Output],
    planes: jax.Array,
    *,
    block_size: int,
    on_accelerator: Callable[[jax.Array], Output],
) -> Output:
    """Returns `function(planes)`, on the CPU in blocks of positions that fit a core's cache.

    Both functions map planes `[M, ...]` to a pytree of arrays `[M, ...]`, position by position;
    programs for accelerators use the second.
    """

    def in_blocks(planes: jax.Array) -> Output:
        batch = planes.shape[0]
        num_blocks = -(-batch // block_size)
        # Empty boards fill up the last block.
        missing = jnp.zeros((num_blocks * block_size - batch, *planes.shape[1:]), planes.dtype)
        blocks = jnp.concatenate([planes, missing])
        blocks = blocks.reshape(num_blocks, block_size, *planes.shape[1:])
        output = jax.lax.map(function, blocks)
        return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:batch], output)

    on_cpu = function if planes.shape[0] <= block_size else in_blocks
    return jax.lax.platform_dependent(planes, cpu=on_cpu, default=on_accelerator)


def block_size(num_channels: int) -> int:
    """Returns the number of positions of a convolutional network that suit a core.

    The output of a layer should stay in the core's cache, and each kernel in the cache should serve
    enough squares. Speed on 8x8 with a cache of 1 MB, relative to the whole batch at once: 1.07 for
    64 positions and 1.12 for 256 with 32 channels, 1.05 and 1.6 with 64 channels, 1.10 for 64
    positions with 128.
    """
    return max(256 // num_channels, num_channels // 16, 4)
