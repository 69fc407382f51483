"""Duplicates of a position: groups of rows with equal keys, and the means of their labels.

A key is any number of uint32 words, such as a packed board. `canonical_keys` makes the images of a
position under the symmetries of the board equal. A further word, such as the actor version, splits
groups by it.
"""

import chex
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol

_BITS = 32  # of a word


@flax.struct.dataclass
class Groups:
    """Groups of rows with equal keys. Unused rows belong to no group."""

    index: jax.Array  # [R] int32, number of the row's group, 0 to R - 1; R for unused rows
    count: jax.Array  # [R] int32, rows in the row's group, itself included; 0 for unused rows
    is_first: jax.Array  # [R] bool, the row is the first of its group; never for unused rows


def groups(keys: jax.Array, is_used: jax.Array) -> Groups:
    """Returns the groups of rows with equal keys.

    Args:
      keys: `[R, W]` uint32.
      is_used: `[R]` bool; other rows are left out.
    """
    chex.assert_rank([keys, is_used], [2, 1])
    num_rows, num_words = keys.shape
    words = [keys[:, word] for word in range(num_words)]
    rows = jnp.arange(num_rows, dtype=jnp.int32)
    # The sort is stable. Unused rows come last, so they split no group.
    is_unused, *words, row = jax.lax.sort([~is_used, *words, rows], num_keys=1 + num_words)
    begins = jnp.stack([word[1:] != word[:-1] for word in words]).any(axis=0)
    is_first = jnp.concatenate([jnp.ones_like(is_unused[:1]), begins]) & ~is_unused
    index = jnp.where(is_unused, num_rows, jnp.cumsum(is_first, dtype=jnp.int32) - 1)
    sizes = jax.ops.segment_sum((~is_unused).astype(jnp.int32), index, num_rows)
    count = jnp.where(is_unused, 0, sizes.at[index].get(mode="clip"))
    columns = jnp.stack([index, count, is_first.astype(jnp.int32)], axis=-1)
    columns = jnp.zeros_like(columns).at[row].set(columns, unique_indices=True)
    return Groups(index=columns[:, 0], count=columns[:, 1], is_first=columns[:, 2] == 1)


def means(groups: Groups, values: jax.Array) -> jax.Array:
    """Returns `[R, K]` float32, the mean of each row's group; 0 for unused rows.

    Args:
      groups: of the rows.
      values: `[R, K]` float32; values of unused rows do not count, even if not finite.
    """
    chex.assert_rank(values, 2)
    # Unused rows have an index out of range: the sum drops them, and `get` fills in 0.
    sums = jax.ops.segment_sum(values, groups.index, groups.index.shape[0])
    count = jnp.maximum(groups.count, 1).astype(values.dtype)
    return sums.at[groups.index].get(mode="fill", fill_value=0) / count[:, None]


def group_means(
    keys: jax.Array, values: jax.Array, is_used: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Returns the mean of the values over the rows with the same key, and the size of the group.

    Every row gets the mean of its group, so duplicates keep their weight.

    Args:
      keys: `[R, W]` uint32.
      values: `[R, K]` float32.
      is_used: `[R]` bool; other rows form no group.

    Returns:
      Means `[R, K]` float32 and counts `[R]` int32; both are 0 in unused rows.
    """
    rows = groups(keys, is_used)
    return means(rows, values), rows.count


def canonical_keys(game: protocol.Game, board: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns a key that is the same for all images of a position under the game's symmetries.

    It is the least of the packed images, compared word by word from the first. Planes have to say
    all there is about a position.

    A policy fits the image that the key shows after
    `symmetry.move_policy(game.square_symmetries, which, policy)`, and comes back by the same with
    `symmetry.inverse(game.square_symmetries)`. If several symmetries give the same image, `which`
    is the first of them: policies of a symmetric position are averaged without being
    made symmetric.

    Args:
      game: with K symmetries.
      board: `[R, words]` uint32, packed positions.

    Returns:
      Keys `[R, W]` uint32, a bit for each square of both planes, and the symmetries `[R]` int32
      that lead to the images they show.
    """
    chex.assert_rank(board, 2)
    planes = game.planes(game.unpack(board))
    flat = planes.reshape(board.shape[0], -1, planes.shape[-1])
    least = _packed(flat[:, game.square_symmetries[0]])
    which = jnp.zeros_like(board[:, 0], jnp.int32)
    # One image at a time: all eight at once would take 1 KiB a row on 8x8.
    for symmetry, source in enumerate(game.square_symmetries[1:], start=1):
        image = _packed(flat[:, source])
        is_less = _is_less(image, least)
        least = jnp.where(is_less[:, None], image, least)
        which = jnp.where(is_less, symmetry, which)
    return least, which


def _packed(planes: jax.Array) -> jax.Array:
    """Returns planes `[R, squares, C]` bool as `[R, W]` uint32, square by square."""
    bits = planes.reshape(planes.shape[0], -1)
    num_words = -(-bits.shape[1] // _BITS)
    bits = jnp.pad(bits, ((0, 0), (0, num_words * _BITS - bits.shape[1])))
    weights = jnp.asarray(np.uint32(1) << np.arange(_BITS, dtype=np.uint32))
    words = bits.reshape(-1, num_words, _BITS).astype(jnp.uint32) * weights[None, None]
    return words.sum(axis=-1, dtype=jnp.uint32)


def _is_less(first: jax.Array, second: jax.Array) -> jax.Array:
    """Returns `[R]` bool, keys `[R, W]` compared word by word from the first word on."""
    is_less = jnp.zeros_like(first[:, 0], bool)
    for word in reversed(range(first.shape[1])):
        a, b = first[:, word], second[:, word]
        is_less = (a < b) | ((a == b) & is_less)
    return is_less
