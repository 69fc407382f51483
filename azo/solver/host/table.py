"""A table of bounds on scores of positions, compiled by numba.

The table is a flat array of `ENTRY`, two entries a row; a row is one cache line of 64 bytes. The
first entry of a row is the one with the most empty squares, the second the newest of the others.
Bounds hold for one board size and one variant.
"""

import numpy as np

from azo.games.host.kernels import jit

NO_MOVE = 64
NOT_FOUND = -1

ENTRY = np.dtype(
    {
        "names": ["player", "opponent", "lower", "upper", "move", "empties"],
        "formats": [np.uint64, np.uint64, np.int8, np.int8, np.uint8, np.uint8],
        "offsets": [0, 8, 16, 17, 18, 19],
        "itemsize": 32,
    },
    align=True,
)
_MIX_P, _MIX_O = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def make_table(num_rows: int) -> np.ndarray:
    """Returns an empty table; `num_rows` is a power of two."""
    words = np.zeros(8 * num_rows + 8, np.uint64)
    start = -words.ctypes.data % 64 // 8
    return words[start : start + 8 * num_rows].view(ENTRY)


def clear(memory: np.ndarray) -> None:
    """Removes all entries."""
    memory.view(np.uint64).fill(0)


@jit
def first_of_row(P, O, memory):
    """Returns the index of the first entry in the row of a position."""
    mixed = P * _MIX_P ^ (O * _MIX_O >> np.uint64(7))
    mixed = (mixed ^ mixed >> np.uint64(31)) * _MIX_O
    return np.int64((mixed >> np.uint64(32)) & np.uint64(len(memory) // 2 - 1)) * 2


@jit
def find(P, O, memory):
    """Returns the index of a position's entry, or `NOT_FOUND`."""
    index = first_of_row(P, O, memory)
    if memory[index].player == P and memory[index].opponent == O:
        return index
    index += 1
    if memory[index].player == P and memory[index].opponent == O:
        return index
    return NOT_FOUND


@jit
def store(P, O, memory, score, alpha, move, empties):
    """Stores a score: a lower bound if it is above `alpha`, else an upper bound."""
    lower, upper = -64, 64
    index = find(P, O, memory)
    if index != NOT_FOUND:
        lower, upper = np.int64(memory[index].lower), np.int64(memory[index].upper)
    if score > alpha:
        lower = max(lower, score)
    else:
        upper = min(upper, score)
        if index != NOT_FOUND and memory[index].move != NO_MOVE:
            move = np.int64(memory[index].move)
    if index == NOT_FOUND:
        index = first_of_row(P, O, memory)
        if empties < memory[index].empties:
            index += 1
    entry = memory[index]
    entry.player, entry.opponent = P, O
    entry.lower, entry.upper = lower, upper
    entry.move, entry.empties = move, empties
