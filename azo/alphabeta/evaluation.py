"""Evaluation of 8x8 Othello by patterns, updated move by move, compiled by numba.

The evaluation is the expected final margin of discs for the side to move. It is linear: a sum of
one entry of `weights` for each set of squares of the patterns of Logistello (Buro 1999), for the
number of legal moves of each side, and for the number of empty squares. Each stage, a range of
numbers of empty squares, has its own entries. Values are integers in units of `1 / UNIT` discs.

The contents of all images are kept in words of four lanes of 16 bits: those of the discs of the
side to move, and those of the other side, `[2, NUM_WORDS]` uint64. A move changes them by the sum
over the discs that it turns, so an evaluation does not look at the board.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from azo.games import patterns
from azo.games.host.kernels import ONE, ZERO, first, jit

UNIT = 32  # of a disc
MAX_VALUE = 64 * UNIT
NUM_STAGES = 30
STAGE_EMPTIES = 2

PATTERNS = patterns.pattern_set("logistello", 8)
NUM_IMAGES = len(PATTERNS.merged.squares)
MAX_MOVES = 31  # more legal moves have the same entry

# Tables after those of the patterns.
OWN_MOVES = PATTERNS.num_rows
OTHER_MOVES = OWN_MOVES + MAX_MOVES + 1
EMPTIES = OTHER_MOVES + MAX_MOVES + 1
_UNUSED = EMPTIES + 65  # an entry that is 0
NUM_ROWS = _UNUSED + 1

_VECTOR = 4  # words of a vector
_LANES = 4  # rows of 16 bits in a word: 3**10 < 2**16
NUM_WORDS = -(-NUM_IMAGES // _LANES)

_FIRST_ROWS = np.full(NUM_WORDS * _LANES, _UNUSED, np.uint64)  # of each image's table
_FIRST_ROWS[:NUM_IMAGES] = PATTERNS.first_rows[PATTERNS.merged.pattern]
# Indices are uint64: numba adds a branch for negative ones.
_LANE = np.uint64(0xFFFF)
_S1, _S2, _S3 = np.uint64(16), np.uint64(32), np.uint64(48)


def _square_words() -> np.ndarray:
    """Returns `[128, NUM_WORDS]` uint64, the contents of a disc on each square, once and twice."""
    contents = np.zeros((64, NUM_WORDS * _LANES), np.uint16)
    contents[:, :NUM_IMAGES] = PATTERNS.weights(PATTERNS.merged)
    return np.concatenate([contents, 2 * contents]).view(np.uint64)


_TWICE = np.uint64(64)
_SQUARES = _square_words()


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


@intrinsic
def _add_squares(
    typing_context: Any, out: Any, before: Any, row: Any, squares: Any, table: Any
) -> Any:
    """Writes `out = before + table[row] + the sum of table[squares]`, all as one vector.

    The arrays are `[NUM_WORDS]` uint64, the table `[rows, NUM_WORDS]`, `squares` bits of a word.
    As a loop over words in memory it takes five times as long.
    """
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, kinds = ir.IntType(64), signature.args
        vector = ir.VectorType(word, _VECTOR)  # of 256 bits; a longer phi becomes scalars
        parts = range(0, NUM_WORDS, _VECTOR)

        def pointer(number: int) -> Any:
            return context.make_array(kinds[number])(context, builder, arguments[number]).data

        def places(data: Any, row: Any) -> list[Any]:
            begin = builder.mul(row, word(NUM_WORDS))
            found = [builder.gep(data, [builder.add(begin, word(part))]) for part in parts]
            return [builder.bitcast(place, vector.as_pointer()) for place in found]

        def plus(totals: list[Any], data: Any, row: Any) -> list[Any]:
            pairs = zip(totals, places(data, row), strict=True)
            return [builder.add(total, builder.load(place, align=8)) for total, place in pairs]

        zero, one, data = word(0), word(1), pointer(4)
        before = [builder.load(place, align=8) for place in places(pointer(1), zero)]
        start = plus(before, data, arguments[2])
        entry = builder.block
        head, body, end = (builder.append_basic_block(name) for name in ("head", "body", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        left, totals = builder.phi(word), [builder.phi(vector) for _ in parts]
        builder.cbranch(builder.icmp_unsigned("!=", left, zero), body, end)
        builder.position_at_end(body)
        more = plus(totals, data, builder.cttz(left, ir.IntType(1)(1)))
        left.add_incoming(arguments[3], entry)
        left.add_incoming(builder.and_(left, builder.sub(left, one)), body)
        for total, first_value, next_value in zip(totals, start, more, strict=True):
            total.add_incoming(first_value, entry)
            total.add_incoming(next_value, body)
        builder.branch(head)
        builder.position_at_end(end)
        for total, place in zip(totals, places(pointer(0), zero), strict=True):
            builder.store(total, place, align=8)
        return context.get_dummy_value()

    return types.void(out, before, types.uint64, types.uint64, table), generate


@jit
def stage(empties):
    """Returns the stage of a number of empty squares."""
    return min(empties // STAGE_EMPTIES, NUM_STAGES - 1)


@jit
def set_contents(P, O, contents):
    """Writes the contents `[2 * NUM_WORDS]` of a position."""
    for word in range(2 * NUM_WORDS):
        contents[word] = ZERO
    for side in range(2):
        discs = P if side == 0 else O
        while discs:
            square = first(discs)
            discs &= discs - ONE
            for word in range(NUM_WORDS):
                contents[side * NUM_WORDS + word] += _SQUARES[square, word]


@jit
def move_contents(contents, square, turned, child):
    """Writes the contents after a move that turns discs; the opponent is then to move."""
    own, other = contents[:NUM_WORDS], contents[NUM_WORDS:]
    _add_squares(child[NUM_WORDS:], own, square, turned, _SQUARES)
    for word in range(NUM_WORDS):
        gained = child[NUM_WORDS + word] - own[word] - _SQUARES[square, word]
        child[word] = other[word] - gained


@jit
def pass_contents(contents, child):
    """Writes the contents after a pass."""
    for word in range(NUM_WORDS):
        child[word] = contents[NUM_WORDS + word]
        child[NUM_WORDS + word] = contents[word]


@jit
def rows_after(contents, rows):
    """Writes the rows of all images if the other side were to move."""
    for word in range(NUM_WORDS):
        rows[word] = contents[word] + contents[word] + contents[NUM_WORDS + word]


@jit
def rows_of(contents, rows):
    """Writes the rows of all images."""
    for word in range(NUM_WORDS):
        other = contents[NUM_WORDS + word]
        rows[word] = contents[word] + other + other


@jit
def move_rows(before, square, turned, rows):
    """Writes the rows after a move, of `rows_after` the position before."""
    _add_squares(rows, before, square + _TWICE, turned, _SQUARES)


@jit
def evaluate(rows, num_own, num_other, empties, weights):
    """Returns the expected final margin for the side to move, in `1 / UNIT` discs.

    Args:
      rows: `[NUM_WORDS]` uint64, of all images.
      num_own: number of legal moves of the side to move, at least one.
      num_other: number of legal moves of the other side.
      empties: number of empty squares.
      weights: `[NUM_STAGES, NUM_ROWS]` int16.
    """
    at = np.uint64(stage(empties))
    total = np.int64(weights[at, np.uint64(OWN_MOVES + min(num_own, MAX_MOVES))])
    total += weights[at, np.uint64(OTHER_MOVES + min(num_other, MAX_MOVES))]
    total += weights[at, np.uint64(EMPTIES + empties)]
    for word in range(np.uint64(NUM_WORDS)):
        four = rows[word]
        image = word * np.uint64(_LANES)
        total += weights[at, _FIRST_ROWS[image] + (four & _LANE)]
        total += weights[at, _FIRST_ROWS[image + np.uint64(1)] + (four >> _S1 & _LANE)]
        total += weights[at, _FIRST_ROWS[image + np.uint64(2)] + (four >> _S2 & _LANE)]
        total += weights[at, _FIRST_ROWS[image + np.uint64(3)] + (four >> _S3)]
    return min(max(total, -MAX_VALUE + 1), MAX_VALUE - 1)
