"""The course of a game as a picture: its value for black, and the exact scores near the end.

The only module of `play` that needs matplotlib. Colours are those of Okabe and Ito, which
colour-blind readers tell apart; curves differ in their dashes as well.
"""

import io
import math
from typing import Any

import matplotlib
import matplotlib.axes
import matplotlib.figure
import matplotlib.patheffects
import matplotlib.ticker
import numpy as np

from azo.games import notation
from azo.measure.report import drawing
from azo.play import game_analysis

_STYLE: dict[Any, Any] = {**drawing.STYLE, "legend.frameon": False}


def draw(analysis: game_analysis.GameAnalysis, title: str) -> bytes:
    """Returns a PNG; its x axis counts the plies played."""
    has_scores = any(position.is_exact for position in analysis.positions)
    with matplotlib.rc_context(_STYLE):
        figure = matplotlib.figure.Figure(
            figsize=(9.5, 6.2 if has_scores else 4.2), layout="constrained"
        )
        rows = [2, 1] if has_scores else [1]
        axes = figure.subplots(len(rows), squeeze=False, sharex=True, height_ratios=rows)[:, 0]
        _values(axes[0], analysis)
        axes[0].set_title(title)
        if has_scores:
            _scores(axes[1], analysis)
        axes[-1].set_xlabel("plies played")
        axes[-1].xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(12, integer=True))
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _values(axes: matplotlib.axes.Axes, analysis: game_analysis.GameAnalysis) -> None:
    positions = analysis.positions
    plies = np.array([position.number - 1 for position in positions])
    raw = [math.nan if p.black_raw_value is None else p.black_raw_value for p in positions]
    value = [position.black_value for position in positions]
    first_exact = _first_exact(analysis)
    axes.axhline(0, color="#888888", linewidth=1)
    if first_exact is not None:
        axes.axvspan(
            first_exact - 0.5, plies[-1] + 0.5, color=drawing.GREEN, alpha=0.1, linewidth=0
        )
        axes.annotate(
            "exact", (plies[-1] + 0.3, 1.12), ha="right", va="center", color="#00664b", fontsize=10
        )
    axes.plot(plies, raw, ":", color=drawing.ORANGE, linewidth=1.5, label="network alone")
    axes.plot(
        plies, value, "-o", color=drawing.BLUE, markersize=3.5, linewidth=1.8, label="searched"
    )
    for position in analysis.drops:
        after = positions[position.number]  # `number` counts from 1: the next position
        is_black = position.board.is_black_to_move
        text = notation.action_text(position.played or 0, analysis.game.size)
        axes.annotate(
            f"{position.number}. {text}",
            (position.number, after.black_value),
            xytext=(0, -20 if is_black else 13),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            path_effects=[matplotlib.patheffects.withStroke(linewidth=3, foreground="white")],
            arrowprops={"arrowstyle": "-", "linewidth": 0.7, "color": "#555555", "shrinkB": 2},
        )
    axes.set(ylabel="expected result for black", ylim=(-1.22, 1.22))
    axes.set_yticks([-1, -0.5, 0, 0.5, 1], ["loss −1", "−0.5", "draw 0", "+0.5", "win +1"])
    axes.legend(loc="lower left", ncols=2)


def _scores(axes: matplotlib.axes.Axes, analysis: game_analysis.GameAnalysis) -> None:
    solved = [p for p in analysis.positions if p.black_score is not None]
    axes.axhline(0, color="#888888", linewidth=1)
    axes.plot(
        [position.number - 1 for position in solved],
        [position.black_score or 0 for position in solved],
        "-s",
        color=drawing.GREEN,
        markersize=3.5,
    )
    axes.set(ylabel="black's final margin\n(discs, perfect play)")
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(
        matplotlib.ticker.FuncFormatter(lambda y, _: f"{y:+.0f}" if y else "0")
    )
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -3), max(high, 3))


def _first_exact(analysis: game_analysis.GameAnalysis) -> int | None:
    """Returns the ply from which on all values are exact, None if the last is not."""
    first = None
    for position in reversed(analysis.positions):
        if not position.is_exact:
            break
        first = position.number - 1
    return first
