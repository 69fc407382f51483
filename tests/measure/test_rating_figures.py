"""Figures of rated generations."""

import numpy as np
from support import drawn_panels
from support.fake_run import rated

from azo.measure import elo, generation_elo, ladder
from azo.measure.report import rating_figures, run_log


def iteration(number):
    return {"event": "iteration", "iteration": number}


def run_of(*events):
    return run_log.from_phases([("run", [iteration(1), *events])])


def sheet(run, name):
    """Returns a figure by its name."""
    (chosen,) = [one for one in rating_figures.sheets(run) if one.name == name]
    return chosen


def test_the_elo_of_generations_is_that_of_all_matches_together():
    run = run_of(
        *rated(10, ("random", 3), ("greedy", 2)),
        *rated(20, ("random", 4), ("greedy", 3), (10, 3)),
    )
    pairings = [
        elo.Pairing("b", "random", 8, 0, 0, (0, 0, 0, 0, 4)),
        elo.Pairing("a", "random", 6, 0, 2, (1, 0, 0, 0, 3)),
        elo.Pairing("a", "greedy", 4, 0, 4, (2, 0, 0, 0, 2)),
        elo.Pairing("b", "greedy", 6, 0, 2, (1, 0, 0, 0, 3)),
        elo.Pairing("a", "b", 2, 0, 6, (3, 0, 0, 0, 1)),
    ]
    expected, apart = (
        {one.name: one for one in elo.rate(pairings, anchor=anchor).standings}
        for anchor in ("random", "greedy")
    )
    greedy = expected["greedy"]
    figure = sheet(run, "elo")
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
    assert figure.caption.endswith(
        f"are of the difference to greedy, which is {greedy.rating:.0f}"
        f" ({greedy.interval[0]:.0f} to {greedy.interval[1]:.0f}) above random."
    )


def test_players_of_the_ladder_keep_their_elo_and_the_hours_are_drawn():
    first = rated(10, ("patterns:2", 3), ("patterns:4", 2))
    second = rated(20, ("patterns:2", 4), ("patterns:4", 3), (10, 3))
    for events, seconds in ((first, 3700.0), (second, 7300.0)):
        for event in events:
            event["time/processor_seconds"] = seconds
        events[-1]["rating/anchor"] = "patterns:2"
    run = run_of(*first, *second)
    figure = sheet(run, "elo")
    by_iteration, by_hours = (drawn_panels.curves(axes) for axes in figure.panels)
    assert by_iteration["generation"][0] == [10, 20]
    np.testing.assert_allclose(by_hours["generation"][0], [3700 / 3600, 7300 / 3600])
    assert by_hours["generation"][1] == by_iteration["generation"][1]
    for name in ("patterns:2", "patterns:4"):
        np.testing.assert_allclose(by_hours[name][1], [ladder.RATINGS[name]] * 2)
    games = [generation_elo.pairing(event) for event in run.of_kind("rating_match")]
    expected = {one.name: one for one in elo.rate(games, known=ladder.RATINGS).standings}
    low, high = drawn_panels.band(figure.panels[1])
    for place, number in enumerate((10, 20)):
        one = expected[f"iteration {number}"]
        drawn = (by_hours["generation"][1][place], low[place], high[place])
        np.testing.assert_allclose(drawn, [one.rating, *one.interval], atol=0.1)


def test_with_one_fixed_player_intervals_are_of_the_difference_to_it():
    caption = sheet(run_of(*rated(10, ("random", 3))), "elo").caption
    assert caption.endswith("The 95 % intervals are of the difference to random.")


def test_generations_stand_in_a_cross_table_and_its_cycles_are_named():
    ahead = [*rated(10, ("random", 4)), *rated(20, ("random", 4), (10, 4))]
    figure = sheet(run_of(*ahead, *rated(30, ("random", 4), (10, 4), (20, 3))), "generations")
    (table,) = figure.panels
    assert drawn_panels.texts(table) == {
        (0, 1): "0/0/8",
        (0, 2): "0/0/8",
        (1, 0): "8/0/0",
        (1, 2): "2/0/6",
        (2, 0): "8/0/0",
        (2, 1): "6/0/2",
    }
    nan = np.nan
    expected = [[nan, -1, -1], [1, nan, -0.5], [1, 0.5, nan]]
    np.testing.assert_array_equal(drawn_panels.fields(table), expected)
    assert drawn_panels.ticks(table) == [["10", "20", "30"]] * 2
    assert "There are no statistically significant cycles" in figure.caption
    run = run_of(*ahead, *rated(30, ("random", 4), (10, 0), (20, 4)))
    assert sheet(run, "generations").caption.endswith(
        "A significant cycle, with the score of each against the next:"
        " iteration 10 1.00 > iteration 30 1.00 > iteration 20 1.00 > iteration 10."
    )


def test_generations_of_phases_keep_apart():
    phase = [iteration(1), iteration(20), *rated(10, ("random", 2)), *rated(20, (10, 3))]
    run = run_log.from_phases([("1-a", phase), ("2-b", phase)])
    (axes,) = sheet(run, "elo").panels
    assert drawn_panels.curves(axes)["generation"][0] == [10, 20, 30, 40]
    (table,) = sheet(run, "generations").panels
    assert drawn_panels.texts(table) == {
        (0, 1): "2/0/6",
        (1, 0): "6/0/2",
        (2, 3): "2/0/6",
        (3, 2): "6/0/2",
    }
