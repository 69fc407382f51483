"""Figures made of panels, plots of plotly that a reader can hover and zoom."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from azo.report import run_log

# Colours of Okabe and Ito, which most colour-blind readers can distinguish
# (https://jfly.uni-koeln.de/color/).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NETWORK, *_OTHERS = COLOURS
_DASHES = ("solid", "dash", "dashdot", "dot")
_MAX_POINTS = 2000  # of a curve; longer ones are thinned evenly
_MAX_MARKERS = 60  # a curve of more points has no markers
_THOUSANDS = 10_000  # from here numbers have prefixes of SI

Curves = tuple[str, str, str | Sequence[tuple[str, str]]]
"""A panel over iterations: its title, the unit of y, and a field, or labels with their fields."""

# Axes of y by their unit: their ends, those that begin at 0, and lines to compare with.
_LIMITS = {"score": (0, 1.02), "probability": (0, 1.02)}
_FROM_ZERO = {"games", "games per iteration", "share", "iterations", "positions", "seconds"}
_FROM_ZERO |= {"simulations per second", "games per second"}
_LEVELS = {"score": 0.5, "value − result": 0.0}

_AXIS = {"gridcolor": "#DDDDDD", "linecolor": "#888888", "zeroline": False, "automargin": True}
_TEMPLATE = go.layout.Template(
    layout={
        "colorway": COLOURS,
        "font": {"family": "system-ui, sans-serif", "color": "#222222"},
        "hoverlabel": {"namelength": -1},
        "hovermode": "x unified",
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "margin": {"l": 10, "r": 10, "t": 50, "b": 10},
        "plot_bgcolor": "white",
        "title": {"x": 0.01, "font": {"size": 16}},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)


@dataclasses.dataclass
class Sheet:
    """A figure of the report: panels and a caption."""

    name: str  # of its section on the page
    title: str  # its heading on the page
    caption: str  # what it shows, and how to read it
    panels: list[go.Figure] = dataclasses.field(default_factory=list)
    """Plots in their order; none where the run has not recorded what they show."""

    def add_panel(self, title: str, x_label: str, unit: str) -> go.Figure:
        """Adds a panel; `unit` labels the y axis."""
        panel = go.Figure(layout={"template": _TEMPLATE, "title": {"text": title}})
        panel.update_xaxes(title_text=x_label, tickformat="~s", hoverformat=",.6~g")
        panel.update_yaxes(title_text=unit, range=_LIMITS.get(unit), hoverformat=",.4~g")
        if unit in _FROM_ZERO:
            panel.update_yaxes(rangemode="tozero")
        if unit in _LEVELS:
            panel.add_hline(_LEVELS[unit], line={"color": "#888888", "width": 1})
        self.panels.append(panel)
        return panel


def opponent_colours(run: run_log.RunLog) -> dict[str, str]:
    """Returns a colour for each opponent of a run, the same in all panels."""
    met = {name for event in run.of_kind("rating") for name in event["rating/opponents"]}
    met |= {str(event.get("evaluation/opponent", "")) for event in run.of_kind("evaluation")}
    return {name: _OTHERS[number % len(_OTHERS)] for number, name in enumerate(sorted(met))}


def curve_sheet(
    run: run_log.RunLog,
    name: str,
    title: str,
    caption: str,
    panels: Sequence[Curves],
    needs: str | None = None,
) -> Sheet:
    """Returns a figure with the panels of which the run has a field.

    A figure whose field `needs` is 0 in all iterations is empty. A panel with nothing but 0 is left
    out: the run does not use what it shows.
    """
    sheet = Sheet(name, title, caption)
    if needs is not None and not run.column(needs)[1].any():
        return sheet
    for panel_title, unit, fields in panels:
        named = [(panel_title, fields)] if isinstance(fields, str) else fields
        columns = {label: run.column(field) for label, field in named}
        columns = {label: (x, y) for label, (x, y) in columns.items() if len(y)}
        is_flat = all(len(y) > 1 and not y.any() for _, y in columns.values())
        if not columns or (is_flat and needs is None):
            continue
        panel = sheet.add_panel(panel_title, "iteration", unit)
        if max(np.abs(y).max() for _, y in columns.values()) >= _THOUSANDS:
            panel.update_yaxes(tickformat="~s", hoverformat=",.6~g")
        for label, (x, y) in columns.items():
            curve(panel, label, x, y)
        mark_phases(panel, run)
    return sheet


def curve(
    panel: go.Figure,
    label: str,
    x: np.ndarray,
    y: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    *,
    mode: str | None = None,
    colour: str | None = None,
) -> None:
    """Draws a curve `[N]`, shaded from `low` to `high` if they are given.

    `mode` is plotly's: lines, markers or both; by default lines, with markers on short curves. The
    `colour` is by default the next one of the panel.
    """
    keep = slice(None, None, max(1, -(-len(x) // _MAX_POINTS)))
    number = sum(trace.showlegend is not False for trace in panel.data)
    colour = colour or COLOURS[number % len(COLOURS)]
    if low is not None and high is not None:
        hidden = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        panel.add_scatter(x=x[keep], y=low[keep], **hidden)
        panel.add_scatter(x=x[keep], y=high[keep], fill="tonexty", **hidden)
        panel.data[-1].fillcolor = f"rgba{(*bytes.fromhex(colour[1:]), 0.2)}"
    panel.add_scatter(
        x=x[keep],
        y=y[keep],
        name=label,
        mode=mode or ("lines" if len(x) > _MAX_MARKERS else "lines+markers"),
        line={"color": colour, "dash": _DASHES[number % len(_DASHES)]},
    )
    panel.update_layout(showlegend=number > 0)


def mark_phases(panel: go.Figure, run: run_log.RunLog) -> None:
    """Marks where the phases of a curriculum begin, on an axis of iterations."""
    line = {"color": "#555555", "dash": "dot", "width": 1}
    for name, iteration in run.phases:
        panel.add_vline(iteration, line=line, annotation={"text": name, "textangle": 90})


def html(sheet: Sheet) -> str:
    """Returns the panels of a figure as elements of a page that has plotly's script."""
    config = {"displaylogo": False, "responsive": True}
    return "\n".join(
        panel.to_html(
            config, full_html=False, include_plotlyjs=False, div_id=f"{sheet.name}-{number}"
        )
        for number, panel in enumerate(sheet.panels)
    )
