"""The sequential test: likelihood ratios worked by hand, and error rates by simulation."""

import math

import numpy as np
import pytest
from support import refusals

from azo.lab import elo, sequential

run = sequential.sequential_test


def pair_scores(score, draw_share, settled_share):
    """Returns the chances of 0 to 2 points; in `settled_share` of the openings one colour wins."""
    score = (score - settled_share / 2) / (1 - settled_share)
    game = np.array([1 - score - draw_share / 2, draw_share, score - draw_share / 2])
    both = (1 - settled_share) * np.convolve(game, game)
    both[2] += settled_share
    return both


def played(rng, chances, *, elo0, elo1, stride):
    """Returns the verdict of one test, looked at every `stride` pairs, and its number of games."""
    counts = np.zeros(5, dtype=int)
    while True:
        counts += rng.multinomial(stride, chances)
        verdict = run(counts, elo0=elo0, elo1=elo1).verdict
        if verdict != "undecided":
            return verdict, 2 * counts.sum()


def rate(num_tests, chances, **settings):
    """Returns the rate of "better", and the mean number of games."""
    rng = np.random.default_rng(7)
    outcomes = [played(rng, chances, **settings) for _ in range(num_tests)]
    is_better, games = zip(
        *((verdict == "better", games) for verdict, games in outcomes), strict=True
    )
    return np.mean(is_better), np.mean(games)


def test_the_likelihood_ratio_of_pairs_is_that_worked_by_hand():
    # Under a mean of 1/2, 10 of 1/4, 20 of 1/2 and 30 of 3/4 are likeliest from equal chances:
    # 10 / (1 - y) = 30 / (1 + y) at y = 1/2. A mean of 7/12 is the one observed: no change.
    outcome = run([0, 10, 20, 30, 0], elo0=0, elo1=elo.from_score(7 / 12))
    assert outcome.llr == pytest.approx(10 * math.log(1 / 2) + 30 * math.log(3 / 2), abs=0.01)
    assert outcome.upper == pytest.approx(math.log(19))
    assert outcome.lower == pytest.approx(-math.log(19))
    assert outcome.verdict == "better"  # 5.23 against 2.94


def test_single_games_without_draws_are_walds_test():
    outcome = run([40, 0, 60], elo0=0, elo1=elo.from_score(0.6), alpha=0.1, beta=0.2)
    assert outcome.llr == pytest.approx(60 * math.log(1.2) + 40 * math.log(0.8), abs=0.01)  # 2.01
    assert outcome.upper == pytest.approx(math.log(0.8 / 0.1))
    assert outcome.lower == pytest.approx(math.log(0.2 / 0.9))
    assert outcome.verdict == "undecided"
    assert run([60, 0, 40], elo0=0, elo1=elo.from_score(0.6)).verdict == "not better"


def test_exchanging_the_sides_negates_the_ratio():
    counts = [3, 9, 20, 14, 6]
    ours, theirs = run(counts, elo0=10, elo1=60), run(counts[::-1], elo0=-60, elo1=-10)
    assert ours.llr == pytest.approx(-theirs.llr)
    assert abs(ours.llr) > 0.1
    assert run([0] * 5, elo0=0, elo1=10).llr == 0


@pytest.mark.parametrize("settled_share", [0, 0.5])
def test_errors_are_as_rare_as_stated(settled_share):
    settings = {"elo0": 0, "elo1": 100, "stride": 4}
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)  # 3 standard deviations of 200 tests
    equal, _ = rate(200, pair_scores(0.5, 0.05, settled_share), **settings)
    assert equal <= allowed
    better = 1 / (1 + 10 ** (-100 / 400))
    above, games = rate(200, pair_scores(better, 0.05, settled_share), **settings)
    assert above >= 1 - allowed
    assert games < 120


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"elo1": 0}, "elo0 0 is not below elo1 0"),
        ({"alpha": 0.5}, "alpha 0.5 and beta 0.05 must be between 0 and 0.5"),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    settings = {"elo0": 0, "elo1": 10} | settings
    assert refusals.message_of(run, [1, 1, 1], **settings) == message
