"""The page that shows a run: what it answers, and what a browser shows."""

import json

import pytest
from support.builders import fake_run
from support.drivers.web_server import ask, serving

from azo.cli import watch
from azo.report.watch import app
from azo.training import metrics, shown_games

BOARD = "--------------OX----XO-------------- X"


@pytest.fixture
def folder(tmp_path):
    fake_run.write(tmp_path / "run", fake_run.events(6))
    games = {"iteration": 6, "boards": [BOARD, BOARD.replace(" X", " O")]}
    (tmp_path / "run" / shown_games.FILE).write_text(json.dumps(games))
    return tmp_path / "run"


def watching(folder):
    return serving(app.make_app(folder), has_inline_styles=True)


def continue_run(folder):
    with (folder / metrics.FILE).open("a") as file:
        file.write(json.dumps({"event": "iteration", "iteration": 7}) + "\n")


def test_a_run_is_sent_when_it_has_changed(folder):
    with watching(folder) as port:
        first = ask(port, "/run").json
        assert first["summary"]["Iterations"] == "6"
        assert first["games"]["boards"][0] == BOARD
        assert {"strength", "losses"} <= {sheet["name"] for sheet in first["sheets"]}
        seen = f"/run?seen={first['version']}"
        assert ask(port, seen).status == 204
        continue_run(folder)
        assert ask(port, seen).json["summary"]["Iterations"] == "7"


def test_a_run_without_an_iteration_is_a_notice(folder):
    (folder / metrics.FILE).write_text(json.dumps({"event": "compilation", "iteration": 0}) + "\n")
    with watching(folder) as port:
        answer = ask(port, "/run")
    assert answer.status == 503
    assert answer.json == {"error": f"{folder}: no iteration is recorded yet"}


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no run"):
        watch.main([str(tmp_path)])


def test_foreign_host_names_are_refused(folder):
    with watching(folder) as port:
        assert ask(port, "/run", headers={"host": "example.org"}).status == 421


@pytest.mark.thorough
def test_a_browser_shows_boards_and_plots_and_renews_them(folder, browser):
    errors = []
    with watching(folder) as port, browser.new_page() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: m.type == "error" and errors.append(m.text))
        page.set_default_timeout(60_000)
        page.goto(f"http://localhost:{port}")
        page.wait_for_selector("#losses .js-plotly-plot")
        assert page.locator(".board").count() == 2
        assert page.locator(".board").first.get_attribute("aria-label").startswith("2 black")
        continue_run(folder)
        page.wait_for_selector("#summary dd:text-is('7')")
        assert page.evaluate("document.documentElement.scrollHeight") < 12_000
    assert errors == []
