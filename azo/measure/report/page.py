"""The report of a run as one HTML page that needs no other file."""

import base64
import html
from collections.abc import Mapping, Sequence

from azo.measure.report import panels, run_log

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }
figure { margin: 1rem 0 } img { max-width: 100%; height: auto }
figcaption { max-width: 60rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .1rem 1.5rem .1rem 0 }
.note { color: #8a4b00 } .lacking { color: #666 } pre { overflow: auto; background: #f6f6f6 }
""".strip()


def render(
    title: str,
    record: run_log.Record,
    pictures: Sequence[tuple[panels.Picture, bytes | None]],
    *,
    notes: Sequence[str],
    settings: str,
) -> str:
    """Returns the page.

    Args:
      title: names the run.
      record: for the table at the top.
      pictures: each with its PNG, None if it has no panels.
      notes: what the reader has to know about the whole page.
      settings: of the run, as text.
    """
    links = " · ".join(
        f'<a href="#{picture.name}">{html.escape(picture.title)}</a>' for picture, _ in pictures
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        *(f'<p class="note">{html.escape(note)}</p>' for note in notes),
        _table(summary(record)),
        f"<nav><p>{links}</p></nav>",
        *(_section(picture, png) for picture, png in pictures),
        f"<details><summary>Settings</summary><pre>{html.escape(settings)}</pre></details>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def summary(record: run_log.Record) -> dict[str, str]:
    """Returns the figures at the top of the page, by their names."""
    last = record.iterations[-1]
    totals = {
        "Iterations": "iteration",
        "Games": "selfplay/games",
        "Network evaluations": "selfplay/evaluations",
        "Training time (s)": "time/training_seconds",
    }
    found = {
        name: f"{last[field]:,.0f}" for name, field in totals.items() if last.get(field) is not None
    }
    if record.phases:
        found["Phases"] = ", ".join(f"{name} from {first}" for name, first in record.phases)
    if record.cycle_name == "generation":
        found["Generations"] = str(len(record.cycles))
    scored = [event for event in record.evaluations if event.get("evaluation/score") is not None]
    if scored:
        found["Last score"] = _score(scored[-1])
        found["Best score"] = _score(max(scored, key=lambda event: event["evaluation/score"]))
    return found


def _score(event: run_log.Event) -> str:
    low, high = event.get("evaluation/score_low"), event.get("evaluation/score_high")
    interval = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    against = event.get("evaluation/opponent")
    opponent = f" against {against}" if against else ""
    return f"{event['evaluation/score']:.3f}{interval}{opponent}, iteration {event['iteration']}"


def _table(rows: Mapping[str, str]) -> str:
    cells = (
        f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"


def _section(picture: panels.Picture, png: bytes | None) -> str:
    title = html.escape(picture.title)
    parts = [f'<section id="{picture.name}"><h2>{title}</h2>']
    if png is not None:
        data = base64.b64encode(png).decode("ascii")
        parts.append(
            f'<figure><img alt="{title}" src="data:image/png;base64,{data}">'
            f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
        )
    if picture.missing:
        names = html.escape(", ".join(picture.missing))
        parts.append(f'<p class="lacking">Not recorded in this run: {names}.</p>')
    return "\n".join([*parts, "</section>"])
