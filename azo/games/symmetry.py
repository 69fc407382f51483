"""Symmetries on batches of planes and policies; `board_symmetry` defines and numbers them."""

import jax
import jax.numpy as jnp
import numpy as np


def inverse(permutations: np.ndarray) -> np.ndarray:
    """Returns `[K, squares]` int32, the inverse of each permutation `[K, squares]`."""
    return np.argsort(permutations, axis=-1).astype(np.int32)


def move_planes(permutations: np.ndarray, which: jax.Array, planes: jax.Array) -> jax.Array:
    """Returns planes `[M, rows, columns, C]`, each board moved by its own symmetry `which` `[M]`.

    `permutations` `[K, squares]` int32 are those of a game or their `inverse`.
    """
    size, rows, columns, channels = planes.shape
    flat = planes.reshape(size, rows * columns, channels)
    source = jnp.asarray(permutations)[which]
    return jnp.take_along_axis(flat, source[..., None], axis=1).reshape(planes.shape)


def move_policy(permutations: np.ndarray, which: jax.Array, policy: jax.Array) -> jax.Array:
    """Returns policies or masks `[M, A]`, each moved by its own symmetry `which` `[M]`.

    Actions beyond the squares (the pass) keep their place.
    """
    num_squares = permutations.shape[-1]
    source = jnp.asarray(permutations)[which]
    squares = jnp.take_along_axis(policy[:, :num_squares], source, axis=1)
    return jnp.concatenate([squares, policy[:, num_squares:]], axis=1)
