"""Figures of self-play."""

import numpy as np
from support import drawn_panels

from azo.measure.report import run_log, selfplay_figures


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def run_of(*events):
    return run_log.from_phases([("run", events)])


def panel(run, name, title):
    """Returns a panel of a figure by their names."""
    (sheet,) = [one for one in selfplay_figures.sheets(run, (6, 6)) if one.name == name]
    return drawn_panels.panel(sheet, title)


def test_results_are_stacked_by_generation():
    results = [(0, 1, 1, 2), (0, 2, 0, 2), (1, 3, 1, 0)]
    run = run_of(
        *(
            iteration(
                number,
                generation=generation,
                **{
                    "selfplay/first_player_wins": wins,
                    "selfplay/draws": draws,
                    "selfplay/first_player_losses": losses,
                },
            )
            for number, (generation, wins, draws, losses) in enumerate(results, start=1)
        )
    )
    axes = panel(run, "results", "Results by generation")
    _, _, heights = drawn_panels.bars(axes)
    # Three wins, a draw and four losses of eight; then three wins and a draw of four.
    expected = {"first wins": [37.5, 75], "draw": [12.5, 25], "second wins": [50, 0]}
    assert heights == expected
    assert drawn_panels.ticks(axes)[0] == ["0", "1"]


def test_games_of_spans_stand_over_their_iterations():
    run = run_of(*(iteration(number, **{"selfplay/games": 4 * number}) for number in range(1, 24)))
    axes = panel(run, "strength", "Games per span of iterations")
    centres, widths, heights = drawn_panels.bars(axes)
    assert heights == {"games": [12, 12, 12, 8, 8, 8, 8, 8, 8, 8]}
    assert centres[:4] == [2, 5, 8, 10.5]
    assert widths[:4] == [3, 3, 3, 2]


def test_evaluations_carry_their_interval_and_the_games_played_by_then():
    match = {"event": "evaluation", "iteration": 2, "evaluation/opponent": "rollouts:100"}
    score = {"evaluation/score": 0.6, "evaluation/score_low": 0.5, "evaluation/score_high": 0.7}
    run = run_of(
        iteration(1, **{"selfplay/games": 7}),
        iteration(2, **{"selfplay/games": 15}),
        match | score,
        iteration(3, **{"selfplay/games": 30}),
    )
    (sheet, *_) = selfplay_figures.sheets(run, (6, 6))
    by_iteration, by_games = sheet.panels[1:]
    assert by_games.get_title() == "Score against rollouts:100"
    assert by_games.get_xlabel() == "games"
    assert drawn_panels.curves(by_iteration) == {"score": ([2], [0.6])}
    assert drawn_panels.curves(by_games) == {"score": ([15], [0.6])}
    assert drawn_panels.band(by_games) == [[0.5], [0.7]]
    assert sheet.missing == ["evaluation/score, selfplay/evaluations", "gate/score"]


def test_gates_are_told_apart_by_their_verdict():
    gates = [
        {"event": "gate", "iteration": n, "gate/score": score, "gate/is_promoted": score > 0.55}
        for n, score in ((1, 0.5), (2, 0.6), (3, 0.4))
    ]
    run = run_of(iteration(1), *gates)
    axes = panel(run, "strength", "Gates: score against the actor network")
    assert drawn_panels.curves(axes) == {
        "promoted": ([2], [0.6]),
        "not promoted": ([1, 3], [0.5, 0.4]),
    }


def test_final_margins_are_added_up_by_winner():
    one = [[0, 0, 0, 1, 2], [0, 0, 3, 0, 0], [4, 5, 0, 0, 0]]  # differences -2 to 2
    two = [[0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    run = run_of(
        *(iteration(n + 1, **{"selfplay/final_margins": x}) for n, x in enumerate((one, two)))
    )
    centres, _, heights = drawn_panels.bars(panel(run, "margins", "Final margins, whole run"))
    assert centres == [-2, -1, 0, 1, 2]
    assert list(heights.values()) == [[0, 0, 0, 1, 3], [0, 0, 3, 0, 0], [5, 5, 0, 0, 0]]
    _, _, heights = drawn_panels.bars(panel(run, "margins", "Final margins, iterations 2"))
    assert list(heights.values()) == two


def test_crucial_moves_lie_on_their_squares_and_plies():
    action = np.zeros(37)
    action[[0, 7, 36]] = 1, 2, 1  # a1, b2 and the pass
    run = run_of(
        iteration(
            1,
            **{
                "selfplay/crucial_by_action": action.tolist(),
                "selfplay/crucial_by_ply": [0, 3, 0, 1, 0, 0],
            },
        )
    )
    board = panel(run, "crucial", "Crucial moves, iterations 1")
    expected = np.zeros((6, 6))
    expected[0, 0], expected[1, 1] = 25, 50
    np.testing.assert_array_equal(drawn_panels.fields(board), expected)
    assert board.get_xlabel() == "column (25.0 % passes)"
    columns, rows = drawn_panels.ticks(board)
    assert (columns[1], rows[1]) == ("b", "2")
    by_ply = panel(run, "crucial", "Crucial moves by ply")
    np.testing.assert_array_equal(drawn_panels.fields(by_ply), [[0, 75, 0, 25]])


def test_correlations_by_ply_leave_blank_what_no_game_reached():
    lists = [[0.0, 0.5, None, None], [0.25, 1.0, 0.5, None]]
    field = "selfplay/value_correlation_by_ply"
    run = run_of(
        *(iteration(n + 1, generation=0, **{field: x}) for n, x in enumerate(lists)),
        iteration(3, generation=1),
    )
    found = panel(run, "values", "Correlation of value and result by ply")
    np.testing.assert_array_equal(drawn_panels.fields(found), [[0.125, 0.75, 0.5], [np.nan] * 3])
    assert found.images[0].get_clim() == (-1, 1)


def test_the_largest_drop_has_its_deviation_about_it():
    fields = {"selfplay/largest_drop_mean": 0.5, "selfplay/largest_drop_std": 0.2}
    found = panel(run_of(iteration(1, **fields)), "drops", "Largest fall of the value in a game")
    assert drawn_panels.band(found) == [[0.3], [0.7]]
