import base64
import html.parser
import json
import pathlib

import numpy as np
import pytest
import test_strength
from support import fake_run

from azo.cli import report
from azo.measure import diagnostics
from azo.measure.report import games, learning, run_log, strength
from azo.run import run_report

FLUCTUATION = diagnostics.Fluctuation((1, 10, 100), (0.5, 0.25, 0.0), (0.4, 0.1, 0.0), 64)
PNG = b"\x89PNG\r\n\x1a\n"


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


def record_of(*events):
    return run_log.make([("run", events)])


def picture(record, name, fluctuation=None):
    found = games.pictures(record, (6, 6)) + learning.pictures(record, fluctuation)
    (chosen,) = [one for one in found if one.name == name]
    return chosen


def panel(record, name, title):
    (chosen,) = [one for one in picture(record, name).panels if one.title == title]
    return chosen


def strength_over(record, label):
    return next(one for one in picture(record, "strength").panels if one.x_label == label)


class Page(html.parser.HTMLParser):
    """What a reader sees of a page, by section."""

    def __init__(self, path):
        super().__init__()
        self.images, self.text, self.lacking, self.notes = {}, "", {}, []
        self._section, self._class = "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self._class = attrs.get("class", "")
        if tag == "section":
            self._section = attrs["id"]
        for source in (attrs.get("src"), attrs.get("href")):
            assert source is None or source.startswith(("#", "data:image/png;base64,"))
        if tag == "img":
            data = attrs["src"].removeprefix("data:image/png;base64,")
            self.images[self._section] = base64.b64decode(data)
        assert tag not in ("link", "script")

    def handle_data(self, data):
        self.text += data
        if self._class == "lacking" and data.strip():
            self.lacking[self._section] = data.strip()
        if self._class == "note" and data.strip():
            self.notes.append(data)
        self._class = ""


def written(folder, lines, **settings):
    fake_run.write(folder, lines)
    path = run_report.write(folder, **settings)
    return Page(path)


