"""The sequential test, against references that share no code with it."""

import json
import math

import jax
import numpy as np
import pytest
import scipy.optimize
from support.drivers import commands, refusals

from azo.games import tictactoe
from azo.matches import arena, elo, sprt
from azo.opponents import players
from scripts import measure_sprt

COUNTS = [(100, 120, 330, 140, 110), (3, 5, 20, 9, 2), (0, 1, 30, 4, 0), (0, 0, 7, 0, 0)]


def likelihood(counts, difference):
    """The largest log-likelihood of pairs with the mean score of a difference, by SLSQP."""
    mean = 1 / (1 + 10 ** (-difference / 400))
    counts = np.maximum(np.array(counts, float), 1e-3)
    counts *= sum(counts.round()) / sum(counts)
    points = np.array([0, 0.25, 0.5, 0.75, 1])
    found = scipy.optimize.minimize(
        lambda p: -counts @ np.log(p) / counts.sum(),
        np.full(5, 0.2),
        jac=lambda p: -counts / p / counts.sum(),
        bounds=[(1e-9, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p: p @ points - mean},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun * counts.sum()


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("hypotheses", [(0, 10), (-30, 20)])
def test_the_ratio_is_that_of_the_largest_likelihoods(counts, hypotheses):
    test = sprt.SequentialTest(*hypotheses)
    expected = likelihood(counts, hypotheses[1]) - likelihood(counts, hypotheses[0])
    assert test.llr(counts) == pytest.approx(expected, abs=0.02)


def test_near_hypotheses_have_the_ratio_of_the_normal_distribution():
    counts = np.array(COUNTS[0])
    share, points = counts / counts.sum(), np.arange(5) / 4
    mean = share @ points
    variance = share @ (points - mean) ** 2
    low, high = (1 / (1 + 10 ** (-x / 400)) for x in (0, 2))
    expected = counts.sum() * (high - low) * (2 * mean - low - high) / (2 * variance)
    assert sprt.SequentialTest(0, 2).llr(counts) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("counts", "hypotheses", "published"),
    [
        ((223, 9863, 21279, 10037, 246), (0.5, 2.5), -3.07),
        ((871, 26175, 55983, 26678, 821), (0, 2), -4.98),
        ((21184, 0, 40708, 0, 21404), (0.5, 2.5), -1.57),  # losses, draws, wins of single games
        ((57030, 0, 106593, 0, 57433), (0, 2), -2.59),
    ],
)
def test_the_ratio_is_that_of_fastchess(counts, hypotheses, published):
    """The logistic values in its app/tests/sprt_test.cpp, at 0cbac498."""
    assert sprt.SequentialTest(*hypotheses).llr(counts) == pytest.approx(published, abs=0.005)


def test_the_sides_change_the_sign_and_bounds_are_those_of_wald():
    test = sprt.SequentialTest(-5, 5, alpha=0.01, beta=0.2)
    assert test.llr(COUNTS[1]) == pytest.approx(-test.llr(COUNTS[1][::-1]))
    assert test.bounds == pytest.approx((math.log(0.2 / 0.99), math.log(0.8 / 0.01)))
    assert test.llr([0] * 5) == 0
    assert test.llr([COUNTS[0], COUNTS[1]]) == pytest.approx([test.llr(one) for one in COUNTS[:2]])


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ((10, 0), "the sequential test compares 10 and 0 Elo"),
        ((0, 0), "the sequential test compares 0 and 0 Elo"),
        ((0, math.inf), "the sequential test compares 0 and inf Elo"),
        ((0, 10, 0.6), "alpha is 0.6"),
        ((0, 10, 0.05, 0), "beta is 0"),
    ],
)
def test_wrong_hypotheses_are_one_line(arguments, start):
    assert refusals.message_of(sprt.SequentialTest, *arguments).startswith(start)


@pytest.mark.parametrize(("truth", "accepted"), [(0, 0.05), (50, 0.95)])
def test_errors_are_about_as_rare_as_named(truth, accepted):
    rates = measure_sprt.simulate(sprt.SequentialTest(0, 50), truth, 400, seed=1)
    assert rates.num_undecided == 0
    assert rates.num_accepted / rates.num_matches == pytest.approx(accepted, abs=0.04)


def test_a_match_ends_after_the_pair_that_decides_and_is_a_part_of_the_whole_one():
    game = tictactoe.TicTacToe()
    sides = [players.BaselinePlayer("greedy", game), players.BaselinePlayer("random", game)]
    key = jax.random.key(0)
    whole = arena.play_games(game, *sides, key, num_games=40, games_at_once=8, rows=4)
    asked = []

    def is_enough(result):
        asked.append(result)
        return result.num_games == 12

    part = arena.play_games(
        game, *sides, key, num_games=40, games_at_once=8, rows=4, is_enough=is_enough
    )
    assert [result.num_games for result in asked] == [2, 4, 6, 8, 10, 12]
    assert [(one.opening, one.black) for one in part] == [
        (one.opening, one.black) for one in whole[:12]
    ]
    assert isinstance(asked[-1], elo.MatchResult)
    assert sum(asked[-1].pair_scores) == 6


def test_the_command_says_what_was_accepted(capsys):
    words = ["evaluate", "greedy", "random", "--game.name", "othello", "--game.size", "4"]
    assert commands.run(*words, "--sprt", "0", "400", "--num-games", "400") == 0
    match, verdict = capsys.readouterr().out.splitlines()
    assert match.startswith("greedy against random: ")
    assert verdict.startswith("sequential test of +0 and +400 Elo: accepts +")
    assert commands.run(*words, "--sprt", "0", "5", "--num-games", "4", "--json") == 0
    found = json.loads(capsys.readouterr().out)["sprt"]
    assert found["accepts"] is None
    assert found["bounds"] == [-2.9444, 2.9444]


@pytest.mark.parametrize("flags", [["--alpha", "0.1"], ["--sprt", "5", "0"]])
def test_wrong_flags_are_one_line(capsys, flags):
    assert commands.refused(capsys, "evaluate", "greedy", "random", *flags)
