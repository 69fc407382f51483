"""The eight symmetries: permutations, numbering, inverses and compositions."""

import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import board_symmetry, symmetry


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7, 8])
def test_the_eight_permutations_are_distinct_and_form_a_group(size):
    permutations = board_symmetry.square_permutations(size)
    members = {tuple(p) for p in permutations.tolist()}
    assert len(members) == board_symmetry.NUM_SYMMETRIES == len(permutations)
    np.testing.assert_array_equal(permutations[0], np.arange(size * size))
    for first in permutations:
        for second in permutations:
            assert tuple(first[second].tolist()) in members


def test_the_inverses_undo_the_permutations_and_are_among_them():
    permutations = board_symmetry.square_permutations(6)
    inverses = symmetry.inverse(permutations)
    assert {tuple(p) for p in inverses.tolist()} == {tuple(p) for p in permutations.tolist()}
    for moved, back in zip(permutations, inverses, strict=True):
        np.testing.assert_array_equal(moved[back], np.arange(36))


def test_symmetry_k_is_k_mod_4_quarter_turns_after_a_mirroring_if_k_is_4_or_more():
    board = np.random.default_rng(0).random((6, 6))
    for k, permutation in enumerate(board_symmetry.square_permutations(6)):
        expected = np.rot90(np.fliplr(board) if k >= 4 else board, k % 4)
        np.testing.assert_array_equal(board.reshape(-1)[permutation].reshape(6, 6), expected)


def test_symmetry_k_is_its_reflections_in_order():
    board = np.random.default_rng(0).random((5, 5))
    for k, permutation in enumerate(board_symmetry.square_permutations(5)):
        mirrors_columns, mirrors_rows, transposes = board_symmetry.reflections(k)
        expected = board[:, ::-1] if mirrors_columns else board
        expected = expected[::-1] if mirrors_rows else expected
        expected = expected.T if transposes else expected
        np.testing.assert_array_equal(board.reshape(-1)[permutation].reshape(5, 5), expected)


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


def test_planes_and_policies_move_together_and_the_pass_stays():
    rng = np.random.default_rng(1)
    policy = rng.random((8, 26)).astype(np.float32)
    planes = policy[:, :25].reshape(8, 5, 5, 1)
    permutations = board_symmetry.square_permutations(5)
    moved_planes = symmetry.move_planes(permutations, jnp.arange(8), jnp.asarray(planes))
    moved_policy = symmetry.move_policy(permutations, jnp.arange(8), jnp.asarray(policy))
    for k in range(8):
        expected = np.rot90(planes[k, ..., 0][:, ::-1] if k >= 4 else planes[k, ..., 0], k % 4)
        np.testing.assert_array_equal(moved_planes[k, ..., 0], expected)
        np.testing.assert_array_equal(moved_policy[k, :25], expected.reshape(-1))
    np.testing.assert_array_equal(moved_policy[:, 25], policy[:, 25])


def test_moving_by_the_inverse_gives_the_policy_back():
    policy = jnp.asarray(np.random.default_rng(2).random((8, 17)), jnp.float32)
    permutations = board_symmetry.square_permutations(4)
    moved = symmetry.move_policy(permutations, jnp.arange(8), policy)
    back = symmetry.move_policy(symmetry.inverse(permutations), jnp.arange(8), moved)
    np.testing.assert_array_equal(back, policy)


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
