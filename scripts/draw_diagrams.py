"""Draws the diagrams of the documentation: the layers, the loop with its shapes, strength and cost.

python scripts/draw_diagrams.py

Writes `docs/layers.svg`, `docs/loop.svg` and `docs/strength.svg`. The names of the layers come from
`docs/design.md`, the shapes from the defaults of `azo8`, and the Elo of recipes from
`docs/recipes.md`. Other numbers are constants here; each names the page that it is from.
"""

import html
import itertools
import math
import pathlib
import re

from azo.games import registry
from azo.training import config

_DOCS = pathlib.Path(__file__).parents[1] / "docs"
_GREY, _BLUE, _ORANGE = "#667", "#3b76c4", "#d9822b"
_FILL, _EDGE, _PURE = "#f6f7f9", "#c9ced6", "#fbecd9"

_LAYERS = (  # rows from the top: what a row is about, its layers, and what each contains
    ("foundations", (("storage", "atomic files, locks"), ("settings", "types, TOML, flags"),
                     ("process", "signals, compiled programs"))),
    ("rules", (("games", "rules on batches"), ("formats", "games and boards as text"),
               ("solver", "exact endgames"))),
    ("decisions", (("search", "batched trees"), ("networks", "towers, pattern tables"),
                   ("alphabeta", "learned, on the host"), ("opponents", "players, other engines"))),
    ("training", (("learning", "the compiled iteration"), ("training", "a run, checkpoints"),
                  ("matches", "Elo, tournaments"), ("queues", "comparisons of recipes"))),
    ("play", (("engine", "search of one live game"), ("coach", "mistakes and reasons"))),
    ("interfaces", (("protocols", "GTP, NBoard, JSON"), ("terminal", "play, practice"),
                    ("web", "the page"), ("report", "plots of a run"), ("compat", "Pgx, mctx"))),
    ("commands", (("cli", "one file per command"),)),
)  # fmt: skip
_PURE_LAYERS = ("games", "search", "learning")  # inside one compiled program

# Core-hours, and Elo on the fixed ladder with 100 simulations per move.
_HOUR = (172, 325, 344, 369, 402, 416, 429, 455)  # docs/notebook/log.md, every 15 core-minutes
_RECORD = (1.00, 494)  # docs/notebook/leaderboard.md
_ZERO_FAST = (3.10, 496)  # docs/notebook/networks.md
_ZERO_CONV = ((1.5, 353), (2.1, 400), (2.7, 462), (4.2, 513))  # the same page
_PLAYERS = {  # docs/notebook/classical.md
    "patterns:8": 669, "patterns:6": 531, "patterns:4": 299, "gtp-rhino:3": 119, "patterns:2": 0,
    "iagno:hard": -309, "iagno:medium": -705, "random": -990,
}  # fmt: skip
_RECIPE_HOURS = 1 / 6  # ten minutes on one core


def main() -> None:
    """Draws all diagrams."""
    for name, draw in (("layers", layers), ("loop", loop), ("strength", strength)):
        (_DOCS / f"{name}.svg").write_text(draw())


def layers() -> str:
    """Returns the layers in rows: each imports only from those before it."""
    written = re.findall(r"^\| (`.*?) \|", (_DOCS / "design.md").read_text(), re.MULTILINE)
    names = [name for row in written for name in re.findall(r"`(\w+)`", row)]
    assert [name for _, row in _LAYERS for name, _ in row] == names, names
    height, width = 66, 900
    parts = []
    for number, (subject, row) in enumerate(_LAYERS):
        top = 20 + number * (height + 10)
        parts.append(_text(24, top + 34, subject, color=_GREY))
        each = (width - 130 - 20) / len(row)
        for place, (name, content) in enumerate(row):
            left = 130 + place * each
            fill = _PURE if name in _PURE_LAYERS else _FILL
            parts += [
                _box(left, top, each - 10, height, fill),
                _text(left + 12, top + 27, name, 15),
            ]
            parts.append(_text(left + 12, top + 48, content, color=_GREY))
    bottom = 20 + len(_LAYERS) * (height + 10)
    parts.append(_arrow(112, bottom - 30, 112, 30))
    note = "A layer imports only from layers to its left in its row and from rows above it."
    parts += [_box(130, bottom + 8, 16, 16, _PURE), _text(156, bottom + 21, "no side effects")]
    parts.append(_text(280, bottom + 21, note, color=_GREY))
    return _svg(width, bottom + 40, "The layers of azo", parts)


