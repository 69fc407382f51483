"""The figure of rated generations."""

import numpy as np
from support import drawn_panels
from support.drawn_panels import iteration, run_of, sheet
from support.fake_run import rated

from azo.lab import elo, ladder
from azo.lab.report import figures, run_log


def test_the_elo_of_generations_is_that_of_all_matches_together():
    run = run_of(
        iteration(1),
        *rated(10, ("random", 3), ("greedy", 2)),
        *rated(20, ("random", 4), ("greedy", 3)),
    )
    pairings = [
        elo.Pairing("b", "random", elo.MatchResult(8, 0, 0, (0, 0, 0, 0, 4))),
        elo.Pairing("a", "random", elo.MatchResult(6, 0, 2, (1, 0, 0, 0, 3))),
        elo.Pairing("a", "greedy", elo.MatchResult(4, 0, 4, (2, 0, 0, 0, 2))),
        elo.Pairing("b", "greedy", elo.MatchResult(6, 0, 2, (1, 0, 0, 0, 3))),
    ]
    expected, apart = (ladder.rate(pairings, anchor) for anchor in ("random", "greedy"))
    greedy = expected["greedy"]
    figure = sheet(figures, run, "elo")
    (axes,) = figure.panels
    assert axes.layout.yaxis.title.text == "Elo (random 0)"
    curves = drawn_panels.curves(axes)
    assert list(curves) == ["generation", "greedy", "random"]
    assert curves["generation"][0] == [10, 20]
    low, high = drawn_panels.band(axes)
    for values, ratings in (
        (curves["generation"][1], [expected[name].rating for name in "ab"]),
        (low, [greedy.rating + apart[name].interval[0] for name in "ab"]),
        (high, [greedy.rating + apart[name].interval[1] for name in "ab"]),
        (curves["greedy"][1], [greedy.rating] * 2),
        (curves["random"][1], [0, 0]),
    ):
        np.testing.assert_allclose(values, ratings, atol=0.1)
    assert figure.caption.endswith("The 95 % intervals are of the difference to greedy.")


def test_players_of_the_ladder_keep_their_elo_and_the_hours_are_drawn():
    first = rated(10, ("patterns:2", 3), ("patterns:4", 2))
    second = rated(20, ("patterns:2", 4), ("patterns:4", 3))
    for events, seconds in ((first, 3700.0), (second, 7300.0)):
        for event in events:
            event["time/processor_seconds"] = seconds
        events[-1]["rating/anchor"] = "patterns:2"
    run = run_of(iteration(1), *first, *second)
    figure = sheet(figures, run, "elo")
    by_iteration, by_hours = (drawn_panels.curves(axes) for axes in figure.panels)
    assert by_iteration["generation"][0] == [10, 20]
    np.testing.assert_allclose(by_hours["generation"][0], [3700 / 3600, 7300 / 3600])
    assert by_hours["generation"][1] == by_iteration["generation"][1]
    for name in ("patterns:2", "patterns:4"):
        np.testing.assert_allclose(by_hours[name][1], [ladder.RATINGS[name]] * 2)


def test_generations_of_phases_keep_apart():
    phase = [iteration(1), iteration(20), *rated(10, ("random", 2)), *rated(20, ("random", 3))]
    run = run_log.from_phases([("1-a", phase), ("2-b", phase)])
    (axes,) = sheet(figures, run, "elo").panels
    assert drawn_panels.curves(axes)["generation"][0] == [10, 20, 30, 40]
