"""Static evaluation of 8x8 Othello by patterns, compiled by numba.

The evaluation is the expected final margin of discs for the side to move. It is linear: a sum of
one entry of `weights` for each set of squares of the patterns of Logistello (Buro 1999), for the
number of legal moves of each side, and for the number of empty squares. Each stage, a range of
numbers of empty squares, has its own entries. Values are integers in units of `1 / UNIT` discs.
"""

import numpy as np

from azo.games import patterns
from azo.games.host import host_rules
from azo.games.host.kernels import count, jit, legal_moves

UNIT = 32  # of a disc
MAX_VALUE = 64 * UNIT
NUM_STAGES = 15
_STAGE_EMPTIES = 4

PATTERNS = patterns.pattern_set("logistello", 8)
NUM_IMAGES = len(PATTERNS.merged.squares)
MAX_MOVES = 31  # more legal moves have the same entry

# Tables after those of the patterns.
OWN_MOVES = PATTERNS.num_rows
OTHER_MOVES = OWN_MOVES + MAX_MOVES + 1
EMPTIES = OTHER_MOVES + MAX_MOVES + 1
_UNUSED = EMPTIES + 65  # an entry that is 0
NUM_ROWS = _UNUSED + 1

_LANES = 4  # rows of 16 bits in a word: 3**10 < 2**16
_NUM_WORDS = -(-NUM_IMAGES // _LANES)

# `[8, 256, _NUM_WORDS]`, contents of four images in a word; words are added without overflow.
_WORDS = PATTERNS.contents(_LANES).view(np.uint64)
_FIRST_ROWS = np.full(_NUM_WORDS * _LANES, _UNUSED, np.uint64)  # of each image's table
_FIRST_ROWS[:NUM_IMAGES] = PATTERNS.first_rows[PATTERNS.merged.pattern]
# Indices are uint64: numba adds a branch for negative ones.
_BYTE, _LANE = np.uint64(0xFF), np.uint64(0xFFFF)
_R1, _R2, _R3, _R4, _R5, _R6, _R7 = (np.uint64(8 * row) for row in range(1, 8))


def shared_entries() -> np.ndarray:
    """Returns `[NUM_ROWS]` int64, the numbers of the distinct weights of all entries.

    Contents of a pattern that mirror one another share a weight.
    """
    lowest = np.arange(NUM_ROWS)
    for number, first_row in enumerate(PATTERNS.first_rows):
        for _, rows in PATTERNS.reordered_rows(number):
            entries = lowest[first_row : first_row + len(rows)]
            np.minimum(entries, first_row + rows, out=entries)
    return np.unique(lowest, return_inverse=True)[1]


@jit
def stage(empties):
    """Returns the stage of a number of empty squares."""
    return min(empties // _STAGE_EMPTIES, NUM_STAGES - 1)


@jit
def _word(discs, word):
    """Returns the rows of the discs of one side in four images, in a word."""
    # As a loop it takes three times as long.
    return (
        _WORDS[0, discs & _BYTE, word]
        + _WORDS[1, discs >> _R1 & _BYTE, word]
        + _WORDS[2, discs >> _R2 & _BYTE, word]
        + _WORDS[3, discs >> _R3 & _BYTE, word]
        + _WORDS[4, discs >> _R4 & _BYTE, word]
        + _WORDS[5, discs >> _R5 & _BYTE, word]
        + _WORDS[6, discs >> _R6 & _BYTE, word]
        + _WORDS[7, discs >> _R7, word]
    )


@jit
def evaluate(P, O, moves, weights, rules):
    """Returns the expected final margin of a position for the side to move, in `1 / UNIT` discs.

    `moves` are its legal moves, at least one; `weights` `[NUM_STAGES, NUM_ROWS]` int16; `rules`
    those of 8x8.
    """
    empties = rules.num_squares - count(P | O)
    at = np.uint64(stage(empties))
    num_other = count(legal_moves(O, P, rules.on_board))
    total = np.int64(weights[at, np.uint64(OWN_MOVES + min(count(moves), MAX_MOVES))])
    total += weights[at, np.uint64(OTHER_MOVES + min(num_other, MAX_MOVES))]
    total += weights[at, np.uint64(EMPTIES + empties)]
    for word in range(np.uint64(_NUM_WORDS)):
        others = _word(O, word)
        rows = _word(P, word) + others + others
        image = word * np.uint64(_LANES)
        total += weights[at, _FIRST_ROWS[image] + (rows & _LANE)]
        total += weights[at, _FIRST_ROWS[image + np.uint64(1)] + (rows >> np.uint64(16) & _LANE)]
        total += weights[at, _FIRST_ROWS[image + np.uint64(2)] + (rows >> np.uint64(32) & _LANE)]
        total += weights[at, _FIRST_ROWS[image + np.uint64(3)] + (rows >> np.uint64(48))]
    return min(max(total, -MAX_VALUE), MAX_VALUE)


@jit
def static_value(P, O, moves, weights, rules):
    """Returns the value of any position: as `evaluate`, after a pass if it is forced, or final."""
    if moves:
        return evaluate(P, O, moves, weights, rules)
    replies = legal_moves(O, P, rules.on_board)
    if replies:
        return -evaluate(O, P, replies, weights, rules)
    return UNIT * host_rules.final_score(P, O, rules)
