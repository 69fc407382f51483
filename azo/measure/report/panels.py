"""What a picture may consist of, and how the panels common to many are made.

Nothing is drawn here: `plots` draws these panels, whatever they show.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from azo.measure.report import run_log


@dataclasses.dataclass(frozen=True)
class Series:
    """One curve, or points."""

    label: str
    x: np.ndarray  # [N]
    y: np.ndarray  # [N] float, NaN where unknown
    low: np.ndarray | None = None  # [N], lower end of an interval around y
    high: np.ndarray | None = None  # [N], upper end
    is_points: bool = False


@dataclasses.dataclass(frozen=True)
class Lines:
    """Curves over a common axis."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    is_x_log: bool = False
    level: float | None = None  # a level to compare with
    limits: tuple[float, float] | None = None  # of y
    marks: Sequence[tuple[str, float]] = ()  # names and places on the x axis


@dataclasses.dataclass(frozen=True)
class Bars:
    """Bars stacked on one another."""

    title: str
    x_label: str
    y_label: str
    x: np.ndarray  # [N] centres
    width: np.ndarray  # [N]
    heights: np.ndarray  # [layers, N], from the lowest layer up
    labels: Sequence[str]  # of the layers; with three they are a win, a draw and a loss
    ticks: Sequence[str] | None = None  # of the bars; None numbers the axis


@dataclasses.dataclass(frozen=True)
class HeatMap:
    """A table of colours; NaN stays blank."""

    title: str
    x_label: str
    y_label: str
    colour_label: str
    values: np.ndarray  # [rows, columns], the first row at the top
    row_ticks: Sequence[str]
    column_ticks: Sequence[str]
    limits: tuple[float, float] | None = None  # symmetric about 0 gives diverging colours
    texts: Sequence[Sequence[str]] | None = None  # [rows][columns], written into the fields


Panel = Lines | Bars | HeatMap


@dataclasses.dataclass(frozen=True)
class Picture:
    """Panels that belong together, and what to say below them."""

    name: str  # of its file
    title: str
    caption: str  # what it shows, and how to read it
    panels: Sequence[Panel]  # empty if the run lacks all of `missing`
    missing: Sequence[str] = ()  # metrics that a panel would have needed
    scale: float = 1.0  # size of a panel, 1 being two beside one another on a page


def picture(name: str, title: str, caption: str, panels: Mapping[str, Panel | None]) -> Picture:
    """`panels` is keyed by the metric that each cannot do without."""
    missing = [field for field, panel in panels.items() if panel is None]
    return Picture(name, title, caption, [p for p in panels.values() if p is not None], missing)


def curves(
    events: Sequence[run_log.Event],
    title: str,
    y_label: str,
    fields: Mapping[str, str],
    record: run_log.Record,
    level: float | None = None,
    limits: tuple[float, float] | None = None,
) -> Lines | None:
    """Returns curves of fields, given by their labels, None if no event has one of them."""
    found = {label: run_log.column(events, field) for label, field in fields.items()}
    series = [Series(label, x, y) for label, (x, y) in found.items() if len(y)]
    if not series:
        return None
    marks = phase_marks(record)
    return Lines(title, "iteration", y_label, series, level=level, limits=limits, marks=marks)


def singles(
    events: Sequence[run_log.Event],
    fields: Mapping[str, tuple[str, str]],
    record: run_log.Record,
    *,
    is_from_zero: bool = False,
) -> dict[str, Panel | None]:
    """Returns a panel for each field, given its title and its unit.

    With `is_from_zero` their axes begin at 0, for numbers that are never negative.
    """
    found: dict[str, Panel | None] = {}
    for field, (title, unit) in fields.items():
        _, values = run_log.column(events, field)
        limits = (0.0, 1.1 * max(values.max(initial=0.0), 1e-9)) if is_from_zero else None
        found[field] = curves(events, title, unit, {title: field}, record, limits=limits)
    return found


def by_ply(
    record: run_log.Record,
    values: np.ndarray,
    title: str,
    colour_label: str,
    limits: tuple[float, float] | None = None,
) -> HeatMap:
    """Returns the table of values `[cycles, plies]`, without the plies that no game reached."""
    is_reached = ~np.isnan(values).all(axis=0) & (np.nan_to_num(values) != 0).any(axis=0)
    num_plies = 1 + int(np.flatnonzero(is_reached)[-1]) if is_reached.any() else values.shape[1]
    return HeatMap(
        title=title,
        x_label="ply",
        y_label=cycle_axis(record),
        colour_label=colour_label,
        values=values[:, :num_plies],
        row_ticks=[cycle.label for cycle in record.cycles],
        column_ticks=[str(ply) for ply in range(num_plies)],
        limits=limits,
    )


def phase_marks(record: run_log.Record) -> Sequence[tuple[str, float]]:
    return [(name, float(first)) for name, first in record.phases]


def ends(record: run_log.Record) -> Sequence[run_log.Cycle]:
    """Returns the first and the last cycle, which may be one."""
    return [record.cycles[0], *record.cycles[1:][-1:]]


def cycle_axis(record: run_log.Record) -> str:
    """Returns the label of an axis of cycles."""
    return (
        "generation" if record.cycle_name == "generation" else f"{record.cycle_name} (iterations)"
    )


def cycle_title(record: run_log.Record, cycle: run_log.Cycle) -> str:
    """Returns the name of a cycle within a title."""
    return f"{'generation' if record.cycle_name == 'generation' else 'iterations'} {cycle.label}"
