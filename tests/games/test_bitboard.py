"""Bitboards against Python integers, and the kernels of Othello in hand-made cases."""

import jax
import numpy as np
import pytest
from support import random_games

from azo.games import bitboard


def _bits(rng, count):
    return [int(x) for x in rng.integers(0, 2**64, count, dtype=np.uint64)]


def _stack(numbers):
    words = np.array([[n & 0xFFFFFFFF, n >> 32] for n in numbers], np.uint32)
    return bitboard.Bitboard(jax.numpy.asarray(words[:, 0]), jax.numpy.asarray(words[:, 1]))


@pytest.mark.parametrize("bits", [0, 1, 1 << 31, 1 << 32, 1 << 63, 2**64 - 1, 0x123456789ABCDEF0])
def test_a_python_integer_survives_the_round_trip(bits):
    assert bitboard.to_int(bitboard.from_int(bits)) == bits


def test_set_operations_agree_with_python_integers():
    left, right = (_bits(np.random.default_rng(seed), 50) for seed in (1, 2))
    P, O = _stack(left), _stack(right)
    for actual, expected in (
        (P & O, [a & b for a, b in zip(left, right, strict=True)]),
        (P | O, [a | b for a, b in zip(left, right, strict=True)]),
        (~P, [a ^ (2**64 - 1) for a in left]),
    ):
        singles = [jax.tree.map(lambda word, i=i: word[i], actual) for i in range(50)]
        assert [bitboard.to_int(single) for single in singles] == expected
    np.testing.assert_array_equal(P.count(), [a.bit_count() for a in left])


def test_square_bit_sets_one_bit_on_the_board_and_none_outside():
    boards = bitboard.square_bit(np.arange(-3, 70))
    actual = (np.asarray(boards.upper, np.uint64) << np.uint64(32)) | np.asarray(boards.lower)
    expected = [1 << i if 0 <= i < 64 else 0 for i in range(-3, 70)]
    np.testing.assert_array_equal(actual, np.array(expected, np.uint64))


@pytest.mark.parametrize(("num_rows", "num_columns"), [(8, 8), (6, 6), (5, 5), (4, 4), (4, 7)])
def test_squares_lists_the_bits_row_by_row(num_rows, num_columns):
    numbers = _bits(np.random.default_rng(3), 10)
    actual = np.asarray(bitboard.squares(_stack(numbers), num_rows, num_columns))
    for number, squares in zip(numbers, actual, strict=True):
        rows = [[number >> (8 * r + c) & 1 for c in range(num_columns)] for r in range(num_rows)]
        np.testing.assert_array_equal(squares, np.array(rows, bool))
    boards = bitboard.from_squares(jax.numpy.asarray(actual))
    on_board = sum(1 << (8 * r + c) for r in range(num_rows) for c in range(num_columns))
    for i, number in enumerate(numbers):
        single = jax.tree.map(lambda word, i=i: word[i], boards)
        assert bitboard.to_int(single) == number & on_board


def test_test_helpers_read_and_write_the_same_bits():
    board = _stack(_bits(np.random.default_rng(4), 10))
    squares = np.asarray(bitboard.squares(board, 8, 8))
    np.testing.assert_array_equal(random_games.to_squares(board, 8), squares)
    np.testing.assert_array_equal(random_games.from_squares(squares).upper, board.upper)


def test_select_bit_finds_the_set_bit_of_every_rank():
    numbers = [*_bits(np.random.default_rng(5), 40), 1, 1 << 31, 1 << 32, 1 << 63, 2**64 - 1]
    select = jax.jit(bitboard.select_bit)
    ranks = np.arange(64)
    for number in numbers:
        board = bitboard.from_int(number, 64)
        expected = [i for i in range(64) if number >> i & 1]
        np.testing.assert_array_equal(select(board, ranks)[: len(expected)], expected)


def test_a_pass_flips_nothing():
    P, O = bitboard.from_int(0x1020304050607080), bitboard.from_int(0x0F0C0B0A09080706)
    assert bitboard.flips(P, O, bitboard.from_int(0)).is_empty()


def test_a_row_of_six_is_flipped_but_never_around_the_edge():
    disc = bitboard.from_int(1)
    row = bitboard.from_int(0x7E)
    end = bitboard.from_int(0x80)
    assert bitboard.to_int(bitboard.flips(end, row, disc)) == 0x7E
    beyond = bitboard.from_int(0x100)  # a2, one bit after h1
    full = bitboard.from_int(0xFE)
    assert bitboard.flips(beyond, full, disc).is_empty()
    assert bitboard.legal_moves(beyond, full, 2**64 - 1).is_empty()


@pytest.mark.parametrize("size", [4, 5, 6, 8])
def test_both_sides_are_blocked_exactly_if_neither_has_a_legal_move(size):
    """Most boards are nearly full, and some have few discs of one colour."""
    rng = np.random.default_rng(size)
    shape = (20_000, size, size)
    has_disc = rng.random(shape) < 1 - 0.2 * rng.random((20_000, 1, 1)) ** 2
    is_first = rng.random(shape) < rng.random((20_000, 1, 1)) ** 3
    P = bitboard.from_squares(jax.numpy.asarray(np.pad(has_disc & is_first, _to_eight(size))))
    O = bitboard.from_squares(jax.numpy.asarray(np.pad(has_disc & ~is_first, _to_eight(size))))
    on_board = sum(1 << (8 * row + column) for row in range(size) for column in range(size))
    moves = [bitboard.legal_moves(*sides, on_board) for sides in ((P, O), (O, P))]
    expected = np.asarray((moves[0] | moves[1]).is_empty())
    assert 0.05 < expected.mean() < 0.95
    np.testing.assert_array_equal(bitboard.is_blocked(P, O, on_board), expected)


def _to_eight(size):
    return ((0, 0), (0, 8 - size), (0, 8 - size))
