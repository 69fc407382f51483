"""Figures made of panels, and what several panels draw on matplotlib's axes.

Figures are made and drawn inside `style()`. Curves differ in colour, dashes and markers.
"""

import contextlib
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import cycler
import matplotlib
import matplotlib.axes
import matplotlib.figure
import matplotlib.ticker
import numpy as np

from azo.measure import elo
from azo.measure.report import run_log

# Colours of Okabe and Ito, which most colour-blind readers tell apart
# (https://jfly.uni-koeln.de/color/).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.formatter.limits": (-3, 5),
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.prop_cycle": cycler.cycler(
        color=COLOURS, linestyle=("-", "--", "-.", ":", "-", "--"), marker=tuple("oxs^vD")
    ),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "font.size": 11,
    "grid.color": "#DDDDDD",
    "legend.edgecolor": "white",
    "legend.fancybox": False,
    "legend.fontsize": 10,
    "lines.linewidth": 1.8,
    "lines.markersize": 4,
}
_WIDTH, _HEIGHT = 5.6, 3.6  # inches of a panel
_MAX_MARKERS = 60  # a curve of more points has no markers
_MAX_TEXTS = 24  # players whose results fit into the fields of a cross-table


def style() -> contextlib.AbstractContextManager[None]:
    """Returns the context in which figures are made and drawn."""
    return matplotlib.rc_context(_STYLE)


