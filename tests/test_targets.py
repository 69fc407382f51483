"""Targets worked by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from azo.learning import targets

GOES_ON, LAST = -1.0, 0.0


def values(reward, discount):
    column = (jnp.array(x, jnp.float32)[:, None] for x in (reward, discount))
    return np.asarray(targets.outcome_targets(*column))[:, 0]


def test_value_changes_sign_each_ply_back_from_the_end():
    value = values([0, 0, 1], [GOES_ON, GOES_ON, LAST])  # the last mover wins
    np.testing.assert_array_equal(value, [1, -1, 1])


def test_a_player_can_lose_by_the_own_last_move():
    value = values([0, 0, -1], [GOES_ON, GOES_ON, LAST])
    np.testing.assert_array_equal(value, [-1, 1, -1])


def test_games_that_follow_one_another_do_not_mix():
    reward = [0, 1, 0, 0, -1, 0, 0, 1]
    discount = [GOES_ON, LAST, GOES_ON, GOES_ON, LAST, GOES_ON, LAST, LAST]
    expected = [-1, 1, -1, 1, -1, 0, 0, 1]  # won, lost, drawn, won at once
    np.testing.assert_array_equal(values(reward, discount), expected)


def test_an_unfinished_game_gets_zero_and_is_undecided():
    reward, discount = [0, 1, 0, 0], [GOES_ON, LAST, GOES_ON, GOES_ON]
    np.testing.assert_array_equal(values(reward, discount), [-1, 1, 0, 0])
    decided = targets.is_decided(jnp.array(discount)[:, None])[:, 0]
    np.testing.assert_array_equal(decided, [True, True, False, False])


def test_a_draw_is_decided():
    decided = targets.is_decided(jnp.array([[GOES_ON], [LAST]]))
    np.testing.assert_array_equal(decided, [[True], [True]])


def test_columns_are_independent():
    reward = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    discount = jnp.array([[GOES_ON, LAST, GOES_ON], [LAST, GOES_ON, GOES_ON]])
    value = targets.outcome_targets(reward, discount)
    np.testing.assert_array_equal(value, [[-1, 1, 0], [1, 0, 0]])
    decided = targets.is_decided(discount)
    np.testing.assert_array_equal(decided, [[True, True, False], [True, False, False]])


def test_arrays_of_different_shapes_are_refused():
    with pytest.raises(AssertionError):
        targets.outcome_targets(jnp.zeros((3, 2)), jnp.zeros((3, 1)))
