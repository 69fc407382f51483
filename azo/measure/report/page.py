"""The report of a run as one HTML page that needs no other file."""

import html
import pathlib

from azo.formats import files
from azo.measure.report import figures, pages, panels, rating_figures, run_log

FILE = "index.html"


def write(folder: pathlib.Path, title: str, run: run_log.RunLog, *, settings: str) -> pathlib.Path:
    """Writes the page with the figures that have panels; returns the path of the page.

    The folder is made if it does not exist. `settings` are those of the run, as text.

    Raises:
      ValueError: the folder cannot be written.
    """
    drawn = sheets(run)
    lines = [
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in summary(run).items()
    ]
    links = [f'<a href="#{sheet.name}">{html.escape(sheet.title)}</a>' for sheet in drawn]
    body = [
        f"<table>{''.join(lines)}</table>",
        f"<nav><p>{' · '.join(links)}</p></nav>",
        *(_section(sheet) for sheet in drawn),
        f"<details><summary>Settings</summary><pre>{html.escape(settings)}</pre></details>",
    ]
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder}: cannot write here ({error.strerror})") from None
    files.write(folder / FILE, pages.page(title, "\n".join(body)).encode())
    return folder / FILE


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures that have panels, in their order on a page."""
    every = [*figures.sheets(run), *rating_figures.sheets(run)]
    return [sheet for sheet in every if sheet.panels]


def summary(run: run_log.RunLog) -> dict[str, str]:
    """Returns the figures at the top of the page, by their names."""
    last = run.of_kind("iteration")[-1]
    totals = {
        "Iterations": "iteration",
        "Games": "selfplay/games",
        "Network evaluations": "selfplay/evaluations",
        "Training time (s)": "time/training_seconds",
    }
    lines = {
        name: f"{last[field]:,.0f}" for name, field in totals.items() if last.get(field) is not None
    }
    if run.phases:
        lines["Phases"] = ", ".join(f"{name} from {first}" for name, first in run.phases)
    scored = [e for e in run.of_kind("evaluation") if e.get("evaluation/score") is not None]
    if scored:
        lines["Last score"] = _score(scored[-1])
        lines["Best score"] = _score(max(scored, key=lambda event: event["evaluation/score"]))
    return lines


def _score(event: run_log.Event) -> str:
    low, high = event.get("evaluation/score_low"), event.get("evaluation/score_high")
    interval = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    opponent = event.get("evaluation/opponent")
    against = f" against {opponent}" if opponent else ""
    return f"{event['evaluation/score']:.3f}{interval}{against}, iteration {event['iteration']}"


def _section(sheet: panels.Sheet) -> str:
    """Returns a section of the page with a figure."""
    heading = f"<h2>{html.escape(sheet.title)}</h2><p>{html.escape(sheet.caption)}</p>"
    plots = f'<div class="panels">{panels.html(sheet)}</div>'
    return f'<section id="{sheet.name}">{heading}{plots}</section>'
