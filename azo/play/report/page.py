"""An analysis as one HTML page that needs no other file: plot, table, and a board for each ply."""

import html
import importlib.resources
from collections.abc import Iterable

from azo.games import notation
from azo.play import game_analysis
from azo.play.report import table

_STYLE = importlib.resources.files(__package__).joinpath("page.css")
_WIDTH, _HEIGHT = 900, 260  # of the plot, in its own units
_LEFT, _BOTTOM, _TOP = 54, 30, 12
_SQUARE = 20


def render(analysis: game_analysis.GameAnalysis, title: str) -> str:
    """Returns the page."""
    size = analysis.game.size
    text, style = html.escape, _STYLE.read_text(encoding="utf-8")
    drops = [_item(p.number, table.drop_text(p, size)) for p in analysis.drops]
    surprises = [_item(s.number, table.surprise_text(s, analysis)) for s in analysis.surprises]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{text(title)}</title><style>{style}</style></head><body>",
        f"<h1>{text(title)}</h1>",
        f"<p>{text(outcome(analysis))} {text(_how(analysis))}</p>",
        f"<figure>{_plot(analysis)}<figcaption>Expected result for black: solid by the search,"
        " dotted by the network alone; on the shaded part it is exact. Choose a point to see its"
        " position.</figcaption></figure>",
        "<h2>Largest drops</h2>",
        f"<p>{text(table.totals(analysis))}</p>",
        f"<ul>{''.join(drops)}</ul>" if drops else "<p>No move lost anything.</p>",
        "<h2>Surprises</h2>",
        f"<ul>{''.join(surprises)}</ul>" if surprises else "",
        f"<p>{text(game_analysis.advice(analysis))}</p>",
        "<h2>All moves</h2>",
        f'<div class="wide"><table>{_game_rows(analysis)}</table></div>',
        f"<p>{text(table.legend(analysis))}</p>",
        "<h2>All positions</h2>",
        "<p>Values are those of the side to move. A dashed ring and * mark the move played, a cross"
        " the engine's choice.</p>",
        *(_position(position, size) for position in analysis.positions),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def outcome(analysis: game_analysis.GameAnalysis) -> str:
    """Returns a sentence on how the game ended, or that it did not."""
    if not analysis.is_over:
        return f"The game stops after {len(analysis.actions)} plies."
    squares = analysis.game.size**2
    black = (squares + analysis.black_score) // 2
    sign = -1 if analysis.game.is_reversed else 1
    winner = {1: "Black won", 0: "A draw", -1: "White won"}[
        sign * ((analysis.black_score > 0) - (analysis.black_score < 0))
    ]
    return f"{winner}, {black} to {squares - black}."


def _how(analysis: game_analysis.GameAnalysis) -> str:
    engine = analysis.engine_config
    limits = [
        f"{engine.num_simulations} simulations" if engine.num_simulations else "",
        f"{engine.seconds:g} s" if engine.seconds else "",
    ]
    return (
        f"{analysis.game.name}, {' or '.join(filter(None, limits)) or 'no limit'} a move,"
        f" exact from {engine.solve_empties} empty squares on."
    )


def _item(number: int, sentence: str) -> str:
    return f'<li><a href="#ply{number}">{html.escape(sentence)}</a></li>'


def _plot(analysis: game_analysis.GameAnalysis) -> str:
    positions = analysis.positions
    step = (_WIDTH - _LEFT - 12) / max(len(positions) - 1, 1)

    def x(position: game_analysis.AnalysedPosition) -> float:
        return _LEFT + step * (position.number - 1)

    def y(value: float) -> float:
        return _TOP + (1 - value) / 2 * (_HEIGHT - _TOP - _BOTTOM)

    def curve(
        name: str, values: Iterable[tuple[game_analysis.AnalysedPosition, float | None]]
    ) -> str:
        points = " ".join(f"{x(p):.1f},{y(v):.1f}" for p, v in values if v is not None)
        return f'<polyline class="{name}" points="{points}"/>'

    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="value by ply">']
    for position in positions:
        if position.is_exact:
            parts.append(
                f'<rect class="exact" x="{x(position) - step / 2:.1f}" y="{_TOP}"'
                f' width="{step:.2f}" height="{_HEIGHT - _TOP - _BOTTOM}"/>'
            )
    for value, name in ((1, "win"), (0, "draw"), (-1, "loss")):
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{y(value)}" y2="{y(value)}"/>'
            f'<text x="{_LEFT - 8}" y="{y(value) + 4}" text-anchor="end">{name}</text>'
        )
    for position in positions[:: 10 if len(positions) > 20 else 1]:
        parts.append(
            f'<text x="{x(position):.1f}" y="{_HEIGHT - 10}" text-anchor="middle">'
            f"{position.number - 1}</text>"
        )
    parts.append(curve("alone", ((p, p.black_raw_value) for p in positions)))
    parts.append(curve("searched", ((p, p.black_value) for p in positions)))
    for position in positions:
        label = f"{_heading(position, analysis.game.size)}, black {position.black_value:+z.2f}"
        parts.append(
            f'<a href="#ply{position.number}"><circle cx="{x(position):.1f}"'
            f' cy="{y(position.black_value):.1f}" r="4"><title>{html.escape(label)}</title>'
            "</circle></a>"
        )
    return "".join([*parts, "</svg>"])


