"""A table of bounds on scores of positions, compiled by numba.

A row of `[rows, 8]` uint64 is one cache line with two entries of four words: the two sides, what is
known, and a spare word. What is known are a lower and an upper bound of the score, the best move,
and the number of empty squares, which is the cost of knowing it. The first entry of a row is the
costliest, the second the newest of the others. Bounds hold for one size of board and one variant.
"""

import numpy as np

from azo.solver.host.kernels import jit

NO_MOVE = 64
_MIX_P, _MIX_O = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_BYTE = np.uint64(0xFF)


def make_table(num_rows: int) -> np.ndarray:
    """Returns an empty table; `num_rows` is a power of two."""
    words = np.zeros(8 * num_rows + 8, np.uint64)
    start = -words.ctypes.data % 64 // 8
    return words[start : start + 8 * num_rows].reshape(num_rows, 8)


@jit
def row_of(P, O, table):
    """Returns the row of a position."""
    mixed = P * _MIX_P ^ (O * _MIX_O >> np.uint64(7))
    mixed = (mixed ^ mixed >> np.uint64(31)) * _MIX_O
    return (mixed >> np.uint64(32)) & np.uint64(table.shape[0] - 1)


@jit
def find(P, O, table):
    """Returns what is known of a position, 0 if nothing is."""
    row = row_of(P, O, table)
    if table[row, 0] == P and table[row, 1] == O:
        return table[row, 2]
    if table[row, 4] == P and table[row, 5] == O:
        return table[row, 6]
    return np.uint64(0)


@jit
def lower_of(known):
    """Returns the lower bound in what `find` returned, if that is not 0."""
    return np.int64(known & _BYTE) - 64


@jit
def upper_of(known):
    """Returns the upper bound in what `find` returned, if that is not 0."""
    return np.int64(known >> np.uint64(8) & _BYTE) - 64


@jit
def move_of(known):
    """Returns the best move in what `find` returned, `NO_MOVE` if there is none."""
    return np.int64(known >> np.uint64(16) & _BYTE) if known else NO_MOVE


@jit
def store(P, O, table, score, alpha, move, empties):
    """Keeps that the score is at least `score` if this is above `alpha`, else at most `score`."""
    lower, upper = -64, 64
    known = find(P, O, table)
    if known:
        lower, upper = lower_of(known), upper_of(known)
    if score > alpha:
        lower = max(lower, score)
    else:
        upper = min(upper, score)
        if known and move_of(known) != NO_MOVE:
            move = move_of(known)
    row, slot = row_of(P, O, table), 0
    is_first = table[row, 0] == P and table[row, 1] == O
    if not is_first and (
        (table[row, 4] == P and table[row, 5] == O)
        or np.uint64(empties) < table[row, 2] >> np.uint64(24)
    ):
        slot = 4
    table[row, slot] = P
    table[row, slot + 1] = O
    bounds = np.uint64(lower + 64) | np.uint64(upper + 64) << np.uint64(8)
    table[row, slot + 2] = (
        bounds | np.uint64(move) << np.uint64(16) | np.uint64(empties) << np.uint64(24)
    )
