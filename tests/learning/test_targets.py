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


# Two games in one column, and the beginning of a third. The first is won by its last mover, the
# second lost by it. Values are the search's, for the player who moved.
REWARD = [0, 0, 1, 0, -1, 0]
DISCOUNT = [GOES_ON, GOES_ON, LAST, GOES_ON, LAST, GOES_ON]
VALUE = [0.4, -0.2, 0.6, 0.5, -0.3, 0.8]
OUTCOME = [1, -1, 1, 1, -1, 0]


def column_of_targets(**settings):
    columns = (jnp.array(x, jnp.float32)[:, None] for x in (REWARD, DISCOUNT, VALUE))
    return np.asarray(targets.value_targets(targets.TargetsConfig(**settings), *columns))[:, 0]


def test_lambda_returns_are_as_by_hand():
    # Backwards, with lambda 1/2: 1; -(0.6 + 1) / 2 = -0.8; -(-0.2 - 0.8) / 2 = 0.5. The second
    # game: -1; -(-0.3 - 1) / 2 = 0.65.
    actual = column_of_targets(value="lambda", trace_decay=0.5)
    np.testing.assert_allclose(actual[:5], [0.5, -0.8, 1, 0.65, -1], atol=1e-6)


def test_lambda_one_is_the_outcome_and_zero_the_value_one_ply_later():
    np.testing.assert_array_equal(column_of_targets(value="outcome"), OUTCOME)
    np.testing.assert_array_equal(column_of_targets(value="lambda", trace_decay=1.0), OUTCOME)
    actual = column_of_targets(value="lambda", trace_decay=0.0)
    np.testing.assert_allclose(actual[:5], [0.2, -0.6, 1, 0.3, -1], atol=1e-6)


def test_search_values_and_mixes_are_as_by_hand():
    np.testing.assert_allclose(column_of_targets(value="search"), VALUE, atol=1e-6)
    actual = column_of_targets(value="mix", search_share=0.25)
    expected = 0.75 * np.array(OUTCOME) + 0.25 * np.array(VALUE)
    np.testing.assert_allclose(actual[:5], expected[:5], atol=1e-6)
