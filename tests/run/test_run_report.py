import base64
import html.parser
import json
import pathlib

import pytest
from support import fake_run

from azo.cli import report
from azo.measure.report import figures, rating_figures, run_log
from azo.run import run_report

PNG = b"\x89PNG\r\n\x1a\n"


def iteration(number, **fields):
    return {"event": "iteration", "iteration": number} | fields


class Page(html.parser.HTMLParser):
    """What a reader sees of a page, by section."""

    def __init__(self, path):
        super().__init__()
        self.images, self.text, self.lacking = {}, "", {}
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
        self._class = ""


def written(folder, lines):
    fake_run.write(folder, lines)
    return Page(run_report.write(folder))


def test_every_picture_of_a_full_run_has_all_its_panels(tmp_path):
    rated = fake_run.rated
    kept = [*rated(8, ("random", 3)), *rated(16, ("random", 4), (8, 3))]
    seen = written(tmp_path / "run", fake_run.events(24, num_generations=4) + kept)
    assert seen.lacking == {}
    run = run_log.from_phases([("run", [iteration(1)])])
    names = {sheet.name for sheet in (*figures.sheets(run), *rating_figures.sheets(run))}
    assert seen.images.keys() == names
    for name, png in seen.images.items():
        assert png.startswith(PNG)
        assert (tmp_path / "run" / "report" / f"{name}.png").read_bytes() == png
    assert "960" in seen.text  # 24 iterations of 40 games
    assert '{"game": {"name": "othello", "size": 6}}' in seen.text


def test_a_run_says_what_it_has_not_recorded(tmp_path):
    fields = {"selfplay/games": 3, "learner/policy_loss": 1.0, "learner/value_loss": None}
    page = written(tmp_path / "old", [iteration(1, **fields)])
    assert page.images.keys() == {"strength", "losses"}
    assert page.lacking["losses"] == "Not recorded in this run: learner/value_loss."
    assert page.lacking["elo"] == "Not recorded in this run: rating/elo."
    assert not (tmp_path / "old" / "report" / "elo.png").exists()


def test_a_second_report_replaces_the_first(tmp_path):
    folder = tmp_path / "run"
    written(folder, [iteration(1, **{"learner/learning_rate": 0.1})])
    assert (folder / "report" / "learning.png").exists()
    (folder / "metrics.jsonl").write_text(json.dumps(iteration(1)) + "\n")
    page = Page(run_report.write(folder))
    assert page.images == {}
    assert not (folder / "report" / "learning.png").exists()


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
