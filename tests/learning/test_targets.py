"""Targets worked by hand."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from azo.learning import targets

# Five games in one column: won by the last mover, lost by the last mover, drawn, won at once, and
# the beginning of another. Values are the search's, for the player who moved.
REWARD = [0, 0, 1, 0, -1, 0, 0, 1, 0, 0]
DISCOUNT = [-1, -1, 0, -1, 0, -1, 0, 0, -1, -1]
VALUE = [0.4, -0.2, 0.6, 0.5, -0.3, 0.8, 0.1, 0.9, 0.2, 0.7]
OUTCOME = [1, -1, 1, 1, -1, 0, 0, 1, 0, 0]


def column_of_targets(compute):
    """Returns the targets; a second column, with the sides exchanged, has the opposite ones."""
    reward, discount, value = (jnp.array(x, jnp.float32) for x in (REWARD, DISCOUNT, VALUE))
    columns = ([reward, -reward], [discount, discount], [value, -value])
    stacked = (jnp.stack(column, axis=1) for column in columns)
    actual = np.asarray(compute(*stacked))
    np.testing.assert_array_equal(actual[:, 0], -actual[:, 1])
    return actual[:, 0]


def test_plies_are_decided_before_the_last_end_of_their_column():
    discount = jnp.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]) - 1
    decided = targets.is_decided(discount)
    np.testing.assert_array_equal(decided, [[True, True, False], [True, False, False]])


@pytest.mark.parametrize(
    ("trace_decay", "expected"),
    [
        # Backwards: 1; -(0.6 + 1) / 2 = -0.8; -(-0.2 - 0.8) / 2 = 0.5. The second game: -1;
        # -(-0.3 - 1) / 2 = 0.65. The third: 0; -0.1 / 2.
        (0.5, [0.5, -0.8, 1, 0.65, -1, -0.05, 0, 1]),
        (0.0, [0.2, -0.6, 1, 0.3, -1, -0.1, 0, 1]),  # the value one ply later
        (1.0, OUTCOME[:8]),
    ],
)
def test_lambda_targets_are_as_by_hand(trace_decay, expected):
    actual = column_of_targets(functools.partial(targets.lambda_returns, trace_decay=trace_decay))
    np.testing.assert_allclose(actual[:8], expected, atol=1e-6)


def test_the_outcome_changes_sign_each_ply_back_from_the_end_of_each_game():
    np.testing.assert_array_equal(
        column_of_targets(lambda *x: targets.outcome_targets(*x[:2])), OUTCOME
    )
