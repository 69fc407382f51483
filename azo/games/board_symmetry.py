"""The eight symmetries of a square board: the one definition that all layers follow.

Numbering: symmetry `k` mirrors the columns if `k >= 4`, then makes `k % 4` quarter turns
anticlockwise.

Inverse: symmetry `-k % 4` undoes `k` if `k < 4`; every other symmetry undoes itself.

Composition: `j` after `k` is symmetry `4 * (j // 4 ^ k // 4) + turns % 4`, where `turns` is
`j % 4 + k % 4` if `j < 4`, else `j % 4 - k % 4`.

A symmetry is stored as a permutation that gathers: `moved = board[permutation]`. Othello's rules
commute with all eight: the legal moves of the moved board are the moved legal moves.
"""

import math

import numpy as np

NUM_SYMMETRIES = 8


def are_equivalent(board: np.ndarray, first: int, second: int) -> bool:
    """Returns whether a symmetry of a board `[size * size]` maps one square to another.

    An action beyond the squares, as Othello's pass is, is equivalent only to itself.
    """
    if first == second or max(first, second) >= len(board):
        return first == second
    permutations = square_permutations(math.isqrt(len(board)))
    return any(p[second] == first and (board[p] == board).all() for p in permutations)


def with_others(permutations: np.ndarray, num_actions: int) -> np.ndarray:
    """Returns `[K, A]` int32: `[K, squares]` permutations, then actions that keep their place.

    One permutation, the identity, is that of any number of actions.
    """
    if len(permutations) == 1:
        return np.arange(num_actions, dtype=np.int32)[None]
    others = np.arange(permutations.shape[1], num_actions, dtype=np.int32)
    return np.hstack([permutations, np.tile(others, (len(permutations), 1))])


def square_permutations(size: int) -> np.ndarray:
    """Returns `[8, size * size]` int32: square `s` of the moved board was square `[k, s]`."""
    squares = np.arange(size * size, dtype=np.int32).reshape(size, size)
    boards = [np.rot90(board, turns) for board in (squares, squares[:, ::-1]) for turns in range(4)]
    return np.stack([board.reshape(-1) for board in boards])
