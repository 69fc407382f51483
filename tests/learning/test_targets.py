"""Targets worked by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from azo.learning import targets

GOES_ON, LAST = -1.0, 0.0


@pytest.mark.parametrize(
    ("reward", "discount", "expected"),
    [
        ([0, 0, 1], [GOES_ON, GOES_ON, LAST], [1, -1, 1]),  # the last mover wins
        ([0, 0, -1], [GOES_ON, GOES_ON, LAST], [-1, 1, -1]),  # and can lose by the own move
        (  # won, lost, drawn, won at once
            [0, 1, 0, 0, -1, 0, 0, 1],
            [GOES_ON, LAST, GOES_ON, GOES_ON, LAST, GOES_ON, LAST, LAST],
            [-1, 1, -1, 1, -1, 0, 0, 1],
        ),
        ([0, 1, 0, 0], [GOES_ON, LAST, GOES_ON, GOES_ON], [-1, 1, 0, 0]),  # undecided
    ],
)
def test_value_changes_sign_each_ply_back_from_the_end_of_each_game(reward, discount, expected):
    # A second column, of games of one ply, mixes with none.
    columns = (
        jnp.array([x, [y] * len(x)], jnp.float32).T for x, y in ((reward, -1), (discount, LAST))
    )
    value = targets.outcome_targets(*columns)
    np.testing.assert_array_equal(value, np.array([expected, [-1] * len(expected)]).T)


def test_plies_are_decided_before_the_last_end_of_their_column():
    discount = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]) - 1
    decided = targets.is_decided(discount)
    np.testing.assert_array_equal(decided, [[True, True, False], [True, False, False]])


# Two games in one column, and the beginning of a third. The first is won by its last mover, the
# second lost by it. Values are the search's, for the player who moved.
REWARD = [0, 0, 1, 0, -1, 0]
DISCOUNT = [GOES_ON, GOES_ON, LAST, GOES_ON, LAST, GOES_ON]
VALUE = [0.4, -0.2, 0.6, 0.5, -0.3, 0.8]
OUTCOME = [1, -1, 1, 1, -1, 0]


def column_of_targets(**settings):
    columns = (jnp.array(x, jnp.float32)[:, None] for x in (REWARD, DISCOUNT, VALUE))
    return np.asarray(targets.value_targets(targets.TargetsConfig(**settings), *columns))[:, 0]


def test_lambda_targets_are_as_by_hand():
    # Backwards, with lambda 1/2: 1; -(0.6 + 1) / 2 = -0.8; -(-0.2 - 0.8) / 2 = 0.5. The second
    # game: -1; -(-0.3 - 1) / 2 = 0.65.
    actual = column_of_targets(value="lambda", trace_decay=0.5)
    np.testing.assert_allclose(actual[:5], [0.5, -0.8, 1, 0.65, -1], atol=1e-6)


def test_lambda_one_is_the_outcome_and_zero_the_value_one_ply_later():
    np.testing.assert_array_equal(column_of_targets(value="outcome"), OUTCOME)
    np.testing.assert_array_equal(column_of_targets(value="lambda", trace_decay=1.0), OUTCOME)
    actual = column_of_targets(value="lambda", trace_decay=0.0)
    np.testing.assert_allclose(actual[:5], [0.2, -0.6, 1, 0.3, -1], atol=1e-6)
