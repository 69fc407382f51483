"""The shortcut for blocked positions, against the legal moves of both sides."""

import jax
import numpy as np
import pytest

from azo.games import bitboard


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