def loop() -> str:
    """Returns one iteration of `azo8` with the shapes of its arrays."""
    settings = config.load_file(pathlib.Path("azo8"))
    game = registry.make(settings.game)
    plies, games = settings.selfplay.num_plies, settings.selfplay.num_games
    nodes = settings.search.num_simulations + 1
    batch, rows = settings.learner.batch_size, settings.replay.capacity
    words, actions, scores = game.packed_words, game.num_actions, len(game.scores)
    squares = f"{game.board_shape[0]}, {game.board_shape[1]}"
    num_planes = game.planes(game.start(1)).shape[-1] + 2 * settings.network.has_move_planes
    boxes = (
        (20, 80, "1  Self-play", (
            f"T = {plies} plies of B = {games} games",
            "",
            "position: 2 x [B, 2] uint32",
            f"planes: [B, {squares}, {num_planes}]",
            f"logits: [B, A = {actions}], value: [B]",
            f"search tree: [B, N = {nodes}, {game.num_slots}]",
            f"N: the root and {nodes - 1} simulations",
        )),
        (470, 80, "2  Targets", (
            "value target: [T, B] float32",
            "policy target: [T, B, A] uint8",
            "",
            "Plies of unfinished games wait in",
            f"the history, [{game.max_plies}, B], until their",
            "game ends.",
        )),
        (470, 340, "3  Replay", (
            f"a ring of R = {rows:,} rows",
            "",
            f"board: [R, {words}] uint32",
            "policy: [R, A] uint8",
            "value: [R] float16, score: [R] int8",
            "92 bytes per row, with the origin",
        )),
        (20, 340, "4  Learner", (
            f"{settings.learner.num_steps} optimiser steps of M = {batch:,}",
            "",
            f"planes: [M, {squares}, {num_planes}]",
            "logits: [M, A]",
            f"score logits: [M, Z = {scores}]",
            "loss: policy, value and score",
        )),
    )  # fmt: skip
    parts = [_box(4, 40, 792, 516, "#fff"), _text(20, 30, _FUNCTION, 14)]
    for left, top, title, lines in boxes:
        parts += [_box(left, top, 310, 190), _text(left + 14, top + 26, title, 15)]
        for number, line in enumerate(lines):
            parts.append(_text(left + 14, top + 52 + 20 * number, line))
    arrows = (
        (330, 170, 468, 170, 340, 160, "trajectory"),
        (625, 270, 625, 338, 635, 308, "finished games"),
        (470, 430, 332, 430, 350, 420, "rows at random"),
        (175, 340, 175, 272, 185, 310, "parameters"),
    )
    for x1, y1, x2, y2, x, y, label in arrows:
        parts += [_arrow(x1, y1, x2, y2), _text(x, y, label, color=_GREY)]
    note = "Outside of this function, the trainer prints, plays matches and saves checkpoints."
    parts.append(_text(20, 580, note, color=_GREY))
    return _svg(800, 596, "One iteration of azo8, with the shapes of its arrays", parts)


_FUNCTION = "one jitted function: iteration(state, progress, numbers) -> (state, metrics)"


