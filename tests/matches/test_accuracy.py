"""Accuracy of networks: worked by hand, on solved positions, and against a search that is right."""

import functools
import math

import jax
import numpy as np
import pytest

from azo.games import othello
from azo.matches import accuracy, position_sets
from azo.networks import initial_variables, network
from azo.opponents import players
from azo.search import improvement

FOUR = othello.Othello(4)
NO = position_sets.NO_UTILITY
Z = 1.959964  # standard normal, 97.5 %


def small_set(utility, moves):
    rows = [[row.get(action, NO) for action in range(17)] for row in moves]
    return position_sets.PositionSet(FOUR.start(len(moves)), np.array(utility), np.array(rows))


def assessment(value, action, score=None):
    return accuracy.Assessment(np.array(value, np.float32), np.array(action), score)


BY_HAND = small_set([6, -4, 0, 2], [{1: 6, 4: 2, 9: -2}, {2: -4, 3: -4}, {16: 0}, {}])


def test_a_grade_worked_by_hand():
    score = np.array([6.0, -4.0, 2.0, 0.0])
    summary = accuracy.measure(
        FOUR, BY_HAND, assessment([0.5, -1, 0.25, -0.5], [4, 3, 16, 0], score)
    )
    assert summary.value_error.mean == pytest.approx((0.5 + 0 + 0.25 + 1.5) / 4)
    assert summary.right_sign.mean == pytest.approx(2 / 3)  # the third is a draw
    # Wilson's interval of 2 of 3, by its formula with 1.96 standard deviations.
    assert summary.right_sign.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert (summary.best_move.mean, summary.best_move.count) == (0.5, 2)  # pass: no choice; unknown
    assert summary.discs_lost.mean == 2.0  # 4 and 0
    # Student's t with one degree of freedom: 12.706; the mean's standard error is 2.
    assert summary.discs_lost.interval == pytest.approx((2 - 25.412, 2 + 25.412), abs=1e-3)
    assert summary.disc_error.mean == 1.0  # 0, 0, 2 and 2


def test_missing_scores_give_dashes():
    summary = accuracy.measure(FOUR, small_set([0], [{}]), assessment([0.5], [3]))
    line = accuracy.row("name", "raw", 1, summary)
    assert line == "| name | 1 | raw | 0.500 | - | - | - | - | - | 0.500 |"


def test_a_row_has_means_intervals_and_counts():
    summary = accuracy.measure(FOUR, BY_HAND, assessment([0.5, -1, 0.25, -0.5], [4, 3, 16, 0]))
    cells = accuracy.row("name", "raw", 4, summary).strip("| ").split(" | ")
    assert cells[:3] == ["name", "4", "raw"]
    assert cells[4] == "0.667, 0.208 to 0.939, of 3"
    assert cells[5].startswith("0.500, ")
    assert cells[5].endswith(", of 2")
    assert cells[6:8] == ["2.00, -23.41 to 27.41, of 2", "-"]
    assert cells[8].startswith("0.800, ")  # of four ranks one pair is swapped
    assert cells[9] == "0.562"  # (0.5 + 0 + 0.25 + 1.5) / 4
    assert len(accuracy.COLUMNS) == len(cells)


@pytest.mark.slow
def test_an_assessment_is_that_of_the_network_or_of_a_search_with_it(monkeypatch):
    config = network.NetworkConfig(kind="residual", num_blocks=0, num_channels=4, value_units=4)
    variables = jax.jit(functools.partial(initial_variables.init, FOUR, config))(jax.random.key(1))
    search = improvement.SearchConfig(algorithm="puct", num_simulations=1, has_proofs=False)
    searching = players.NetworkPlayer(variables, FOUR, config, search)
    alone = players.NetworkPlayer(variables, FOUR, config)
    assert [accuracy.name_of(player) for player in (alone, searching)] == ["raw", "1 simulation"]
    key = jax.random.key(0)
    position = position_sets.of_random_games(FOUR, key, num_positions=40, num_empties=6).position
    monkeypatch.setattr(accuracy, "_BATCH", 16)  # of 40 positions
    raw = accuracy.assess(FOUR, alone, key, position)
    searched = accuracy.assess(FOUR, searching, key, position)

    predict = functools.partial(network.build(FOUR, config).apply, variables)
    prediction = predict(FOUR.planes(position))
    np.testing.assert_allclose(raw.value, prediction.value, atol=1e-5)
    np.testing.assert_allclose(raw.score, 16 * prediction.score, atol=1e-4)
    legal = np.asarray(FOUR.legal_mask(position))
    likeliest = np.where(legal, prediction.prior_logits, -np.inf).argmax(axis=1)
    np.testing.assert_array_equal(raw.action, likeliest)
    # One simulation looks at the likeliest move, and takes the mean with the root's own value.
    step = jax.jit(FOUR.step)(position, likeliest)
    behind = np.where(step.discount == 0, step.reward, -predict(FOUR.planes(step.position)).value)
    np.testing.assert_array_equal(searched.action, likeliest)
    np.testing.assert_allclose(searched.value, (prediction.value + behind) / 2, atol=1e-5)


def test_a_calibration_error_worked_by_hand():
    value = np.array([-1.0, -0.7, -0.5, 0.2, 0.3, 0.4, 1.0])
    result = np.array([-1, -1, 1, 1, 0, -1, 1])
    # Bins of 2, 1, 3 and 1 values: -0.5, on an edge, belongs to the upper bin.
    error = accuracy.calibration_error(value, result, num_bins=4)
    assert error == pytest.approx((2 * 0.15 + 1 * 1.5 + 3 * 0.3 + 0) / 7)
    assert accuracy.calibration_error(np.array([0.9, 0.8]), np.array([1, 1])) == pytest.approx(0.15)


def test_a_rank_correlation_worked_by_hand():
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    y = np.array([-4, 2, 0, 8, 64])
    # Ranks differ by 0, 1, 1, 0, 0: 1 - 6 * 2 / (5 * 24).
    rank = accuracy.rank_correlation(x, y)
    assert rank.mean == pytest.approx(0.9)
    spread = Z * math.sqrt((1 + 0.9**2 / 2) / 2)
    assert rank.interval == pytest.approx(
        (math.tanh(math.atanh(0.9) - spread), math.tanh(math.atanh(0.9) + spread)), abs=1e-6
    )


def test_a_correlation_may_be_perfect_or_undefined():
    x = np.arange(6.0)
    assert accuracy.rank_correlation(x, 2 * x).mean == pytest.approx(1)
    assert accuracy.rank_correlation(x, -x).interval == pytest.approx((-1, -1))
    assert accuracy.rank_correlation(x, np.ones(6)) is None
    assert accuracy.rank_correlation(x[:3], x[:3]) is None
