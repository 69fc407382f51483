"""The evaluation, order of moves and noise of Iagno 3.38 (GNOME Reversi), compiled by numba.

Written from a description of the program, https://gitlab.gnome.org/GNOME/iagno, and compared with
games in its repository (`tests/opponents/test_classical.py`). The tables are for 8x8 boards.
Positions are those of `azo.games.host.kernels`. A `table` is `[64]` int64, the basic value of a
disc on each square. The search is in `lookahead`.
"""

import functools

import numpy as np

from azo.games.host.kernels import FULL, NEIGHBOURS, ONE, count, first, flips, jit, legal_moves

MIN_DISCS = 8  # with fewer discs on the board it plays at random
_NUM_ROUNDS = 5  # of noise
_LIBERTY = 8  # penalty of a square for each empty neighbour
_SURROUNDED = 48  # bonus of a square without empty neighbours
_EXPOSED = 206  # penalty for a row of discs that a move in the adjacent corner can take
_WON = 32000
_X_SQUARES = 1 << 9 | 1 << 14 | 1 << 49 | 1 << 54

_QUARTER = ((410, 23, 13, 8), (23, -75, -22, -51), (13, -22, 41, 3), (8, -51, 3, -87))
TABLE = np.pad(np.array(_QUARTER, np.int64), (0, 4), mode="symmetric").ravel()
_NUM_NEIGHBOURS = np.array([int(around).bit_count() for around in NEIGHBOURS], np.int64)


_BOARD = np.arange(64).reshape(8, 8)
_ROWS = [*_BOARD[[0, 7]], *_BOARD.T[[0, 7]], np.diag(_BOARD), np.diag(_BOARD[:, ::-1])]
# [12, 8]: the squares of edges and long diagonals, from both ends.
_LINES = np.concatenate([_ROWS, np.flip(_ROWS, axis=1)])


@functools.lru_cache(maxsize=4096)  # games
def noisy_table(seed: int) -> np.ndarray:
    """Returns `TABLE` with the noise that Iagno draws before each game.

    Each of five rounds adds 1 or -1 to a random square, and 1 or -1 to another random square and
    its reflection through the centre.
    """
    rng = np.random.default_rng(seed)
    table = TABLE.copy()
    for _ in range(_NUM_ROUNDS):
        alone, paired = rng.integers(64, size=2)
        by = rng.choice([-1, 1], size=2)
        table[alone] += by[0]
        table[[paired, 63 - paired]] += by[1]
    return table


def random_square(P: np.uint64, O: np.uint64, seed: int) -> int:
    """Returns the bit of a random legal square, -1 where none is legal.

    Iagno plays so with fewer than `MIN_DISCS` discs. It avoids the four X-squares if it can.
    """
    legal = int(legal_moves(P, O, FULL))
    choices = legal & ~_X_SQUARES or legal
    squares = [square for square in range(64) if choices >> square & 1]
    if not squares:
        return -1
    return int(np.random.default_rng([seed, int(P | O).bit_count()]).choice(squares))


@jit
def final_value(P, O):
    """Returns the value of a finished game for `P`; a draw counts as a loss."""
    own, other = count(P), count(O)
    return _WON - other if own > other else own - _WON


@jit
def value(P, O, table, empty_sign):
    """Returns the value of an unfinished game for `P`, the side to move.

    Half the value of an empty square is added if `empty_sign` is 1, subtracted if it is -1.
    """
    empty = ~(P | O)
    total = 0
    for square in range(64):
        bit = ONE << np.uint64(square)
        num_empty = count(NEIGHBOURS[square] & empty)
        square_value = table[square] - _LIBERTY * num_empty
        if num_empty == 0:
            square_value += _SURROUNDED
        if P & bit:
            total += square_value
        elif O & bit:
            total -= square_value
        else:
            total += empty_sign * np.int64(square_value / 2)  # truncates as C does
    for i in range(len(_LINES)):
        line = _LINES[i]
        total += _EXPOSED * (_num_exposed(O, empty, line) - _num_exposed(P, empty, line))
    return total


@jit
def _has(squares, square):
    return squares >> np.uint64(square) & ONE != 0


@jit
def _num_exposed(discs, empty, line):
    """Returns the weakness, 0 to 2, of a row of discs that begins beside an empty corner."""
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
    """Returns the priority of a move at the root for medium and hard.

    Here the program counts all neighbours of the square, not only the empty ones.
    """
    turned = flips(P, O, square)
    total = table[square] - _LIBERTY * _NUM_NEIGHBOURS[square]
    while turned:
        total += 2 * table[first(turned)]
        turned &= turned - ONE
    return total