def _game_rows(analysis: game_analysis.GameAnalysis) -> str:
    found = table.game(analysis)
    head = "".join(f"<th>{html.escape(str(column.header))}</th>" for column in found.columns)
    rows = [f"<tr>{head}</tr>"]
    columns = [list(column.cells) for column in found.columns]
    for position, cells in zip(analysis.positions, zip(*columns, strict=True), strict=True):
        first, *rest = (html.escape(str(cell)) for cell in cells)
        link = f'<td><a href="#ply{position.number}">{first}</a></td>'
        rows.append(f"<tr>{link}{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>")
    return "".join(rows)


def _position(position: game_analysis.AnalysedPosition, size: int) -> str:
    parts = [
        f'<section id="ply{position.number}"><h3>{html.escape(_heading(position, size))}</h3>',
        f'<div class="pair">{_board(position, size)}<div>',
        f"<p>{html.escape(table.worth_text(position))}</p>",
    ]
    if position.moves:
        found = table.moves(position, size)
        head = "".join(f"<th>{html.escape(str(c.header))}</th>" for c in found.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(str(cell))}</td>' for cell in cells)}</tr>"
            for cells in zip(*(list(c.cells) for c in found.columns), strict=True)
        )
        parts.append(f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>')
    if position.tree:
        parts.append(
            f"<details><summary>searched tree</summary>{_tree(position.tree, size)}</details>"
        )
    return "".join([*parts, "</div></div></section>"])


def _tree(branches: tuple[game_analysis.AnalysedBranch, ...], size: int) -> str:
    items = (
        f"<li>{html.escape(table.branch_text(branch.move, size))}"
        f"{_tree(branch.replies, size) if branch.replies else ''}</li>"
        for branch in branches
    )
    return f"<ul>{''.join(items)}</ul>"


def _heading(position: game_analysis.AnalysedPosition, size: int) -> str:
    if position.played is None:
        return f"{position.number}. the last position"
    colour = "black" if position.board.is_black_to_move else "white"
    return f"{position.number}. {colour} {notation.action_text(position.played, size)}"


def _board(position: game_analysis.AnalysedPosition, size: int) -> str:
    """Returns a drawing: discs, a ring where the move was played, a cross on the best move."""
    side = _SQUARE * size
    grid = "".join(f"M0 {i * _SQUARE}H{side}M{i * _SQUARE} 0V{side}" for i in range(size + 1))
    parts = [
        f'<svg class="board" viewBox="-16 -16 {side + 18} {side + 18}" role="img"'
        f' aria-label="{notation.board_text(position.board, size)}">'
        f'<rect width="{side}" height="{side}"/><path d="{grid}"/>'
    ]
    for index in range(size):
        middle = index * _SQUARE + _SQUARE / 2
        parts.append(
            f'<text x="{middle}" y="-5" text-anchor="middle">{"abcdefgh"[index]}</text>'
            f'<text x="-8" y="{middle + 4}" text-anchor="middle">{index + 1}</text>'
        )
    for square in range(size * size):
        row, column = divmod(square, size)
        bit = 8 * row + column
        x, y = (i * _SQUARE + _SQUARE / 2 for i in (column, row))
        colours = {"black": position.board.black, "white": position.board.white}
        for name, discs in colours.items():
            if discs >> bit & 1:
                parts.append(f'<circle class="{name}" cx="{x}" cy="{y}" r="8"/>')
        if square == position.played:
            parts.append(f'<circle class="played" cx="{x}" cy="{y}" r="6"/>')
        if square == position.best:
            parts.append(f'<path class="best" d="M{x - 4} {y}h8M{x} {y - 4}v8"/>')
    return "".join([*parts, "</svg>"])
