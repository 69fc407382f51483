"""Pattern sets: images, rows and the two orders of a mirrored pattern, counted by hand."""

import numpy as np
import pytest

from azo.games import patterns

NAMES = ["logistello", "small"]


def content(squares, digits):
    """The row of a content within its table, square by square."""
    return sum(3**i * int(digits[square]) for i, square in enumerate(squares))


def boards(size, number=20):
    return np.random.default_rng(size).integers(0, 3, (number, size * size))


def test_logistello_has_eleven_patterns_on_46_sets_of_squares():
    found = patterns.pattern_set("logistello", 8)
    assert sorted(map(len, found.patterns)) == [4, 5, 6, 7, 8, 8, 8, 8, 9, 10, 10]
    assert len(found.merged.squares) == 46
    # Two orders each but for the 2x5 corner, and the four of the two longest diagonals.
    assert len(found.images.squares) == 2 * 46 - 8
    assert found.num_rows == 2 * 3**10 + 3**9 + 4 * 3**8 + 3**7 + 3**6 + 3**5 + 3**4


@pytest.mark.parametrize("size", [3, 4, 6, 8])
@pytest.mark.parametrize("name", NAMES)
def test_every_square_lies_in_a_pattern_and_no_pattern_is_an_image_of_another(name, size):
    found = patterns.pattern_set(name, size)
    assert max(map(len, found.patterns)) <= patterns.MAX_LENGTH
    squares = found.merged.squares
    assert set(squares[squares >= 0]) == set(range(size**2))
    sets = [frozenset(row[row >= 0].tolist()) for row in found.images.squares]
    by_pattern = [
        {s for s, p in zip(sets, found.images.pattern, strict=True) if p == i}
        for i in range(len(found.patterns))
    ]
    assert sum(map(len, by_pattern)) == len(set().union(*by_pattern)) == len(squares)


@pytest.mark.parametrize("name", NAMES)
def test_weights_give_the_row_of_every_image(name):
    found = patterns.pattern_set(name, 8)
    for images in (found.images, found.merged):
        rows = boards(8) @ found.weights(images)
        for board, row in zip(boards(8), rows, strict=True):
            expected = [content(squares[squares >= 0], board) for squares in images.squares]
            np.testing.assert_array_equal(row, expected)


@pytest.mark.parametrize("name", NAMES)
def test_another_order_of_the_same_squares_has_the_rows_that_its_image_would_have(name):
    found = patterns.pattern_set(name, 8)
    for number, pattern in enumerate(found.patterns):
        orders = found.reordered_rows(number)
        assert orders[0][0] == tuple(range(len(pattern)))
        for order, rows in orders:
            image = [pattern[i] for i in order]
            for board in boards(8):
                assert rows[content(pattern, board)] == content(image, board)


def test_a_shape_that_does_not_fit_is_left_out():
    assert len(patterns.pattern_set("logistello", 6).patterns) == 9
    # On 4x4 the edge with its X squares and the corner of 2x4 remain beside lines.
    assert max(map(len, patterns.pattern_set("logistello", 4).patterns)) == 9
