"""Pooled features, on two boards of 1 x 2 squares with two channels."""

import jax
import jax.numpy as jnp
import numpy as np

from azo.learning import residual

BOARD = jnp.array([[[[1.0, 0.0], [5.0, 2.0]], [[3.0, 4.0], [7.0, 0.0]]]])  # [1, 2, M, 2]


def test_pooled_features_are_the_mean_and_the_maximum_of_each_channel():
    expected = [[2.0, 2.0, 3.0, 4.0], [6.0, 1.0, 7.0, 2.0]]
    np.testing.assert_array_equal(residual.pooled_features(BOARD), expected)


def test_a_pooled_bias_is_equal_on_all_squares_of_a_board_and_its_own_for_each_board():
    kernel = jnp.zeros((4, 2)).at[0, 1].set(10.0).at[3, 0].set(-1.0)
    biased = residual.PooledBias().apply({"params": {"kernel": kernel}}, BOARD)
    for board, bias in ((0, [-4.0, 20.0]), (1, [-2.0, 60.0])):
        added = np.asarray(biased - BOARD)[0, :, board]
        np.testing.assert_array_equal(added, [bias, bias])


def test_before_training_there_is_no_bias():
    biased, variables = residual.PooledBias().init_with_output(jax.random.key(0), BOARD)
    np.testing.assert_array_equal(biased, BOARD)
    assert variables["params"]["kernel"].shape == (4, 2)
