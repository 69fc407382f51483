"""Turned and mirrored boards of the host, compiled by numba: one form for all eight.

Symmetry `k` mirrors the columns if `k & 1`, then the rows if `k & 2`, then exchanges rows and
columns if `k & 4`. A position is two words as in `azo.solver.host.kernels`.
"""

import numpy as np

from azo.solver.host.kernels import jit

NUM_SYMMETRIES = 8

_U = np.uint64
_ODD, _PAIRS, _NIBBLES = _U(0x5555555555555555), _U(0x3333333333333333), _U(0x0F0F0F0F0F0F0F0F)
_BYTES, _WORDS = _U(0x00FF00FF00FF00FF), _U(0x0000FFFF0000FFFF)
_STEP_7, _STEP_14, _STEP_28 = _U(0x00AA00AA00AA00AA), _U(0x0000CCCC0000CCCC), _U(0x00000000F0F0F0F0)


@jit
def turned(board, symmetry, size):
    """Returns a board of `size` rows after a symmetry."""
    gap = _U(8 - size)
    if symmetry & 1:
        board = ((board >> _U(1)) & _ODD) | ((board & _ODD) << _U(1))
        board = ((board >> _U(2)) & _PAIRS) | ((board & _PAIRS) << _U(2))
        board = ((board >> _U(4)) & _NIBBLES) | ((board & _NIBBLES) << _U(4))
        board >>= gap
    if symmetry & 2:
        board = ((board >> _U(8)) & _BYTES) | ((board & _BYTES) << _U(8))
        board = ((board >> _U(16)) & _WORDS) | ((board & _WORDS) << _U(16))
        board = (board >> _U(32)) | (board << _U(32))
        board >>= gap << _U(3)
    if symmetry & 4:
        moved = (board ^ (board >> _U(7))) & _STEP_7
        board = board ^ moved ^ (moved << _U(7))
        moved = (board ^ (board >> _U(14))) & _STEP_14
        board = board ^ moved ^ (moved << _U(14))
        moved = (board ^ (board >> _U(28))) & _STEP_28
        board = board ^ moved ^ (moved << _U(28))
    return board


@jit
def turned_action(action, symmetry, size):
    """Returns where a symmetry moves the square of an action; the pass stays."""
    if action == size * size:
        return action
    row, column = action // size, action % size
    if symmetry & 1:
        column = size - 1 - column
    if symmetry & 2:
        row = size - 1 - row
    if symmetry & 4:
        row, column = column, row
    return row * size + column


@jit
def canonical(P, O, size):
    """Returns the least of all eight forms of a position, and the symmetry that leads there."""
    best_P, best_O, best = P, O, 0
    for symmetry in range(1, NUM_SYMMETRIES):
        other_P = turned(P, symmetry, size)
        if other_P > best_P:
            continue
        other_O = turned(O, symmetry, size)
        if other_P < best_P or other_O < best_O:
            best_P, best_O, best = other_P, other_O, symmetry
    return best_P, best_O, best
