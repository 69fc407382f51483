"""The report of a run as one self-contained HTML page: `report/index.html`."""

import html
import pathlib
import string

import plotly.offline

from azo.networks import exported_network
from azo.report import figures, panels, run_log
from azo.storage import files

PLOT_STYLE = pathlib.Path(__file__).parent / "plots.css"

_PAGE = PLOT_STYLE.with_name("page.html")  # a `string.Template`


def write(folder: pathlib.Path) -> pathlib.Path:
    """Writes the page of a run or of a curriculum into its folder; returns the path of the page.

    Raises:
      ValueError: One line: the folder has no run, the run has no iteration yet, a file of it is
        broken, or the page cannot be written.
    """
    run = run_log.read(folder)
    settings = files.read_text(run_log.folders(folder)[-1] / exported_network.SETTINGS)
    drawn = figures.sheets(run)
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
    place = folder / "report" / "index.html"
    content = render(str(folder), "\n".join(body)).encode()
    files.write(place, content, inside=folder, makes_folder=True)
    return place


def render(title: str, body: str) -> str:
    """Returns a page, given its title as text and its body as HTML."""
    script = plotly.offline.get_plotlyjs()
    page, style = (path.read_text(encoding="utf-8") for path in (_PAGE, PLOT_STYLE))
    parts = {"title": html.escape(title), "script": script, "style": style, "body": body}
    return string.Template(page).substitute(parts)


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
    rated = run.of_kind("rating")
    if rated:
        lines["Strength"] = f"{rated[-1]['rating/summary']}, iteration {rated[-1]['iteration']}"
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
