"""Figures made of panels, plots of plotly that a reader can hover and zoom."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from azo.measure import elo
from azo.measure.report import run_log

# Colours of Okabe and Ito, which most colour-blind readers tell apart
# (https://jfly.uni-koeln.de/color/).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("solid", "dash", "dashdot", "dot")
_MAX_POINTS = 2000  # of a curve; longer ones are thinned evenly
_MAX_MARKERS = 60  # a curve of more points has no markers
_MAX_TEXTS = 24  # players whose results fit into the fields of a cross-table
_THOUSANDS = 10_000  # from here numbers have prefixes of SI

_AXIS = {"gridcolor": "#DDDDDD", "linecolor": "#888888", "zeroline": False, "automargin": True}
_TEMPLATE = go.layout.Template(
    layout={
        "colorway": COLOURS,
        "font": {"family": "system-ui, sans-serif", "color": "#222222"},
        "hoverlabel": {"namelength": -1},
        "hovermode": "x unified",
        "legend": {"orientation": "h", "y": -0.25},
        "margin": {"l": 10, "r": 10, "t": 50, "b": 10},
        "plot_bgcolor": "white",
        "title": {"x": 0.01, "font": {"size": 16}},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)


class Sheet:
    """A figure of the report: panels and a caption.

    Attributes:
      name: of its section on the page.
      title: its heading on the page.
      caption: what it shows, and how to read it.
      panels: plots in their order; none where the run has not recorded what they show.
    """

    def __init__(self, name: str, title: str, caption: str):
        """Makes an empty figure."""
        self.name, self.title, self.caption = name, title, caption
        self.panels: list[go.Figure] = []

    def add_panel(
        self,
        title: str,
        x_label: str,
        y_label: str,
        *,
        limits: tuple[float, float] | None = None,
        level: float | None = None,
    ) -> go.Figure:
        """Adds a panel; `limits` are those of y, and `level` a line to compare with."""
        panel = go.Figure(layout={"template": _TEMPLATE, "title": {"text": title}})
        panel.update_xaxes(title_text=x_label, tickformat="~s", hoverformat=",.6~g")
        panel.update_yaxes(title_text=y_label, range=limits, hoverformat=",.4~g")
        if level is not None:
            panel.add_hline(level, line={"color": "#888888", "width": 1})
        self.panels.append(panel)
        return panel

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
        """Adds a panel with fields over iterations, if the run has one of them.

        `unit` labels the y axis, and `fields` are by the labels of their curves. With
        `is_from_zero` the y axis begins at 0, for numbers that are never negative.
        """
        columns = {label: run.column(field) for label, field in fields.items()}
        columns = {label: (x, y) for label, (x, y) in columns.items() if len(y)}
        if not columns:
            return
        panel = self.add_panel(title, "iteration", unit, limits=limits, level=level)
        if is_from_zero:
            panel.update_yaxes(rangemode="tozero")
        if max(np.abs(y).max() for _, y in columns.values()) >= _THOUSANDS:
            panel.update_yaxes(tickformat="~s", hoverformat=",.6~g")
        for label, (x, y) in columns.items():
            curve(panel, label, x, y)
        mark_phases(panel, run)

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
        places = {name: place for place, name in enumerate(names)}
        values = np.full((len(names), len(names)), np.nan)
        texts = np.full(values.shape, "", object)
        for (row, column), (wins, draws, losses) in elo.cross_table(pairings).items():
            if row in names and column in names:
                place = places[row], places[column]
                values[place] = (wins - losses) / (wins + draws + losses)
                texts[place] = f"{wins}/{draws}/{losses}"
        labels = list(names.values())
        panel = self.add_panel(title, x_label, y_label)
        panel.add_heatmap(
            x=labels,
            y=labels,
            z=values,
            text=texts,
            texttemplate="%{text}" if len(names) <= _MAX_TEXTS else None,
            colorscale="RdBu",
            zmin=-1,
            zmax=1,
            colorbar={"title": {"text": "wins minus losses, a game", "side": "right"}},
            hovertemplate="%{y} against %{x}: %{text}<extra></extra>",
            hoverongaps=False,
        )
        panel.update_layout(hovermode="closest", plot_bgcolor="#EEEEEE")
        panel.update_xaxes(type="category", showgrid=False)
        panel.update_yaxes(type="category", showgrid=False, autorange="reversed")


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
    panel: go.Figure,
    label: str,
    x: np.ndarray,
    y: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    *,
    mode: str | None = None,
) -> None:
    """Draws a curve `[N]`, shaded from `low` to `high` if they are given.

    `mode` is plotly's: lines, markers or both; by default lines, with markers on short curves.
    """
    keep = slice(None, None, max(1, -(-len(x) // _MAX_POINTS)))
    number = sum(trace.showlegend is not False for trace in panel.data)
    colour = COLOURS[number % len(COLOURS)]
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
