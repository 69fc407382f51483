"""Comparisons of arms, by numbers worked by hand."""

import pytest

from azo.measure import comparison, elo


def result(arm, seed, score, games=100, evaluations=1000):
    return {
        "arm": arm,
        "seed": seed,
        "score": score,
        "num_games": 100,
        "games": games,
        "evaluations": evaluations,
    }


RESULTS = [
    result("base", 0, 0.50),
    result("base", 1, 0.60),
    result("base", 2, 0.40),
    result("better", 0, 0.60, games=50, evaluations=1200),
    result("better", 1, 0.72, games=70, evaluations=1200),
    result("better", 2, 0.48, games=60, evaluations=1500),
    result("worse", 0, 0.40),
    result("worse", 1, 0.48),
    result("worse", 2, 0.32),
    result("mixed", 0, 0.70),
    result("mixed", 1, 0.50),
    result("once", 2, 0.45),
    result("elsewhere", 7, 0.90),
]


def test_a_difference_is_taken_seed_by_seed_with_students_t():
    # Gains 0.10, 0.12, 0.08: mean 0.10, deviation 0.02; t of 2 degrees of freedom is 4.302653.
    gain = comparison.difference(RESULTS, "better", "base")
    assert gain.mean == pytest.approx(0.10)
    error = 4.302653 * 0.02 / 3**0.5
    assert gain.interval == pytest.approx((0.10 - error, 0.10 + error), abs=1e-6)
    assert gain.verdict == "helps"
    # Means 0.6 and 0.5: 400 log10(0.6 / 0.4).
    assert gain.elo == pytest.approx(70.436504, abs=1e-4)


def test_the_verdict_is_whether_the_interval_leaves_out_no_difference():
    assert comparison.difference(RESULTS, "worse", "base").verdict == "hurts"
    mixed = comparison.difference(RESULTS, "mixed", "base")  # gains 0.2 and -0.1
    assert mixed.mean == pytest.approx(0.05)
    assert mixed.interval[0] < 0 < mixed.interval[1]
    assert mixed.verdict == "not significant"


def test_one_seed_gives_a_difference_without_an_interval():
    gain = comparison.difference(RESULTS, "once", "base")
    assert (gain.mean, gain.interval) == (pytest.approx(0.05), None)
    assert gain.verdict == "not significant"


def test_only_seeds_that_both_arms_have_are_compared():
    gain = comparison.difference(RESULTS, "once", "mixed")
    assert gain is None
    assert comparison.difference(RESULTS, "elsewhere", "base") is None
    # Over seeds 0 and 1 alone, where the base has 0.55 on average, not 0.5.
    mixed = comparison.difference(RESULTS, "mixed", "base")
    assert mixed.elo == pytest.approx(elo.from_score(0.6) - elo.from_score(0.55))


def test_elo_of_all_points_is_that_of_half_a_point_less():
    all_points = [result("all", 0, 1.0), result("half_less", 0, 0.995), result("base", 0, 0.5)]
    of_all = comparison.difference(all_points, "all", "base")
    assert of_all.elo == pytest.approx(comparison.difference(all_points, "half_less", "base").elo)
    back = comparison.difference(all_points, "base", "all")
    assert back.elo == pytest.approx(-of_all.elo)


def test_the_latest_result_of_a_seed_counts():
    again = [*RESULTS, result("once", 2, 0.55)]
    assert comparison.difference(again, "once", "base").mean == pytest.approx(0.15)


def test_the_table_shows_verdicts_and_finished_seeds():
    rows = [
        ("base", "What else?", None),
        ("better", "Does it help?", "base"),
        ("once", "And this?", "base"),
        ("elsewhere", "Or that?", "base"),
    ]
    shown = comparison.table(RESULTS, rows, [0, 1, 2]).splitlines()
    assert shown[1] == "|" + " --- |" * 9
    assert shown[2:] == [
        "| base | What else? | 0.500 | 0.100 |  |  | 100 | 1,000 |  |",
        "| better | Does it help? | 0.600 | 0.120 | +0.100, +0.050 to +0.150 against base | +70"
        " | 60 | 1,300 | helps |",
        "| once | And this? | 0.450 |  | +0.050 against base | +36 | 100 | 1,000"
        " | not significant, 1 of 3 seeds |",
        "| elsewhere | Or that? |  |  |  |  |  |  | 0 of 3 seeds |",
    ]
