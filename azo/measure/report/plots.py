"""Draws pictures as PNG, in one style.

The only module that needs matplotlib. Colours are those of Okabe and Ito, which colour-blind
readers tell apart (https://jfly.uni-koeln.de/color/); curves differ in their dashes as well.
"""

import io
import math
from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.axes
import matplotlib.figure
import matplotlib.ticker
import numpy as np

from azo.measure.report import drawing, panels

_COLOURS = (drawing.BLUE, drawing.ORANGE, drawing.GREEN, "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", "--", "-.", ":", "-", "--")
_MARKERS = ("o", "x", "s", "^", "v", "D")
_OUTCOMES = ("#222222", "#E69F00", "#FFFFFF")  # first player wins, draw, second player wins
_STYLE: dict[Any, Any] = {
    **drawing.STYLE,
    "legend.edgecolor": "white",
    "legend.fancybox": False,
    "lines.linewidth": 1.8,
}
_WIDTH, _HEIGHT = 5.6, 3.6  # inches of a panel
_MANY = 60  # points beyond which they are not marked one by one
_MAX_TICKS = 16


def draw(picture: panels.Picture) -> bytes:
    """Returns the PNG of a picture that has panels, two beside one another."""
    columns = min(2, len(picture.panels))
    rows = math.ceil(len(picture.panels) / columns)
    with matplotlib.rc_context(_STYLE):
        figure = matplotlib.figure.Figure(
            figsize=(columns * _WIDTH * picture.scale, rows * _HEIGHT * picture.scale),
            layout="constrained",
        )
        for index, panel in enumerate(picture.panels):
            axes = figure.add_subplot(rows, columns, index + 1)
            if isinstance(panel, panels.Lines):
                _lines(axes, panel)
            elif isinstance(panel, panels.Bars):
                _bars(axes, panel)
            else:
                _heat_map(figure, axes, panel)
            axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _lines(axes: matplotlib.axes.Axes, panel: panels.Lines) -> None:
    if panel.level is not None:
        axes.axhline(panel.level, color="#888888", linewidth=1)
    for index, series in enumerate(panel.series):
        colour, marker = _COLOURS[index], _MARKERS[index]
        if series.is_points:
            axes.plot(series.x, series.y, marker, color=colour, label=series.label)
            continue
        marker = marker if len(series.x) <= _MANY else ""
        dashes = _DASHES[index]
        axes.plot(
            series.x,
            series.y,
            dashes,
            marker=marker,
            markersize=4,
            color=colour,
            label=series.label,
        )
        if series.low is not None and series.high is not None:
            axes.fill_between(series.x, series.low, series.high, color=colour, alpha=0.2)
    if panel.is_x_log:
        axes.set_xscale("log")
        axes.set_xticks(panel.series[0].x, [f"{x:g}" for x in panel.series[0].x])
        axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    else:
        axes.xaxis.set_major_locator(
            matplotlib.ticker.MaxNLocator(6, steps=[1, 2, 5, 10], integer=True)
        )
        axes.xaxis.set_major_formatter(matplotlib.ticker.EngFormatter(sep=""))
        ends = [end for series in panel.series for end in (series.x.min(), series.x.max())]
        if min(ends) == max(ends):
            axes.set_xlim(min(ends) - 1, max(ends) + 1)
    axes.yaxis.set_major_formatter(_plain_numbers(axes, panel))
    if panel.limits is not None:
        axes.set_ylim(*panel.limits)
    if len(panel.series) > 2:  # hardly a corner is free of so many
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    elif len(panel.series) > 1 or panel.series[0].is_points:
        axes.legend()
    for name, place in panel.marks:
        axes.axvline(place, color="#555555", linestyle=":", linewidth=1)
        axes.annotate(
            name,
            (place, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -3),
            textcoords="offset points",
            va="top",
            fontsize=9,
            color="#555555",
            rotation=90,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
        )


def _plain_numbers(axes: matplotlib.axes.Axes, panel: panels.Lines) -> matplotlib.ticker.Formatter:
    largest = max((np.nanmax(np.abs(s.y), initial=0) for s in panel.series), default=0)
    if largest >= 10_000:
        return matplotlib.ticker.EngFormatter(sep="")
    formatter = matplotlib.ticker.ScalarFormatter(useOffset=False)
    formatter.set_powerlimits((-3, 5))
    return formatter


def _bars(axes: matplotlib.axes.Axes, panel: panels.Bars) -> None:
    colours = _OUTCOMES if len(panel.labels) == len(_OUTCOMES) else _COLOURS
    bottom = np.zeros_like(panel.x)
    for label, colour, height in zip(panel.labels, colours, panel.heights, strict=False):
        height = np.nan_to_num(height)
        axes.bar(
            panel.x,
            height,
            width=panel.width,
            bottom=bottom,
            color=colour,
            edgecolor="#444444",
            linewidth=0.6,
            label=label,
        )
        bottom = bottom + height
    axes.grid(visible=False, axis="x")
    if panel.ticks is not None:
        _set_ticks(axes, "x", panel.ticks)
    if len(panel.labels) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), reverse=True)


def _heat_map(
    figure: matplotlib.figure.Figure, axes: matplotlib.axes.Axes, panel: panels.HeatMap
) -> None:
    is_diverging = panel.limits is not None and panel.limits[0] == -panel.limits[1]
    low, high = panel.limits or (0, None)
    rows, columns = panel.values.shape
    is_square = rows == columns
    image = axes.imshow(
        panel.values,
        cmap="RdBu" if is_diverging else "cividis",
        vmin=low,
        vmax=high,
        aspect="equal" if is_square else "auto",
        interpolation="nearest",
    )
    axes.grid(visible=False)
    axes.set_facecolor("#EEEEEE")  # where nothing is known
    for row, texts in enumerate(panel.texts or ()):
        for column, text in enumerate(texts):
            shade = image.cmap(image.norm(panel.values[row, column]))
            colour = "black" if sum(shade[:3]) > 1.5 else "white"
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    _set_ticks(axes, "x", panel.column_ticks)
    _set_ticks(axes, "y", panel.row_ticks)
    figure.colorbar(image, ax=axes, label=panel.colour_label)


def _set_ticks(axes: matplotlib.axes.Axes, axis: str, labels: Sequence[str]) -> None:
    """Names the places 0, 1, ..., all of them if they are few."""
    every = math.ceil(len(labels) / _MAX_TICKS)
    places = range(0, len(labels), every)
    is_long = axis == "x" and max(len(label) for label in labels) > 3
    names = [labels[place] for place in places]
    if axis == "x":
        axes.set_xticks(places, names, rotation=45 if is_long else 0)
    else:
        axes.set_yticks(places, names)
