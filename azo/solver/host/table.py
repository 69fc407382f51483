"""A table of bounds on values of positions, compiled by numba.

The table is a flat array of `ENTRY`, two entries per row; a row is one cache line of 64 bytes. The
first entry of a row is the deepest, the second the newest of the others. The depth of an exact
search is the number of empty squares. Bounds hold for one board size and one variant.
"""

import numpy as np

from azo.games.host.kernels import jit

NO_MOVE = 64
NOT_FOUND = -1
_UNKNOWN = 32767  # in place of a bound

ENTRY = np.dtype(
    {
        "names": ["player", "opponent", "lower", "upper", "move", "depth"],
        "formats": [np.uint64, np.uint64, np.int16, np.int16, np.uint8, np.uint8],
        "offsets": [0, 8, 16, 18, 20, 21],
        "itemsize": 32,
    },
    align=True,
)
_MIX_P, _MIX_O = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def make_table(num_rows: int) -> np.ndarray:
    """Returns an empty table; `num_rows` is a power of two."""
    return aligned_zeros(64 * num_rows).view(ENTRY)


def aligned_zeros(num_bytes: int) -> np.ndarray:
    """Returns zeros `[num_bytes]` uint8 that begin on a line of the cache."""
    room = np.zeros(num_bytes + 64, np.uint8)
    begin = -room.ctypes.data % 64
    return room[begin : begin + num_bytes]


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
def store(P, O, memory, value, alpha, beta, move, depth):
    """Stores the value that a search to a depth found with a window, unless a deeper one is there.

    The value is a lower bound if it is above `alpha`, and an upper bound if it is below `beta`.
    """
    lower, upper = -_UNKNOWN, _UNKNOWN
    index = find(P, O, memory)
    if index != NOT_FOUND:
        if memory[index].depth > depth:
            return
        if memory[index].depth == depth:
            lower, upper = np.int64(memory[index].lower), np.int64(memory[index].upper)
        if value <= alpha and memory[index].move != NO_MOVE:
            move = np.int64(memory[index].move)
    else:
        index = first_of_row(P, O, memory)
        if depth < memory[index].depth:
            index += 1
    if value > alpha:
        lower = max(lower, value)
    if value < beta:
        upper = min(upper, value)
    entry = memory[index]
    entry.player, entry.opponent = P, O
    entry.lower, entry.upper = lower, upper
    entry.move, entry.depth = move, depth
