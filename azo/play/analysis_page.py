"""A game analysis as one self-contained HTML page: plot, table, and a board for each ply."""

import html
import importlib.resources
import itertools
import math
from collections.abc import Iterable

import rich.table

from azo.games import notation
from azo.play import analysis_text, formatting, game_analysis

_STYLE = importlib.resources.files(__package__).joinpath("analysis_page.css")
_WIDTH, _HEIGHT = 900, 260  # of the plot, in its own units
_LEFT, _BOTTOM, _TOP = 54, 30, 12


def render(analysis: game_analysis.GameAnalysis, title: str) -> str:
    """Returns the page."""
    size = analysis.game.size
    text, style = html.escape, _STYLE.read_text(encoding="utf-8")
    losses = [_item(p.number, analysis_text.loss(p, analysis.game)) for p in analysis.losses]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{text(title)}</title><style>{style}</style></head><body>",
        f"<h1>{text(title)}</h1>",
        f"<p>{text(analysis_text.outcome(analysis))} {text(_how(analysis))}</p>",
        f"<figure>{_plot(analysis)}<figcaption>Solid: black's expected final score in"
        " discs. Dotted: chance that black wins. Shaded: exact. Orange points: moves with a mark."
        " A point links to its position."
        "</figcaption></figure>",
        "<h2>Largest losses</h2>",
        *(f"<p>{text(line)}</p>" for line in analysis_text.totals(analysis)),
        f"<ul>{''.join(losses)}</ul>" if losses else "<p>No move lost anything.</p>",
        "<h2>All moves</h2>",
        _table(analysis_text.game_table(analysis), (f"#ply{p.number}" for p in analysis.positions)),
        f"<p>{text(analysis_text.legend())}</p>",
        "<h2>All positions</h2>",
        "<p>Values are for the side to move. The engine's choice comes first; * marks the move"
        " played.</p>",
        *(_position(position, size) for position in analysis.positions),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _how(analysis: game_analysis.GameAnalysis) -> str:
    engine = analysis.engine_config
    limits = [
        f"{engine.num_simulations} simulations" if engine.num_simulations else "",
        f"{engine.seconds:g} s" if engine.seconds else "",
    ]
    return (
        f"{analysis.game.name}, {' or '.join(filter(None, limits)) or 'no limit'} a move,"
        f" exact from {min(engine.solve_empties, engine.score_empties)} empty squares on."
    )


def _item(number: int, sentence: str) -> str:
    return f'<li><a href="#ply{number}">{html.escape(sentence)}</a></li>'


def _plot(analysis: game_analysis.GameAnalysis) -> str:
    positions = analysis.positions
    step = (_WIDTH - _LEFT - 12) / max(len(positions) - 1, 1)

    def x(position: game_analysis.AnalysedPosition) -> float:
        return _LEFT + step * (position.number - 1)

    most = max(8, *(8 * math.ceil(abs(p.black_discs) / 8) for p in positions))

    def y(discs: float) -> float:
        return _TOP + (1 - discs / most) / 2 * (_HEIGHT - _TOP - _BOTTOM)

    def curve(name: str, values: Iterable[tuple[game_analysis.AnalysedPosition, float]]) -> str:
        points = " ".join(f"{x(p):.1f},{y(v):.1f}" for p, v in values)
        return f'<polyline class="{name}" points="{points}"/>'

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="discs by ply">']
    for position in positions:
        if position.score is not None:
            parts.append(
                f'<rect class="exact" x="{x(position) - step / 2:.1f}" y="{_TOP}"'
                f' width="{step:.2f}" height="{_HEIGHT - _TOP - _BOTTOM}"/>'
            )
    for tick in (most, most // 2, 0, -most // 2, -most):
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{y(tick)}" y2="{y(tick)}"/>'
            f'<text x="{_LEFT - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:+d}</text>'
        )
    for position in positions[:: 10 if len(positions) > 20 else 1]:
        parts.append(
            f'<text x="{x(position):.1f}" y="{_HEIGHT - 10}" text-anchor="middle">'
            f"{position.number - 1}</text>"
        )
    parts.append(curve("chance", ((p, most * p.black_value) for p in positions)))
    parts.append(curve("discs", ((p, p.black_discs) for p in positions)))
    for position in positions:
        heading = analysis_text.heading(position, analysis.game.size)
        discs = formatting.discs(position.black_discs, position.black_score)
        label = (
            f"{heading}{position.mark}, black {discs}, {formatting.chance(position.black_value)}"
        )
        marked = ' class="marked"' if position.mark else ""
        parts.append(
            f'<a href="#ply{position.number}"><circle{marked} cx="{x(position):.1f}"'
            f' cy="{y(position.black_discs):.1f}" r="4"><title>{html.escape(label)}</title>'
            "</circle></a>"
        )
    return "".join([*parts, "</svg>"])


def _table(rows: rich.table.Table, links: Iterable[str] = ()) -> str:
    """Returns a table of rich as HTML; `links` are the targets of the first cells."""
    head = "".join(f"<th>{html.escape(str(column.header))}</th>" for column in rows.columns)
    columns = ([html.escape(str(cell)) for cell in column.cells] for column in rows.columns)
    cells = zip(*columns, strict=True)
    body = [
        [f'<a href="{link}">{first}</a>' if link else first, *rest]
        for (first, *rest), link in itertools.zip_longest(cells, links)
    ]
    lines = ("".join(f"<td>{cell}</td>" for cell in row) for row in body)
    joined = "".join(f"<tr>{line}</tr>" for line in (head, *lines))
    return f'<div class="wide"><table>{joined}</table></div>'


def _position(position: game_analysis.AnalysedPosition, size: int) -> str:
    heading = html.escape(analysis_text.heading(position, size))
    parts = [
        f'<section id="ply{position.number}"><h3>{heading}</h3>',
        f'<div class="pair"><pre>{notation.diagram(position.board, size)}</pre><div>',
        f"<p>{html.escape(analysis_text.worth(position))}</p>",
    ]
    if position.moves:
        parts.append(_table(analysis_text.move_table(position, size)))
    return "".join([*parts, "</div></div></section>"])
