"""Pictures of the generations that a run kept."""

import numpy as np

from azo.measure import elo
from azo.measure.report import run_log, strength


def iteration(number):
    return {"event": "iteration", "iteration": number}


def record_of(*events):
    return run_log.make([("run", [iteration(1), *events])])


def picture(record, name):
    (chosen,) = [one for one in strength.pictures(record) if one.name == name]
    return chosen


def panel(record, name):
    (chosen,) = picture(record, name).panels
    return chosen


def rated(number, *matches):
    """Events of a kept generation: matches of 8 games by opponent and pairs won, and its Elo."""
    events = []
    for opponent, won in matches:
        kind = "earlier" if isinstance(opponent, int) else "opponent"
        fields = {kind: opponent, "wins": 2 * won, "draws": 0, "losses": 8 - 2 * won}
        fields["pair_scores"] = [4 - won, 0, 0, 0, won]
        named = {f"rating_match/{name}": value for name, value in fields.items()}
        events.append({"event": "rating_match", "iteration": number} | named)
    return [*events, {"event": "rating", "iteration": number, "rating/anchor": "random"}]


def test_the_elo_of_generations_is_that_of_all_matches_together():
    record = record_of(
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
    found, greedy = panel(record, "elo"), expected["greedy"]
    assert found.y_label == "Elo (random 0)"
    generation, *levels = found.series
    np.testing.assert_array_equal(generation.x, [10, 20])
    for values, told in (
        (generation.y, [expected[name].rating for name in "ab"]),
        (generation.low, [greedy.rating + apart[name].interval[0] for name in "ab"]),
        (generation.high, [greedy.rating + apart[name].interval[1] for name in "ab"]),
        (levels[0].y, [greedy.rating] * 2),
    ):
        np.testing.assert_allclose(values, told, atol=0.1)
    assert [level.label for level in levels] == ["greedy", "random"]
    assert levels[1].y.tolist() == [0, 0]
    assert picture(record, "elo").caption.endswith(
        f"are of the difference to greedy, which is {greedy.rating:.0f}"
        f" ({greedy.interval[0]:.0f} to {greedy.interval[1]:.0f}) above random."
    )


def test_with_one_fixed_player_intervals_are_of_the_difference_to_it():
    caption = picture(record_of(*rated(10, ("random", 3))), "elo").caption
    assert caption.endswith("The 95 % intervals are of the difference to random.")


def test_generations_stand_in_a_table_and_a_cycle_among_them_is_told():
    ahead = [*rated(10, ("random", 4)), *rated(20, ("random", 4), (10, 4))]
    record = record_of(*ahead, *rated(30, ("random", 4), (10, 4), (20, 3)))
    table = panel(record, "generations")
    assert table.texts == [["", "0/0/8", "0/0/8"], ["8/0/0", "", "2/0/6"], ["8/0/0", "6/0/2", ""]]
    nan = np.nan
    np.testing.assert_array_equal(table.values, [[nan, -1, -1], [1, nan, -0.5], [1, 0.5, nan]])
    assert table.row_ticks == table.column_ticks == ["10", "20", "30"]
    assert "No cycle was found" in picture(record, "generations").caption
    record = record_of(*ahead, *rated(30, ("random", 4), (10, 0), (20, 4)))
    assert picture(record, "generations").caption.endswith(
        "A cycle was found, each beating the next with that share of the points:"
        " iteration 10 1.00 > iteration 30 1.00 > iteration 20 1.00 > iteration 10."
    )


def test_generations_of_phases_keep_apart():
    phase = [iteration(1), iteration(20), *rated(10, ("random", 2)), *rated(20, (10, 3))]
    record = run_log.make([("1-a", phase), ("2-b", phase)])
    assert panel(record, "elo").series[0].x.tolist() == [10, 20, 30, 40]
    table = panel(record, "generations")
    assert table.texts == [
        ["", "2/0/6", "", ""],
        ["6/0/2", "", "", ""],
        ["", "", "", "2/0/6"],
        ["", "", "6/0/2", ""],
    ]