def test_results_are_stacked_by_generation():
    results = [(0, 1, 1, 2), (0, 2, 0, 2), (1, 3, 1, 0)]
    record = record_of(
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
    bars = panel(record, "results", "Results by generation")
    # Three wins, a draw and four losses of eight; then three wins and a draw of four.
    np.testing.assert_allclose(bars.heights, [[37.5, 75], [12.5, 25], [50, 0]])
    assert bars.ticks == ["0", "1"]


def test_a_run_without_generations_is_cut_into_ten_parts():
    record = record_of(
        *(iteration(number, **{"selfplay/games": 4 * number}) for number in range(1, 24))
    )
    spans = ["1–3", "4–6", "7–9", "10–11", "12–13", "14–15", "16–17", "18–19", "20–21", "22–23"]
    assert [cycle.label for cycle in record.cycles] == spans
    bars = panel(record, "strength", "Games per part of the run")
    np.testing.assert_array_equal(bars.heights, [[12, 12, 12, 8, 8, 8, 8, 8, 8, 8]])
    np.testing.assert_array_equal(bars.x[:4], [2, 5, 8, 10.5])
    np.testing.assert_array_equal(bars.width[:4], [3, 3, 3, 2])


def test_generations_too_many_to_tell_apart_are_cut_into_parts():
    def cycle_name(num_generations):
        return record_of(
            *(iteration(n + 1, generation=n) for n in range(num_generations))
        ).cycle_name

    assert cycle_name(40) == "generation"
    assert cycle_name(41) == "part of the run"


def test_phases_count_on_from_one_another():
    def phase(number_of_iterations):
        totals = {"selfplay/games": 10, "selfplay/evaluations": 100, "time/training_seconds": 2.0}
        events = [
            iteration(number, **{name: total * number for name, total in totals.items()})
            for number in range(1, number_of_iterations + 1)
        ]
        match = {"evaluation/score": 0.5 + 0.1 * number_of_iterations}
        return [*events, {"event": "evaluation", "iteration": number_of_iterations} | match]

    record = run_log.make([("1-warm-up", phase(2)), ("2-small", phase(3))])
    assert record.phases == [("1-warm-up", 1), ("2-small", 3)]
    assert [event["iteration"] for event in record.iterations] == [1, 2, 3, 4, 5]
    assert record.iterations[-1]["time/training_seconds"] == 10.0
    by_games, by_evaluations = (
        strength_over(record, label).series[0] for label in ("games", "network evaluations")
    )
    np.testing.assert_array_equal(by_games.x, [20, 50])
    np.testing.assert_array_equal(by_evaluations.x, [200, 500])
    np.testing.assert_allclose(by_games.y, [0.7, 0.8])
    # No cycle reaches over two phases.
    assert [cycle.label for cycle in record.cycles] == ["1", "2", "3", "4", "5"]
    long = run_log.make([("1-a", phase(4)), ("2-b", phase(36))])
    assert [cycle.label for cycle in long.cycles][:2] == ["1–4", "5–8"]


def test_generations_of_phases_stay_apart():
    lines = [iteration(number, generation=number - 1) for number in (1, 2)]
    record = run_log.make([("1-a", lines), ("2-b", lines)])
    assert [(cycle.label, cycle.first) for cycle in record.cycles] == [
        ("0", 1),
        ("1", 2),
        ("2", 3),
        ("3", 4),
    ]


def test_evaluations_carry_their_interval_and_the_games_played_by_then():
    match = {"event": "evaluation", "iteration": 2, "evaluation/opponent": "rollouts:100"}
    score = {"evaluation/score": 0.6, "evaluation/score_low": 0.5, "evaluation/score_high": 0.7}
    record = record_of(
        iteration(1, **{"selfplay/games": 7}),
        iteration(2, **{"selfplay/games": 15}),
        match | score,
        iteration(3, **{"selfplay/games": 30}),
    )
    found = strength_over(record, "games")
    assert found.title == "Score against rollouts:100"
    (series,) = found.series
    assert (series.x[0], series.y[0], series.low[0], series.high[0]) == (15, 0.6, 0.5, 0.7)


def test_gates_are_told_apart_by_their_verdict():
    gates = [
        {"event": "gate", "iteration": n, "gate/score": score, "gate/is_promoted": score > 0.55}
        for n, score in ((1, 0.5), (2, 0.6), (3, 0.4))
    ]
    record = record_of(iteration(1), *gates)
    found = panel(record, "strength", "Gates: score against the best network so far")
    points = {series.label: (series.x.tolist(), series.y.tolist()) for series in found.series}
    assert points == {"promoted": ([2], [0.6]), "not promoted": ([1, 3], [0.5, 0.4])}


def test_losses_are_means_of_a_cycle_without_what_is_unknown():
    values = [None, 2.0, 1.0, 0.5]
    record = record_of(
        *(
            iteration(n, generation=(n - 1) // 2, **{"learner/policy_loss": value})
            for n, value in enumerate(values, start=1)
        )
    )
    found = panel(record, "losses", "Policy loss")
    (series,) = found.series
    assert series.label == "training"
    np.testing.assert_array_equal(series.x, [1.5, 3.5])
    np.testing.assert_array_equal(series.y, [2.0, 0.75])
    assert picture(record, "losses").missing == ["learner/value_loss"]


def test_final_margins_are_added_up_by_winner():
    one = [[0, 0, 0, 1, 2], [0, 0, 3, 0, 0], [4, 5, 0, 0, 0]]  # differences -2 to 2
    two = [[0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    record = record_of(
        *(iteration(n + 1, **{"selfplay/final_margins": x}) for n, x in enumerate((one, two)))
    )
    whole = panel(record, "margins", "Final positions, whole run")
    np.testing.assert_array_equal(whole.x, [-2, -1, 0, 1, 2])
    np.testing.assert_array_equal(
        whole.heights, [[0, 0, 0, 1, 3], [0, 0, 3, 0, 0], [5, 5, 0, 0, 0]]
    )
    last = panel(record, "margins", "Final positions, iterations 2")
    np.testing.assert_array_equal(last.heights, two)


def test_crucial_moves_lie_on_their_squares_and_plies():
    action = np.zeros(37)
    action[[0, 7, 36]] = 1, 2, 1  # a1, b2 and the pass
    record = record_of(
        iteration(
            1,
            **{
                "selfplay/crucial_by_action": action.tolist(),
                "selfplay/crucial_by_ply": [0, 3, 0, 1, 0, 0],
            },
        )
    )
    board = panel(record, "crucial", "Crucial moves, iterations 1")
    expected = np.zeros((6, 6))
    expected[0, 0], expected[1, 1] = 25, 50
    np.testing.assert_array_equal(board.values, expected)
    assert board.x_label == "column (25.0 % passes)"
    assert (board.row_ticks[1], board.column_ticks[1]) == ("2", "b")
    by_ply = panel(record, "crucial", "Crucial moves by ply")
    np.testing.assert_array_equal(by_ply.values, [[0, 75, 0, 25]])


def test_correlations_by_ply_leave_blank_what_no_game_reached():
    lists = [[0.0, 0.5, None, None], [0.25, 1.0, 0.5, None]]
    field = "selfplay/value_correlation_by_ply"
    record = record_of(
        *(iteration(n + 1, generation=0, **{field: x}) for n, x in enumerate(lists)),
        iteration(3, generation=1),
    )
    found = panel(record, "values", "Correlation of value and result by ply")
    np.testing.assert_array_equal(found.values, [[0.125, 0.75, 0.5], [np.nan] * 3])
    assert found.limits == (-1, 1)


def test_the_largest_drop_has_its_deviation_about_it():
    fields = {"selfplay/largest_drop_mean": 0.5, "selfplay/largest_drop_std": 0.2}
    found = panel(record_of(iteration(1, **fields)), "drops", "Largest fall of the value in a game")
    assert (found.series[0].low[0], found.series[0].high[0]) == (0.3, 0.7)


def test_the_search_is_compared_with_its_largest():
    record = record_of(iteration(1))
    value, move = picture(record, "fluctuation", FLUCTUATION).panels
    assert value.title == "Value against that of 100 simulations"
    np.testing.assert_array_equal(value.series[0].x, [1, 10])
    np.testing.assert_array_equal(value.series[0].y, [0.5, 0.25])
    np.testing.assert_array_equal(move.series[0].y, [0.4, 0.1])


def test_every_picture_of_a_full_run_has_all_its_panels(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "_fluctuation", lambda *_: FLUCTUATION)
    rated = test_strength.rated
    kept = [*rated(8, ("random", 3)), *rated(16, ("random", 4), (8, 3))]
    page = written(tmp_path / "run", fake_run.events(24, num_generations=4) + kept)
    assert page.lacking == {}
    assert page.notes == []
    names = {one.name for one in games.pictures(record_of(iteration(1)), (6, 6))}
    names |= {one.name for one in strength.pictures(record_of(iteration(1)))}
    names |= {one.name for one in learning.pictures(record_of(iteration(1)), None)}
    assert page.images.keys() == names
    for name, png in page.images.items():
        assert png.startswith(PNG)
        assert (tmp_path / "run" / "report" / f"{name}.png").read_bytes() == png
    assert "960" in page.text  # 24 iterations of 40 games
    assert '{"game": {"name": "othello", "size": 6}}' in page.text


def test_a_run_says_what_it_has_not_recorded(tmp_path):
    fields = {"selfplay/games": 3, "learner/policy_loss": 1.0, "learner/value_loss": None}
    page = written(tmp_path / "old", [iteration(1, **fields)])
    assert page.images.keys() == {"strength", "losses"}
    assert page.lacking["losses"] == "Not recorded in this run: learner/value_loss."
    assert page.lacking["drops"] == "Not recorded in this run: selfplay/largest_drop_mean."
    assert page.notes == [
        f"No searches with the run's network: {tmp_path}/old: neither a run nor an exported"
        " network: no checkpoints/."
    ]
    assert not (tmp_path / "old" / "report" / "drops.png").exists()


def test_a_second_report_replaces_the_first(tmp_path):
    folder = tmp_path / "run"
    written(folder, [iteration(1, **{"learner/learning_rate": 0.1})], num_positions=0)
    assert (folder / "report" / "learning.png").exists()
    (folder / "metrics.jsonl").write_text(json.dumps(iteration(1)) + "\n")
    page = Page(run_report.write(folder, num_positions=0))
    assert page.images == {}
    assert not (folder / "report" / "learning.png").exists()


def test_the_phases_of_a_curriculum_share_a_page_in_the_order_of_their_numbers(tmp_path):
    folder = tmp_path / "curriculum"
    for name in ("10-big", "2-small"):
        lines = [iteration(n, **{"selfplay/games": 1000 * n}) for n in (1, 2)]
        fake_run.write(folder / name, lines)
    page = Page(run_report.write(folder, num_positions=0))
    assert "2-small from 1, 10-big from 3" in page.text
    assert "4,000" in page.text


@pytest.mark.parametrize("line", ["oops", "[]", '{"event": "gate"}', '{"iteration": 2}'])
def test_a_broken_line_is_named(tmp_path, line):
    fake_run.write(tmp_path / "run", [iteration(1)])
    path = tmp_path / "run" / "metrics.jsonl"
    path.write_text(path.read_text() + line + "\n")
    assert message(tmp_path / "run") == f"{path}, line 2: not an event of a run"


def message(folder: pathlib.Path) -> str:
    with pytest.raises(ValueError) as error:
        run_report.write(folder, num_positions=0)
    return str(error.value)


def test_what_is_no_run_is_refused(tmp_path):
    missing = tmp_path / "missing"
    assert message(missing) == f"{missing}: no such folder; give a run's, such as runs/quickstart"
    assert message(tmp_path) == (
        f"{tmp_path}: no run: neither metrics.jsonl nor phases such as 1-NAME/metrics.jsonl"
    )
    fake_run.write(tmp_path / "new", [{"event": "compilation", "iteration": 0}])
    assert message(tmp_path / "new") == f"{tmp_path}/new: no iteration is recorded yet"
    fake_run.write(tmp_path / "torn", [iteration(1)])
    (tmp_path / "torn" / "settings.json").write_text("{}")
    assert message(tmp_path / "torn") == f"{tmp_path}/torn/settings.json: not the settings of a run"
    (tmp_path / "torn" / "settings.json").unlink()
    assert message(tmp_path / "torn") == (
        f"{tmp_path}/torn/settings.json: cannot read the run's settings (No such file or directory)"
    )


def test_the_page_is_named_on_the_screen(tmp_path, capsys):
    fake_run.write(tmp_path / "run", [iteration(1)])
    assert report.main([str(tmp_path / "run"), "--num-positions", "0"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/run/report/index.html\n"
