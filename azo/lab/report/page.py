"""The report of a run as one HTML page that needs no other file: `report/index.html`."""

import html
import pathlib
import string

import plotly.offline

from azo.lab.report import figures, panels, run_log
from azo.storage import files
from azo.training import exported_network

PLOT_STYLE = pathlib.Path(__file__).parent / "plots.css"

_PAGE = string.Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem;
  color: light-dark(#222, #e6e8e2); background: light-dark(#fff, #131613) }
h1, td { overflow-wrap: anywhere }
h2 { margin-top: 2.5rem; border-bottom: 1px solid light-dark(#ccc, #343a34) }
p { max-width: 60rem }
a { color: light-dark(#0b57d0, #8ab4f8) }
table { border-collapse: collapse } td, th { text-align: left; padding: .1rem 1.5rem .1rem 0 }
pre { overflow: auto; background: light-dark(#f6f6f6, #1c201c) }
$style</style><script>$script</script></head><body>
<h1>$title</h1>
$body
<script>
if (matchMedia("(pointer: coarse)").matches) { // a finger scrolls the page and does not zoom
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    Plotly.relayout(plot, { dragmode: false });
  }
}
</script>
</body></html>
""")


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
    try:
        place.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise ValueError(f"{place.parent}: cannot write here ({error.strerror})") from None
    files.write(place, render(str(folder), "\n".join(body)).encode())
    return place


def render(title: str, body: str) -> str:
    """Returns a page, given its title as text and its body as HTML."""
    script, style = plotly.offline.get_plotlyjs(), PLOT_STYLE.read_text(encoding="utf-8")
    return _PAGE.substitute(title=html.escape(title), script=script, style=style, body=body)


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
