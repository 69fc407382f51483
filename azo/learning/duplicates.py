"""Duplicates of a position: groups of rows with equal keys, and the means of their labels.

A key is any number of uint32 words, such as a packed board. A further word, such as the actor
version, splits groups by it.
"""

import chex
import flax.struct
import jax
import jax.numpy as jnp


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
