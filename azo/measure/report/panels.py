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
import matplotlib.image
import matplotlib.ticker
import numpy as np

from azo.measure import elo
from azo.measure.report import run_log

# Colours of Okabe and Ito, which most colour-blind readers tell apart
# (https://jfly.uni-koeln.de/color/).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
OUTCOME_COLOURS = ("#222222", "#E69F00", "#FFFFFF")  # first player wins, draw, second player wins

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
_MAX_TICKS = 16
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

    def __init__(self, name: str, title: str, caption: str, *, scale: float = 1.0):
        """Makes an empty figure; at scale 1 two panels fit beside one another on a page."""
        self.name, self.title, self.caption = name, title, caption
        self.panels: list[matplotlib.axes.Axes] = []
        self.missing: list[str] = []
        self._scale = scale
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
        kind: str = "iteration",
        limits: tuple[float, float] | None = None,
        level: float | None = None,
        is_from_zero: bool = False,
    ) -> None:
        """Adds a panel with fields over iterations, or the first field to the missing ones.

        Args:
          run: the events.
          title: of the panel.
          unit: label of the y axis.
          fields: by the labels of their curves.
          kind: of the events that have the fields.
          limits: of y.
          level: a line to compare with.
          is_from_zero: whether the y axis begins at 0; for numbers that are never negative.
        """
        columns = {label: run.column(field, kind) for label, field in fields.items()}
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
    kind: str = "iteration",
    is_from_zero: bool = False,
) -> Sheet:
    """Returns a figure with a panel for each field, given its title and its unit."""
    sheet = Sheet(name, title, caption)
    for field, (panel_title, unit) in fields.items():
        sheet.add_curves(
            run, panel_title, unit, {panel_title: field}, kind=kind, is_from_zero=is_from_zero
        )
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


def bars(
    axes: matplotlib.axes.Axes,
    x: np.ndarray,
    heights: Mapping[str, np.ndarray],
    width: np.ndarray | float,
) -> None:
    """Draws bars stacked on one another.

    Args:
      axes: where to draw.
      x: `[N]`, the centres.
      heights: of each layer `[N]`, the lowest first; three are a win, a draw and a loss.
      width: of the bars.
    """
    colours = OUTCOME_COLOURS if len(heights) == len(OUTCOME_COLOURS) else COLOURS
    bottom = np.zeros(len(x))
    for colour, (label, height) in zip(colours, heights.items(), strict=False):
        height = np.nan_to_num(height)
        axes.bar(
            x,
            height,
            width,
            bottom,
            color=colour,
            edgecolor="#444444",
            linewidth=0.6,
            label=label,
        )
        bottom = bottom + height
    axes.grid(visible=False, axis="x")
    if len(heights) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), reverse=True)


def heat_map(
    axes: matplotlib.axes.Axes,
    values: np.ndarray,
    label: str,
    *,
    limits: tuple[float, float | None] = (0, None),
) -> matplotlib.image.AxesImage:
    """Draws `[rows, columns]` as colours, the first row at the top; NaN stays blank.

    Args:
      axes: where to draw.
      values: the numbers.
      label: of the colour bar, which `Sheet.png` adds.
      limits: of the colours; limits symmetric about 0 give diverging colours.
    """
    rows, columns = values.shape
    image = axes.imshow(
        values,
        cmap="RdBu" if limits[0] == -(limits[1] or 0) != 0 else "cividis",
        vmin=limits[0],
        vmax=limits[1],
        aspect="equal" if rows == columns else "auto",
        interpolation="nearest",
        label=label,
    )
    axes.grid(visible=False)
    axes.set_facecolor("#EEEEEE")
    return image


def plies_heat_map(
    axes: matplotlib.axes.Axes,
    run: run_log.RunLog,
    values: np.ndarray,
    label: str,
    *,
    limits: tuple[float, float | None] = (0, None),
) -> None:
    """Draws values `[spans, plies]`, without the plies that no game reached."""
    is_reached = ~np.isnan(values).all(axis=0) & (np.nan_to_num(values) != 0).any(axis=0)
    num_plies = 1 + int(np.flatnonzero(is_reached)[-1]) if is_reached.any() else values.shape[1]
    heat_map(axes, values[:, :num_plies], label, limits=limits)
    set_ticks(axes, columns=[str(ply) for ply in range(num_plies)])
    set_ticks(axes, rows=[span.label for span in run.spans])


def cross_table(
    axes: matplotlib.axes.Axes, names: Sequence[str], pairings: Sequence[elo.Pairing]
) -> None:
    """Draws wins minus losses a game of each row's player against each column's."""
    values = np.full((len(names), len(names)), np.nan)
    results = {
        (names.index(row), names.index(column)): result
        for (row, column), result in elo.cross_table(pairings).items()
        if row in names and column in names
    }
    for place, (wins, draws, losses) in results.items():
        values[place] = (wins - losses) / (wins + draws + losses)
    image = heat_map(axes, values, "wins minus losses, a game", limits=(-1.0, 1.0))
    for (row, column), result in results.items() if len(names) <= _MAX_TEXTS else ():
        shade = image.cmap(image.norm(values[row, column]))
        colour = "black" if sum(shade[:3]) > 1.5 else "white"
        text = "/".join(map(str, result))
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)


def cross_table_scale(num_players: int) -> float:
    """Returns the scale of a figure that holds a cross-table."""
    return min(max(1.0, num_players / 7), 3.0)


def set_ticks(
    axes: matplotlib.axes.Axes, *, columns: Sequence[str] = (), rows: Sequence[str] = ()
) -> None:
    """Names the places 0, 1, ... of the axes; all of them if they are few."""
    if columns:
        places = range(0, len(columns), math.ceil(len(columns) / _MAX_TICKS))
        is_long = max(map(len, columns)) > 3
        axes.set_xticks(places, [columns[i] for i in places], rotation=45 if is_long else 0)
    if rows:
        places = range(0, len(rows), math.ceil(len(rows) / _MAX_TICKS))
        axes.set_yticks(places, [rows[i] for i in places])
