"""The eight symmetries of a square board, as permutations of its squares.

Symmetry `k` is `k % 4` quarter turns anticlockwise, after a mirroring of the columns if `k >= 4`.
Rules commute with all eight: the mirrored board's moves are the mirrored moves.
"""

import jax
import jax.numpy as jnp
import numpy as np

NUM_SYMMETRIES = 8


def square_permutations(size: int) -> np.ndarray:
    """Returns `[8, size * size]` int32: square `s` of the moved board was square `[k, s]`."""
    squares = np.arange(size * size, dtype=np.int32).reshape(size, size)
    boards = [np.rot90(board, turns) for board in (squares, squares[:, ::-1]) for turns in range(4)]
    return np.stack([board.reshape(-1) for board in boards])


def inverse(permutations: np.ndarray) -> np.ndarray:
    """Returns the permutations `[K, squares]` that undo the given ones."""
    return np.argsort(permutations, axis=-1).astype(np.int32)


def move_planes(permutations: np.ndarray, which: jax.Array, planes: jax.Array) -> jax.Array:
    """Returns boards `[M, rows, columns, C]`, each moved by its own symmetry `which` `[M]`."""
    size, rows, columns, channels = planes.shape
    flat = planes.reshape(size, rows * columns, channels)
    source = jnp.asarray(permutations)[which]
    return jnp.take_along_axis(flat, source[..., None], axis=1).reshape(planes.shape)


def move_policy(permutations: np.ndarray, which: jax.Array, policy: jax.Array) -> jax.Array:
    """Returns policies or masks `[M, A]`, each moved by its own symmetry `which` `[M]`.

    Actions beyond the squares (the pass) stay where they are.
    """
    num_squares = permutations.shape[-1]
    source = jnp.asarray(permutations)[which]
    squares = jnp.take_along_axis(policy[:, :num_squares], source, axis=1)
    return jnp.concatenate([squares, policy[:, num_squares:]], axis=1)
