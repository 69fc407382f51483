import html.parser
import pathlib

import pytest
from support import fake_run

from azo.cli import report
from azo.measure.report import figures, rating_figures, run_log
from azo.run import run_report


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


class Page(html.parser.HTMLParser):
    """What a reader sees of a page: its text, and the plots of each section."""

    def __init__(self, path):
        super().__init__()
        self.plots, self.text = {}, ""
        self._section, self._tag = "", ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs, self._tag = dict(attrs), tag
        if tag == "section":
            self._section = attrs["id"]
            self.plots[self._section] = []
        if "plotly-graph-div" in attrs.get("class", ""):
            self.plots[self._section].append(attrs["id"])
        for source in (attrs.get("src"), attrs.get("href")):
            assert source is None or source.startswith("#")
        assert tag != "link"

    def handle_data(self, data):
        if self._tag != "script":
            self.text += data


def written(folder, lines):
    fake_run.write(folder, lines)
    return Page(run_report.write(folder))


def test_every_section_of_a_full_run_has_its_plots(tmp_path):
    rated = fake_run.rated
    kept = [*rated(8, ("random", 3)), *rated(16, ("random", 4), (8, 3))]
    seen = written(tmp_path / "run", fake_run.events(24, num_generations=4) + kept)
    run = run_log.from_phases([("run", [iteration(1)])])
    names = {sheet.name for sheet in (*figures.sheets(run), *rating_figures.sheets(run))}
    assert seen.plots.keys() == names
    assert all(seen.plots.values())
    assert "960" in seen.text  # 24 iterations of 40 games
    assert '{"game": {"name": "othello", "size": 6}}' in seen.text


def test_a_section_without_a_plot_is_left_out(tmp_path):
    fields = {"selfplay/games": 3, "learner/policy_loss": 1.0, "learner/value_loss": None}
    page = written(tmp_path / "old", [iteration(1, **fields)])
    assert page.plots == {"strength": ["strength-0"], "losses": ["losses-0"]}


def test_the_phases_of_a_curriculum_share_a_page_in_the_order_of_their_numbers(tmp_path):
    folder = tmp_path / "curriculum"
    for name in ("10-big", "2-small"):
        lines = [iteration(n, **{"selfplay/games": 1000 * n}) for n in (1, 2)]
        fake_run.write(folder / name, lines)
    page = Page(run_report.write(folder))
    assert "2-small from 1, 10-big from 3" in page.text
    assert "4,000" in page.text


@pytest.mark.parametrize("line", ["oops", "[]", '{"event": "gate"}', '{"iteration": 2}'])
def test_a_broken_line_is_named_and_the_others_are_shown(tmp_path, line, capsys):
    fake_run.write(tmp_path / "run", [iteration(1)])
    path = tmp_path / "run" / "metrics.jsonl"
    path.write_text(path.read_text() + line + "\n")
    run_report.write(tmp_path / "run")
    assert capsys.readouterr().err.startswith(f"{path}: damaged, skipped: line 2 (")


def message(folder: pathlib.Path) -> str:
    with pytest.raises(ValueError) as error:
        run_report.write(folder)
    return str(error.value)


def test_a_folder_without_a_run_is_refused(tmp_path):
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
    assert report.main([str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/run/report/index.html\n"
