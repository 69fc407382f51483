"""What Iagno 3.38 (GNOME Reversi) looks at: its evaluation, order of moves and noise.

Written from a description of the program, https://gitlab.gnome.org/GNOME/iagno, and compared with
games that it published (`tests/test_classical.py`). Its tables are for 8x8 boards. Kernels are
compiled by numba, with positions as in `azo.solver.host.kernels`; a `table` is `[64]` int64, what a disc on
each square is worth at first. The search is in `lookahead`.
"""

import numpy as np

from azo.solver.host.kernels import NEIGHBOURS, ONE, count, first, flips, jit

MIN_DISCS = 8  # with fewer discs on the board it moves at random
_NUM_ROUNDS = 5  # of noise
_LIBERTY = 8  # a square is worth less by this for each empty square beside it,
_SURROUNDED = 48  # and more by this if there is none
_EXPOSED = 206  # penalty for a row of discs that the corner beside it can take
_WON = 32000
_X_SQUARES = 1 << 9 | 1 << 14 | 1 << 49 | 1 << 54

_QUARTER = ((410, 23, 13, 8), (23, -75, -22, -51), (13, -22, 41, 3), (8, -51, 3, -87))
TABLE = np.array(
    [_QUARTER[min(row, 7 - row)][min(col, 7 - col)] for row in range(8) for col in range(8)],
    np.int64,
)
_NUM_NEIGHBOURS = np.array([int(around).bit_count() for around in NEIGHBOURS], np.int64)


def _lines() -> np.ndarray:
    """Returns `[12, 8]` int64: the squares of edges and long diagonals, from either end."""
    steps = range(8)
    lines = [[8 * i for i in steps], [8 * i + 7 for i in steps], [9 * i for i in steps]]
    lines += [[*steps], [56 + i for i in steps], [7 + 7 * i for i in steps]]
    return np.array(lines + [line[::-1] for line in lines], np.int64)


_LINES = _lines()


def noisy_table(seed: int) -> np.ndarray:
    """Returns `TABLE` with the noise that Iagno draws before each game.

    Each of five rounds adds 1 to one random square or takes it off, and then does so to another
    and to the square opposite to that across the centre.
    """
    rng = np.random.default_rng(seed)
    table = TABLE.copy()
    for _ in range(_NUM_ROUNDS):
        alone, paired = rng.integers(64, size=2)
        by = rng.choice([-1, 1], size=2)
        table[alone] += by[0]
        table[[paired, 63 - paired]] += by[1]
    return table


def random_square(legal: int, seed: int, num_discs: int) -> int:
    """Returns the bit of a random legal square, as played with fewer than `MIN_DISCS` discs.

    None of the four X-squares is, unless there is no other; -1 where nothing is legal.
    """
    choices = legal & ~_X_SQUARES or legal
    squares = [square for square in range(64) if choices >> square & 1]
    if not squares:
        return -1
    return int(np.random.default_rng([seed, num_discs]).choice(squares))


@jit
def final_value(P, O):
    """Returns what a finished game is worth to `P`: a draw as little as a loss."""
    own, other = count(P), count(O)
    return _WON - other if own > other else own - _WON


@jit
def value(P, O, table, empty_sign):
    """Returns what a position is worth to `P`, the side to move.

    Args:
      P: discs of the side to move.
      O: discs of the other side.
      table: `[64]` int64.
      empty_sign: whether half the worth of empty squares is added (1) or taken off (-1).
    """
    empty = ~(P | O)
    total = 0
    for square in range(64):
        bit = ONE << np.uint64(square)
        num_empty = count(NEIGHBOURS[square] & empty)
        worth = table[square] - _LIBERTY * num_empty
        if num_empty == 0:
            worth += _SURROUNDED
        if P & bit:
            total += worth
        elif O & bit:
            total -= worth
        else:
            total += empty_sign * np.int64(worth / 2)  # halves are cut off, as in C
    for i in range(len(_LINES)):
        line = _LINES[i]
        total += _EXPOSED * (_num_exposed(O, empty, line) - _num_exposed(P, empty, line))
    return total


@jit
def _has(squares, square):
    return squares >> np.uint64(square) & ONE != 0


@jit
def _num_exposed(discs, empty, line):
    """Returns how bad a row of discs beside an empty corner is, 0 to 2, seen from that corner."""
    if not (_has(empty, line[0]) and _has(discs, line[1])):
        return 0
    end = 2
    while end < 6 and _has(discs, line[end]):
        end += 1
    if end == 6:
        return 0
    return 2 if _has(discs, line[end + 1]) else 1


@jit
def move_value(P, O, square, table):
    """Returns how early medium and hard try a move, the highest first.

    The program counts all squares beside the move here, not only the empty ones.
    """
    turned = flips(P, O, square)
    total = table[square] - _LIBERTY * _NUM_NEIGHBOURS[square]
    while turned:
        total += 2 * table[first(turned)]
        turned &= turned - ONE
    return total
