"""The eight symmetries: permutations, numbering, inverses and compositions."""

import numpy as np

from azo.games import board_symmetry, symmetry


def test_inverses_and_compositions_have_the_numbers_that_the_module_states():
    permutations = board_symmetry.square_permutations(5)
    for k, first in enumerate(permutations):
        inverse = -k % 4 if k < 4 else k
        np.testing.assert_array_equal(symmetry.inverse(permutations)[k], permutations[inverse])
        for j, second in enumerate(permutations):
            turns = j % 4 + k % 4 if j < 4 else j % 4 - k % 4
            composed = 4 * (j // 4 ^ k // 4) + turns % 4
            # Gathering by the first, then by the second, gathers from `first[second]`.
            np.testing.assert_array_equal(first[second], permutations[composed])


def test_squares_are_equivalent_if_a_symmetry_keeps_the_board():
    board = np.zeros((4, 4), int)
    board[1, 1] = board[2, 2] = 1
    board[1, 2] = board[2, 1] = 2
    start = board.reshape(-1)
    assert all(board_symmetry.are_equivalent(start, 1, square) for square in (1, 4, 11, 14))
    assert not any(board_symmetry.are_equivalent(start, 1, square) for square in (0, 2, 5, 7, 16))
    assert board_symmetry.are_equivalent(start, 16, 16)  # the pass
    start[0] = 1  # the diagonal through a1 remains
    assert board_symmetry.are_equivalent(start, 1, 4)
    assert not board_symmetry.are_equivalent(start, 1, 11)
