"""The report of a run as one HTML page that needs no other file, with its figures as PNG files."""

import base64
import html
import pathlib
import string

from azo.formats import files
from azo.measure.report import figures, panels, rating_figures, run_log

FILE = "index.html"

_PAGE = string.Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<title>$title</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }
figure { margin: 1rem 0 } img { max-width: 100%; height: auto }
figcaption { max-width: 60rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .1rem 1.5rem .1rem 0 }
.lacking { color: #666 } pre { overflow: auto; background: #f6f6f6 }
</style></head><body>
<h1>$title</h1>
<table>$summary</table>
<nav><p>$links</p></nav>
$sections
<details><summary>Settings</summary><pre>$settings</pre></details>
</body></html>
""")
_FIGURE = string.Template(
    '<figure><img alt="$title" src="data:image/png;base64,$data">'
    "<figcaption>$caption</figcaption></figure>"
)


def write(folder: pathlib.Path, title: str, run: run_log.RunLog, *, settings: str) -> pathlib.Path:
    """Writes the page and the figures that have panels; returns the path of the page.

    The folder is made if it does not exist. `settings` are those of the run, as text.

    Raises:
      ValueError: the folder cannot be written.
    """
    with panels.style():
        sheets = [*figures.sheets(run), *rating_figures.sheets(run)]
        drawn = {sheet.name: sheet.png() for sheet in sheets if sheet.panels}
    text = _PAGE.substitute(
        title=html.escape(title),
        summary="".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in summary(run).items()
        ),
        links=" · ".join(f'<a href="#{s.name}">{html.escape(s.title)}</a>' for s in sheets),
        sections="\n".join(_section(sheet, drawn.get(sheet.name)) for sheet in sheets),
        settings=html.escape(settings),
    )
    try:
        folder.mkdir(exist_ok=True)
        for sheet in sheets:
            (folder / f"{sheet.name}.png").unlink(missing_ok=True)  # from an earlier report
        for name, png in drawn.items():
            files.write(folder / f"{name}.png", png)
        files.write(folder / FILE, text.encode())
    except OSError as error:
        raise ValueError(f"{folder}: cannot write here ({error.strerror})") from None
    return folder / FILE


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


def _section(sheet: panels.Sheet, png: bytes | None) -> str:
    """Returns a section with the figure, if it has panels, and the metrics that the run lacks."""
    title = html.escape(sheet.title)
    parts = [f'<section id="{sheet.name}"><h2>{title}</h2>']
    if png is not None:
        data = base64.b64encode(png).decode("ascii")
        caption = html.escape(sheet.caption)
        parts.append(_FIGURE.substitute(title=title, data=data, caption=caption))
    if sheet.missing:
        names = html.escape(", ".join(sheet.missing))
        parts.append(f'<p class="lacking">Not recorded in this run: {names}.</p>')
    return "\n".join([*parts, "</section>"])
