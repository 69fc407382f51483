"""Comparisons of arms, by numbers worked by hand and by simulated seeds."""

import math

import numpy as np
import pytest
import scipy.stats

from azo.matches import elo
from azo.queues import comparison, run_queue

PER_ODDS = 400 / math.log(10)


def result(arm, seed, wins, losses, games=100, *, against=None, pair_scores=None):
    """A result; with `pair_scores` also a match in which openings gave 0, 1/2, 1, 3/2, 2 points."""
    return comparison.Result(
        **{"arm": arm, "seed": seed, "run": "", "request": {}, "versions": {}},
        **{"evaluations": 10 * games, "games": games, "iterations": 1},
        **{"training_seconds": 1.0, "processor_seconds": 1.0},
        match=elo.MatchResult(wins, 0, losses),
        against=against,
        versus=pair_scores and elo.MatchResult(1, 0, 1, pair_scores=pair_scores),
    )


def differences(results, arms=None):
    return comparison.differences(by_arm(results), ARMS if arms is None else arms)


def by_arm(results):
    return {(one.arm, one.seed): one for one in results}


def arm(name, against):
    return run_queue.Arm(name=name, question=f"{name}?", against=against)


def rated(wins, losses):
    """Elo and variance by half a won and half a lost game more."""
    number, mean = wins + losses + 1, (wins + 0.5) / (wins + losses + 1)
    return elo.from_score(mean), (PER_ODDS**2 / (mean * (1 - mean))) / number


ARMS = [arm("base", None), arm("b", "base"), arm("c", "base")]


def test_without_a_match_the_difference_is_that_of_matches_with_the_common_opponent():
    results = [result("base", 0, 50, 50), result("b", 0, 75, 25), result("b", 1, 60, 40)]
    gain = differences(results)["b"]
    assert gain.elo == pytest.approx(rated(75, 25)[0] - rated(50, 50)[0])
    assert gain.interval is None
    perfect = differences([result("base", 0, 50, 50), result("b", 0, 100, 0)])["b"]
    assert perfect.elo == pytest.approx(elo.from_score(100.5 / 101))  # finite


def test_the_interval_has_the_games_part_and_that_of_all_arms_seeds():
    def interval(scatter):
        results = [result(name, seed, 50, 50) for name in ("base", "b") for seed in (0, 1)]
        results += [result("c", 0, 50 + scatter, 50 - scatter), result("c", 1, 50, 50)]
        return differences(results)["b"].interval

    quantile, of_games = scipy.stats.t.ppf(0.975, 2), rated(50, 50)[1]  # with 1 + 1 seeds to spare
    error = quantile * math.sqrt(2 * of_games / 2)
    assert interval(0) == pytest.approx((-error, error))  # no more than the games explain
    (one, of_one), (other, of_other) = rated(90, 10), rated(50, 50)  # c
    squares = (one - other) ** 2 / 2 - (of_one + of_other) / 2 - 3 * of_games  # c against base, b
    assert interval(40)[1] == pytest.approx(math.sqrt(error**2 + quantile**2 * squares / 2 / 2))


def test_a_match_between_the_arms_counts_in_place_of_the_common_opponent():
    base = result("base", 0, 50, 50)
    met = result("b", 0, 10, 90, against="base", pair_scores=(1, 0, 4, 0, 5))
    assert differences([base, met])["b"].elo == pytest.approx(elo.from_score((2 + 5.5) / 11))
    elsewhere = result("b", 0, 10, 90, against="c", pair_scores=(1, 0, 0, 0, 9))
    assert differences([base, elsewhere])["b"].elo < 0


@pytest.mark.parametrize("between", [0.0, 60.0])
def test_intervals_cover_the_difference_as_often_as_they_say(between):
    rng, covered, count = np.random.default_rng(0), 0, 0
    arms = [arm("base", None), *(arm(f"arm{k}", "base") for k in range(6))]
    for _ in range(150):
        results = []
        for seed in range(3):
            results.append(result("base", seed, 50, 50))
            for one in arms[1:]:
                score = 1 / (1 + 10 ** (-(80 + between * rng.standard_normal()) / 400))
                counts = rng.multinomial(
                    100, [(1 - score) ** 2, 0, 2 * score * (1 - score), 0, score**2]
                )
                pair_scores = tuple(map(int, counts))
                results.append(
                    result(one.name, seed, 1, 1, against="base", pair_scores=pair_scores)
                )
        for gain in differences(results, arms).values():
            covered += gain.interval[0] <= 80 <= gain.interval[1]
            count += 1
    assert 0.925 < covered / count < 0.98
