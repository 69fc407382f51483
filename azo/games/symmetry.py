"""Symmetries on batches of planes and policies; `board_symmetry` defines and numbers them."""

import jax
import jax.numpy as jnp
import numpy as np


def inverse(permutations: np.ndarray) -> np.ndarray:
    """Returns `[K, *]` int32, the inverse of each permutation `[K, *]`."""
    return np.argsort(permutations, axis=-1).astype(np.int32)


def move_planes(permutations: np.ndarray, which: jax.Array, planes: jax.Array) -> jax.Array:
    """Returns planes `[M, rows, columns, C]`, each board moved by its own symmetry `which` `[M]`.

    `permutations` `[K, squares]` int32 are the `square_symmetries` of a game or their `inverse`.
    """
    size, rows, columns, channels = planes.shape
    flat = planes.reshape(size, rows * columns, channels)
    source = jnp.asarray(permutations)[which]
    return jnp.take_along_axis(flat, source[..., None], axis=1).reshape(planes.shape)


def move_policy(permutations: np.ndarray, which: jax.Array, policy: jax.Array) -> jax.Array:
    """Returns policies or masks `[M, A]`, each moved by its own symmetry `which` `[M]`.

    `permutations` `[K, A]` int32 are the `action_symmetries` of a game or their `inverse`.
    """
    return jnp.take_along_axis(policy, jnp.asarray(permutations)[which], axis=1)
