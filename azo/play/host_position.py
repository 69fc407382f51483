"""Moves and symmetries of single positions on the host, compiled by numba.

A position is two words of 64 bits, as in `azo.solver.host.kernels`. Symmetries have the numbers of
`azo.games.board_symmetry`. All eight images of a position
have the same canonical form, which does not depend on the numbering of the symmetries.
"""

import numpy as np

from azo.games import board_symmetry
from azo.solver.host.kernels import ONE, flips, jit

NUM_SYMMETRIES = board_symmetry.NUM_SYMMETRIES
_REFLECTIONS = tuple(board_symmetry.reflections(k) for k in range(NUM_SYMMETRIES))

_U = np.uint64
_ODD, _PAIRS, _NIBBLES = _U(0x5555555555555555), _U(0x3333333333333333), _U(0x0F0F0F0F0F0F0F0F)
_BYTES, _WORDS = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_STEP_7, _STEP_14, _STEP_28 = _U(0x00AA00AA00AA00AA), _U(0x0000CCCC0000CCCC), _U(0x00000000F0F0F0F0)


@jit
def after(P, O, action, size):
    """Returns the position after a legal action, for the next side to move."""
    if action == size * size:
        return O, P
    square = np.uint64(action // size * 8 + action % size)
    discs = flips(P, O, square)
    return O ^ discs, P | discs | (ONE << square)


@jit
def turned(board, k, size):
    """Returns a board of `size` rows after symmetry `k`."""
    gap = _U(8 - size)
    mirrors_columns, mirrors_rows, transposes = _REFLECTIONS[k]
    if mirrors_columns:
        board = ((board >> _U(1)) & _ODD) | ((board & _ODD) << _U(1))
        board = ((board >> _U(2)) & _PAIRS) | ((board & _PAIRS) << _U(2))
        board = ((board >> _U(4)) & _NIBBLES) | ((board & _NIBBLES) << _U(4))
        board >>= gap
    if mirrors_rows:
        board = ((board >> _U(8)) & _BYTES) | ((board & _BYTES) << _U(8))
        board = ((board >> _U(16)) & _WORDS) | ((board & _WORDS) << _U(16))
        board = (board >> _U(32)) | (board << _U(32))
        board >>= gap << _U(3)
    if transposes:
        moved = (board ^ (board >> _U(7))) & _STEP_7
        board = board ^ moved ^ (moved << _U(7))
        moved = (board ^ (board >> _U(14))) & _STEP_14
        board = board ^ moved ^ (moved << _U(14))
        moved = (board ^ (board >> _U(28))) & _STEP_28
        board = board ^ moved ^ (moved << _U(28))
    return board


@jit
def turned_action(action, k, size):
    """Returns the action after symmetry `k` of the board; the pass keeps its number."""
    if action == size * size:
        return action
    row, column = action // size, action % size
    mirrors_columns, mirrors_rows, transposes = _REFLECTIONS[k]
    if mirrors_columns:
        column = size - 1 - column
    if mirrors_rows:
        row = size - 1 - row
    if transposes:
        row, column = column, row
    return row * size + column


@jit
def canonical(P, O, size):
    """Returns the smallest of the eight images of a position, and the first symmetry that gives it.

    Images are compared by `P`, then by `O`, as unsigned integers.
    """
    least_P, least_O, which = P, O, 0
    for k in range(1, NUM_SYMMETRIES):
        image_P = turned(P, k, size)
        if image_P > least_P:
            continue
        image_O = turned(O, k, size)
        if image_P < least_P or image_O < least_O:
            least_P, least_O, which = image_P, image_O, k
    return least_P, least_O, which