class Sheet:
    """A figure of the report: panels, two in a row, and a caption.

    Attributes:
      name: of its file.
      title: its heading on the page.
      caption: what it shows, and how to read it.
      panels: its axes in order, without those of colour bars.
      missing: metrics that a panel needs and the run has not recorded.
    """

    def __init__(self, name: str, title: str, caption: str):
        """Makes an empty figure."""
        self.name, self.title, self.caption = name, title, caption
        self.panels: list[matplotlib.axes.Axes] = []
        self.missing: list[str] = []
        self._scale = 1.0  # two panels fit beside one another on a page
        self._figure = matplotlib.figure.Figure(layout="constrained")

    def add_panel(
        self,
        title: str,
        x_label: str,
        y_label: str,
        *,
        limits: tuple[float, float] | None = None,
        level: float | None = None,
    ) -> matplotlib.axes.Axes:
        """Adds the axes of a panel; `limits` are those of y, and `level` a line to compare with."""
        axes = self._figure.add_subplot()
        axes.set(title=title, xlabel=x_label, ylabel=y_label)
        if limits is not None:
            axes.set_ylim(limits)
        if level is not None:
            axes.axhline(level, color="#888888", linewidth=1)
        self.panels.append(axes)
        return axes

    def add_curves(
        self,
        run: run_log.RunLog,
        title: str,
        unit: str,
        fields: Mapping[str, str],
        *,
        limits: tuple[float, float] | None = None,
        level: float | None = None,
        is_from_zero: bool = False,
    ) -> None:
        """Adds a panel with fields over iterations, or the first field to the missing ones.

        `unit` labels the y axis, and `fields` are by the labels of their curves. With
        `is_from_zero` the y axis begins at 0, for numbers that are never negative.
        """
        columns = {label: run.column(field) for label, field in fields.items()}
        columns = {label: (x, y) for label, (x, y) in columns.items() if len(y)}
        if not columns:
            self.missing.append(next(iter(fields.values())))
            return
        if is_from_zero:
            limits = (0.0, 1.1 * max(*(y.max() for _, y in columns.values()), 1e-9))
        axes = self.add_panel(title, "iteration", unit, limits=limits, level=level)
        for label, (x, y) in columns.items():
            curve(axes, label, x, y)
        finish_curves(axes, run)

    def add_cross_table(
        self,
        title: str,
        x_label: str,
        y_label: str,
        names: Mapping[str, str],
        pairings: Sequence[elo.Pairing],
    ) -> None:
        """Adds wins minus losses a game of each row's player against each column's as colours.

        `names` are the players in order, with their labels on both axes. Matches of other players
        are left out.
        """
        axes = self.add_panel(title, x_label, y_label)
        places = {name: place for place, name in enumerate(names)}
        values = np.full((len(names), len(names)), np.nan)
        results = {
            (places[row], places[column]): result
            for (row, column), result in elo.cross_table(pairings).items()
            if row in names and column in names
        }
        for place, (wins, draws, losses) in results.items():
            values[place] = (wins - losses) / (wins + draws + losses)
        image = axes.imshow(values, "RdBu", vmin=-1, vmax=1, label="wins minus losses, a game")
        axes.grid(visible=False)
        axes.set_facecolor("#EEEEEE")
        for (row, column), result in results.items() if len(names) <= _MAX_TEXTS else ():
            shade = image.cmap(image.norm(values[row, column]))
            colour = "black" if sum(shade[:3]) > 1.5 else "white"
            text = "/".join(map(str, result))
            axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
        step = math.ceil(len(names) / _MAX_TEXTS)
        ticks, labels = range(0, len(names), step), list(names.values())[::step]
        axes.set_xticks(ticks, labels, rotation=45 if max(map(len, labels)) > 3 else 0)
        axes.set_yticks(ticks, labels)
        self._scale = min(max(1.0, len(names) / 7), 3.0)

    def png(self) -> bytes:
        """Returns the figure, which has a panel, as a PNG."""
        columns = min(2, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        grid = self._figure.add_gridspec(rows, columns)
        for index, axes in enumerate(self.panels):
            axes.set_subplotspec(grid[index])
            for image in axes.images:  # now, as their place depends on the grid
                self._figure.colorbar(image, ax=axes, label=str(image.get_label()))
        self._figure.set_size_inches(columns * _WIDTH * self._scale, rows * _HEIGHT * self._scale)
        png = io.BytesIO()
        self._figure.savefig(png, format="png", dpi=110)
        return png.getvalue()


def curve_sheet(
    run: run_log.RunLog,
    name: str,
    title: str,
    caption: str,
    fields: Mapping[str, tuple[str, str]],
    *,
    is_from_zero: bool = False,
) -> Sheet:
    """Returns a figure with a panel for each field, given its title and its unit."""
    sheet = Sheet(name, title, caption)
    for field, (panel_title, unit) in fields.items():
        curves = {panel_title: field}
        sheet.add_curves(run, panel_title, unit, curves, is_from_zero=is_from_zero)
    return sheet


def curve(
    axes: matplotlib.axes.Axes,
    label: str,
    x: np.ndarray,
    y: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> None:
    """Draws a curve `[N]`, shaded from `low` to `high` if they are given."""
    (line,) = axes.plot(x, y, label=label)
    if len(x) > _MAX_MARKERS:
        line.set_marker("")
    if low is not None and high is not None:
        axes.fill_between(x, low, high, color=line.get_color(), alpha=0.2)


def finish_curves(axes: matplotlib.axes.Axes, run: run_log.RunLog | None = None) -> None:
    """Sets the numbers of both axes and the legend; with a run, marks where its phases begin."""
    engineering = matplotlib.ticker.EngFormatter(sep="")
    axes.xaxis.set_major_formatter(engineering)
    axes.xaxis.set_major_locator(
        matplotlib.ticker.MaxNLocator(6, steps=[1, 2, 5, 10], integer=True)
    )
    if np.abs(axes.dataLim.intervaly).max() >= 10_000:
        axes.yaxis.set_major_formatter(engineering)
    first, last = axes.dataLim.intervalx
    if first == last:
        axes.set_xlim(first - 1, last + 1)
    handles, _ = axes.get_legend_handles_labels()
    if len(handles) > 2:  # so many leave no corner free
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    elif len(handles) == 2:
        axes.legend()
    for name, iteration in run.phases if run else ():
        axes.axvline(iteration, color="#555555", linestyle=":", linewidth=1)
        axes.annotate(
            name,
            (iteration, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -3),
            textcoords="offset points",
            va="top",
            fontsize=9,
            color="#555555",
            rotation=90,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5},
        )
