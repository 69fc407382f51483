"""Comparisons of arms, by numbers worked by hand and by simulated seeds."""

import math

import numpy as np
import pytest
import scipy.stats

from azo.measure import comparison, elo

PER_ODDS = 400 / math.log(10)


def result(arm, seed, wins, losses, games=100, **more):
    return {
        "arm": arm,
        "seed": seed,
        "wins": wins,
        "draws": 0,
        "losses": losses,
        "score": wins / (wins + losses),
        "games": games,
        "evaluations": 10 * games,
        **more,
    }


def versus(against, *pair_scores):
    """A match of which openings gave 0, 1/2, 1, 3/2 and 2 points."""
    wins = 2 * pair_scores[4] + pair_scores[3] + pair_scores[2]
    draws, losses = pair_scores[3] + pair_scores[1], pair_scores[1] + 2 * pair_scores[0]
    counts = {"wins": wins, "draws": draws, "losses": losses + pair_scores[2]}
    return {"against": against, "pair_scores": list(pair_scores), **counts}


def rated(wins, losses):
    """Elo and variance by half a won and half a lost game more."""
    number, mean = wins + losses + 1, (wins + 0.5) / (wins + losses + 1)
    return elo.from_score(mean), (PER_ODDS**2 / (mean * (1 - mean))) / number


ARMS = [("base", "?", None), ("b", "b?", "base"), ("c", "c?", "base")]


def test_without_a_match_the_difference_is_that_of_matches_with_the_common_opponent():
    results = [result("base", 0, 50, 50), result("b", 0, 75, 25), result("b", 1, 60, 40)]
    gain = comparison.differences(results, ARMS)["b"]
    (ours, _), (theirs, _) = rated(75, 25), rated(50, 50)
    assert gain.elo == pytest.approx(ours - theirs)
    assert (gain.num_seeds, gain.num_games, gain.interval) == (1, 200, None)
    assert gain.verdict == "not known"


def test_the_interval_has_the_games_part_and_that_of_all_arms_seeds():
    results = [
        *(result("base", seed, 50, 50) for seed in (0, 1, 2)),
        result("b", 0, 90, 10),
        result("b", 1, 60, 40),
        result("c", 0, 80, 20),
        result("c", 1, 60, 40),
        result("c", 2, 20, 80),
    ]
    of_base = rated(50, 50)[1]
    b = [rated(90, 10), rated(60, 40)]
    c = [rated(80, 20), rated(60, 40), rated(20, 80)]
    squares = sum(
        np.sum((np.array(seeds)[:, 0] - np.mean(seeds, axis=0)[0]) ** 2)
        - (len(seeds) - 1) * (np.mean(seeds, axis=0)[1] + of_base)
        for seeds in (b, c)
    )
    between = squares / 3  # degrees of freedom: 1 + 2
    mean, of_games = np.mean(b, axis=0)
    error = scipy.stats.t.ppf(0.975, 3) * math.sqrt((between + of_games + of_base) / 2)
    gain = comparison.differences(results, ARMS)["b"]
    assert gain.interval == pytest.approx((mean - error, mean + error))


def test_a_match_between_the_arms_counts_in_place_of_the_common_opponent():
    match = versus("base", 1, 0, 4, 0, 5)
    results = [result("base", 0, 50, 50), result("b", 0, 10, 90, versus=match)]
    gain = comparison.differences(results, ARMS)["b"]
    mean = (2 + 5.5) / 11
    assert gain.elo == pytest.approx(elo.from_score(mean))
    assert gain.num_games == 20
    elsewhere = [
        result("base", 0, 50, 50),
        result("b", 0, 10, 90, versus=versus("c", 1, 0, 0, 0, 9)),
    ]
    assert comparison.differences(elsewhere, ARMS)["b"].elo < 0


def test_the_verdict_is_whether_the_interval_leaves_out_no_difference():
    results = [
        result(arm, seed, wins, 1000 - wins)
        for arm, wins in (("base", 500), ("b", 700), ("c", 520))
        for seed in (0, 1)
    ]
    gains = comparison.differences(results, [*ARMS, ("d", "?", "b")])
    assert (gains["b"].verdict, gains["c"].verdict) == ("helps", "not known")
    assert "d" not in gains
    back = [("b", "?", None), ("base", "?", "b")]
    assert comparison.differences(results, back)["base"].verdict == "hurts"


def test_all_points_have_a_finite_difference_and_the_latest_result_counts():
    results = [result("base", 0, 50, 50), result("b", 0, 0, 100), result("b", 0, 100, 0)]
    gain = comparison.differences(results, ARMS)["b"]
    assert gain.elo == pytest.approx(elo.from_score(100.5 / 101))


@pytest.mark.parametrize("between", [0.0, 60.0])
def test_intervals_cover_the_difference_as_often_as_they_say(between):
    rng, covered, count = np.random.default_rng(0), 0, 0
    arms = [("base", "?", None), *((f"arm{k}", "?", "base") for k in range(6))]
    for _ in range(150):
        results = []
        for seed in range(3):
            results.append(result("base", seed, 50, 50))
            for name, _, _ in arms[1:]:
                score = 1 / (1 + 10 ** (-(80 + between * rng.standard_normal()) / 400))
                counts = rng.multinomial(
                    100, [(1 - score) ** 2, 0, 2 * score * (1 - score), 0, score**2]
                )
                results.append(result(name, seed, 1, 1, versus=versus("base", *map(int, counts))))
        for gain in comparison.differences(results, arms).values():
            covered += gain.interval[0] <= 80 <= gain.interval[1]
            count += 1
    assert 0.925 < covered / count < 0.98


def test_the_table_shows_differences_verdicts_and_finished_seeds():
    results = [
        result("base", 0, 50, 50),
        result("base", 1, 50, 50),
        result("b", 0, 75, 25, games=50),
        result("b", 1, 75, 25, games=70),
        result("b", 7, 1, 99),
    ]
    shown = comparison.table(results, ARMS, [0, 1, 2]).splitlines()
    assert shown[1] == "|" + " --- |" * 9
    gain = comparison.differences(results[:4], ARMS)["b"]
    low, high = gain.interval
    assert shown[2:] == [
        "| base | ? | 0.500 |  |  | 100 | 1,000 | 2 of 3 |  |",
        f"| b | b? | 0.750 | {gain.elo:+.0f}, {low:+.0f} to {high:+.0f} | base | 60 | 600 | 2 of 3"
        f" | {gain.verdict} |",
        "| c | c? |  |  | base |  |  | 0 of 3 |  |",
    ]