def strength() -> str:
    """Returns Elo over core-hours: azo's networks, and other systems' recipes within azo."""
    width, height, left, right, top, bottom = 820, 560, 70, 130, 40, 60

    def x(hours: float) -> float:
        share = math.log(hours / 0.12) / math.log(6 / 0.12)
        return left + share * (width - left - right)

    def y(elo: float) -> float:
        return height - bottom - (elo + 1050) / 1800 * (height - top - bottom)

    parts = []
    for name, elo in _PLAYERS.items():
        parts.append(_line(left, y(elo), width - right, y(elo), "#dde1e7"))
        label = f"{name}: {elo}"
        parts.append(_text(width - right + 8, y(elo) + 4, label, color=_GREY))
    for elo in range(-1000, 701, 200):
        parts.append(_text(left - 10, y(elo) + 4, f"{elo:d}".replace("-", "\u2212"), anchor="end"))
    for hours, label in ((1 / 6, "10 min"), (0.5, "30 min"), (1, "1 h"), (2, "2 h"), (4, "4 h")):
        parts.append(_line(x(hours), height - bottom, x(hours), height - bottom + 5, "#222"))
        parts.append(_text(x(hours), height - bottom + 20, label, anchor="middle"))
    parts.append(_line(left, top, left, height - bottom, "#222"))
    parts.append(_line(left, height - bottom, width - right, height - bottom, "#222"))
    axis = "processor time of training on CPU cores (logarithmic)"
    parts.append(_text((left + width - right) / 2, height - 16, axis, anchor="middle"))
    parts.append(_text(left - 50, top - 16, "Elo on the fixed ladder, 100 simulations per move"))
    parts.append(_text(width - right + 8, top - 16, "fixed players", color=_GREY))

    for recipe, elo in _recipes():
        is_own = recipe in ("azo8", "tower8")
        color = _BLUE if is_own else _ORANGE
        parts += [_dot(x(_RECIPE_HOURS), y(elo), color)]
        parts.append(_text(x(_RECIPE_HOURS) + 10, y(elo) + 4, recipe, color=color))
    hour = [(0.25 * number, elo) for number, elo in enumerate(_HOUR, 1)]
    for points, label, dx, dy in (
        (hour, "azo8, one hour on two cores", -190, 40),
        ([_RECORD], "azo8, one hour on one core", -130, -14),
        ([_ZERO_FAST], "zero-fast", -62, -10),
        (_ZERO_CONV, "zero-conv, without the cost of zero-fast", -170, 76),
    ):
        places = [(x(hours), y(elo)) for hours, elo in points]
        for (x1, y1), (x2, y2) in itertools.pairwise(places):
            parts.append(_line(x1, y1, x2, y2, _BLUE, 1.5))
        parts += [_dot(*place, _BLUE) for place in places]
        parts.append(_text(places[-1][0] + dx, places[-1][1] + dy, label, color=_BLUE))
    return _svg(width, height, "Strength against the cost of training", parts)


def _recipes() -> list[tuple[str, int]]:
    """Returns the Elo of each recipe after ten minutes on one core, from the page on recipes."""
    page = (_DOCS / "recipes.md").read_text()
    rows = re.findall(r"^\| (.*?) \| [\d,]+ \| (-?\d+) \+- \d+ \|", page, re.MULTILINE)
    return [(re.sub(r"`?(\w[\w -]*\w)`?.*", r"\1", name), int(elo)) for name, elo in rows]


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    size = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
    arrow = '<path d="M0 0 8 4 0 8z" fill="#555"/>'
    marker = f'<marker id="arrow" {size} orient="auto">{arrow}</marker>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">'
    )
    lines = [head, f"<title>{html.escape(title)}</title>", f"<defs>{marker}</defs>"]
    lines.append(f'<rect width="{width}" height="{height}" fill="#fff"/>')
    return "\n".join([*lines, *parts, "</svg>"]) + "\n"


def _box(x: float, y: float, width: float, height: float, fill: str = _FILL) -> str:
    shape = f'x="{x:g}" y="{y:g}" width="{width:.6g}" height="{height:g}" rx="8"'
    return f'<rect {shape} fill="{fill}" stroke="{_EDGE}"/>'


def _text(
    x: float, y: float, text: str, size: int = 13, color: str = "#222", anchor: str = "start"
) -> str:
    weight = ' font-weight="bold"' if size > 14 else ""
    place = f'x="{x:.4g}" y="{y:.4g}" font-size="{size}"{weight} fill="{color}"'
    return f'<text {place} text-anchor="{anchor}">{html.escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
    ends = f'x1="{x1:.4g}" y1="{y1:.4g}" x2="{x2:.4g}" y2="{y2:.4g}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width:g}"/>'


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return _line(x1, y1, x2, y2, "#555", 2).replace("/>", ' marker-end="url(#arrow)"/>')


def _dot(x: float, y: float, color: str) -> str:
    return f'<circle cx="{x:.4g}" cy="{y:.4g}" r="4" fill="{color}"/>'


if __name__ == "__main__":
    main()
