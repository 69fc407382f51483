"""Patterns: sets of squares whose contents index tables, as in Logistello (Buro 1999).

A pattern is an ordered set of at most 10 squares, with `3**length` possible contents. All its
images under the symmetries of the board share one table. An image is an ordered set too: a pattern
that a symmetry maps to itself in another order has two images on the same squares.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Literal

import numpy as np

from azo.games import board_symmetry

SetName = Literal["logistello", "edax", "small"]
MAX_LENGTH = 10
_Squares = list[tuple[int, int]]  # rows and columns


@dataclasses.dataclass(frozen=True)
class Images:
    """Images of patterns, grouped by pattern."""

    squares: np.ndarray  # [P, MAX_LENGTH] int32, action numbers; -1 behind the last one
    pattern: np.ndarray  # [P] int32, which pattern each is an image of

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """`[P]` int32, the number of squares of each image."""
        return (self.squares >= 0).sum(axis=1, dtype=np.int32)


@dataclasses.dataclass(frozen=True)
class PatternSet:
    """Patterns of a square board, with the row of a table that each content has.

    The tables lie one after the other: the row of an image is the first row of its pattern's table
    plus the sum of `3**i * digit` over its squares `i`, where the digit is 0 for an empty square,
    1 for a disc of the side to move and 2 for one of the other side.
    """

    size: int  # of the board
    patterns: tuple[tuple[int, ...], ...]  # squares by action number

    @property
    def num_rows(self) -> int:
        """Rows of all tables together."""
        return sum(3 ** len(pattern) for pattern in self.patterns)

    @functools.cached_property
    def first_rows(self) -> np.ndarray:
        """`[T]` int32, the first row of each pattern's table."""
        lengths = [3 ** len(pattern) for pattern in self.patterns]
        return np.cumsum([0, *lengths[:-1]]).astype(np.int32)

    @functools.cached_property
    def images(self) -> Images:
        """All distinct images of all patterns."""
        rows, numbers = [], []
        for number, pattern in enumerate(self.patterns):
            for image in _images(self.size, pattern):
                rows.append(image + (-1,) * (MAX_LENGTH - len(image)))
                numbers.append(number)
        return Images(np.array(rows, np.int32), np.array(numbers, np.int32))

    @functools.cached_property
    def merged(self) -> Images:
        """One image for each set of squares, the first of `images` on them."""
        _, first = np.unique(np.sort(self.images.squares, axis=1), axis=0, return_index=True)
        keep = np.sort(first)
        return Images(self.images.squares[keep], self.images.pattern[keep])

    def reordered_rows(self, number: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """Returns the orders in which images of a pattern list the same squares.

        The first is the identity. Square `i` of another image is square `order[i]` of the first.
        With each order come the rows `[3**length]` in the pattern's table that the other image
        has, by the row of the first.
        """
        pattern = self.patterns[number]
        same = [image for image in _images(self.size, pattern) if set(image) == set(pattern)]
        orders = [tuple(pattern.index(square) for square in image) for image in same]
        return [(order, _rows(order)) for order in orders]

    def weights(self, images: Images) -> np.ndarray:
        """Returns `[squares, P]` int32, the weight of each square's digit in each image's row."""
        weights = np.zeros((self.size**2, len(images.squares)), np.int32)
        for column, (squares, length) in enumerate(
            zip(images.squares, images.lengths, strict=True)
        ):
            weights[squares[:length], column] = 3 ** np.arange(length)
        return weights


def _row(number: int, size: int) -> _Squares:
    return [(number, column) for column in range(size)]


def _edge_with_x(size: int) -> _Squares:
    """Returns the first row and the X squares beside its corners."""
    return [*_row(0, size), (1, 1), (1, size - 2)]


def _edge_with_centre(size: int) -> _Squares:
    """Returns the first row without C squares, and the middle of the second row."""
    middle = range(2, size - 2)
    return [(0, 0), *((0, c) for c in middle), (0, size - 1), *((1, c) for c in middle)]


def _angle(size: int) -> _Squares:
    """Returns two arms of five squares from a corner, and its X square."""
    arm = range(1, min(5, size))
    return [(0, 0), (1, 1), *((0, i) for i in arm), *((i, 0) for i in arm)]


def _block(rows: int, columns: int, size: int) -> _Squares:
    """Returns a rectangle in a corner."""
    return [(row, column) for row in range(rows) for column in range(min(columns, size))]


def _diagonal(offset: int, size: int) -> _Squares:
    """Returns a diagonal, `offset` columns from the longest one."""
    return [(row, row + offset) for row in range(size - offset)]


_LINES = [
    *(functools.partial(_row, number) for number in (1, 2, 3)),
    *(functools.partial(_diagonal, offset) for offset in range(5)),
]
_SHAPES: dict[SetName, list[Callable[[int], _Squares]]] = {
    "logistello": [
        _edge_with_x,
        functools.partial(_block, 2, 5),
        functools.partial(_block, 3, 3),
        *_LINES,
    ],
    "edax": [_edge_with_x, _edge_with_centre, _angle, functools.partial(_block, 3, 3), *_LINES],
    "small": [functools.partial(_block, 2, 3), *(functools.partial(_row, i) for i in range(4))],
}


def pattern_set(name: SetName, size: int) -> PatternSet:
    """Returns the set of a name on a square board of `size` rows.

    Shapes of fewer than three squares, and images of an earlier shape, are left out.
    """
    kept: dict[frozenset[int], tuple[int, ...]] = {}
    for shape in _SHAPES[name]:
        squares = tuple(row * size + column for row, column in shape(size) if row < size)
        images = [frozenset(image) for image in _images(size, squares)]
        if len(squares) >= 3 and not kept.keys() & images:
            kept[frozenset(squares)] = squares
    return PatternSet(size, tuple(kept.values()))


def _rows(order: tuple[int, ...]) -> np.ndarray:
    """Returns `[3**length]`, for each row the one whose square `i` has the digit of `order[i]`."""
    rows = np.zeros(1, np.int64)
    for square in range(len(order)):  # the first has the lowest digit
        rows = np.add.outer(3 ** order.index(square) * np.arange(3), rows).ravel()
    return rows


def _images(size: int, pattern: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Returns the distinct images of a pattern, itself first."""
    moves = board_symmetry.square_permutations(size)
    # The moved board has the content of `move[square]` on `square`.
    images = [tuple(int(move[square]) for square in pattern) for move in moves]
    return list(dict.fromkeys(images))
