import functools
import html.parser
import re

from support.builders import fake_run
from support.builders.fake_run import iteration
from support.drivers import refusals

from azo.report import figures, page


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
    return Page(page.write(folder))


def test_every_section_of_a_full_run_has_its_plots(tmp_path):
    kept = [fake_run.rated(8), fake_run.rated(16)]
    seen = written(tmp_path / "run", fake_run.events(24, num_generations=4) + kept)
    listed = re.findall(r'^name = "(\w+)"', figures.FILE.read_text(encoding="utf-8"), re.MULTILINE)
    assert seen.plots.keys() == {"strength", "elo", *listed}
    assert all(seen.plots.values())
    assert "960" in seen.text  # 24 iterations of 40 games
    assert '{"game": {"name": "othello", "size": 6}}' in seen.text


def test_a_section_without_a_plot_is_left_out(tmp_path):
    fields = {"selfplay/games": 3, "learner/policy_loss": 1.0, "learner/value_loss": None}
    seen = written(tmp_path / "old", [iteration(1, **fields)])
    assert seen.plots == {"strength": ["strength-0"], "losses": ["losses-0"]}


def test_the_phases_of_a_curriculum_share_a_page_in_the_order_of_their_numbers(tmp_path):
    folder = tmp_path / "curriculum"
    for name in ("10-big", "2-small"):
        lines = [iteration(n, **{"selfplay/games": 1000 * n}) for n in (1, 2)]
        fake_run.write(folder / name, lines)
    seen = Page(page.write(folder))
    assert "2-small from 1, 10-big from 3" in seen.text
    assert "4,000" in seen.text


message = functools.partial(refusals.message_of, page.write)


def test_a_folder_without_a_run_is_refused(tmp_path):
    missing = tmp_path / "missing"
    advice = "give the folder of a run, such as runs/azo8"
    assert message(missing) == f"{missing}: no such folder; {advice}"
    assert message(tmp_path) == (
        f"{tmp_path}: no run: neither metrics.jsonl nor phases such as 1-NAME/metrics.jsonl"
    )
    fake_run.write(tmp_path / "new", [{"event": "compilation", "iteration": 0}])
    assert message(tmp_path / "new") == f"{tmp_path}/new: no iteration is recorded yet"
