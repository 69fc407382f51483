"""Patterns: sets of squares whose contents index tables, as in Logistello (Buro 1999).

A pattern is an ordered set of at most 10 squares, with `3**length` possible contents. All its
images under the symmetries of the board share one table. An image is an ordered set too: a pattern
that a symmetry maps to itself in another order has two images on the same squares.
"""

import dataclasses
import functools
from typing import Literal

import numpy as np

from azo.games import board_symmetry

SetName = Literal["logistello", "small"]
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

    def contents(self, unit: int) -> np.ndarray:
        """Returns `[8, 256, P]` uint16: the contents of the merged images by one side's discs.

        The axes are the row of the board, its eight squares as bits, and the images, with zeros up
        to a multiple of `unit`. The content of an image is the sum over the rows of the board, for
        the mover's discs once, for the opponent's twice.
        """
        weights = self.weights(self.merged)
        digits = np.zeros((8, 8, -(-weights.shape[1] // unit) * unit), np.uint16)
        by_place = weights.reshape(self.size, self.size, -1)
        digits[: self.size, : self.size, : weights.shape[1]] = by_place
        bits = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(np.uint16)
        return np.einsum("bc,rcp->rbp", bits, digits)


def _shapes(name: SetName, size: int) -> list[_Squares]:
    """Returns one image of each pattern of a set; squares below the board do not count."""

    def block(height: int, width: int) -> _Squares:
        """Returns a rectangle in a corner."""
        return [(row, column) for row in range(height) for column in range(min(width, size))]

    rows = [[(row, column) for column in range(size)] for row in range(4)]
    if name == "small":
        return [block(2, 3), *rows]
    edge_with_x = [*rows[0], (1, 1), (1, size - 2)]  # and the X squares beside its corners
    diagonals = [[(row, row + offset) for row in range(size - offset)] for offset in range(5)]
    return [edge_with_x, block(2, 5), block(3, 3), *rows[1:], *diagonals]


def pattern_set(name: SetName, size: int) -> PatternSet:
    """Returns the set of a name on a square board of `size` rows.

    Shapes of fewer than three squares, and images of an earlier shape, are left out.
    """
    kept: dict[frozenset[int], tuple[int, ...]] = {}
    for shape in _shapes(name, size):
        squares = tuple(row * size + column for row, column in shape if row < size)
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
