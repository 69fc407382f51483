"""The events of a run, and their means and sums over spans of iterations.

Each phase of a curriculum is a run of its own. Here the phases follow one another: iterations,
games, evaluations and seconds continue from one phase to the next.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

Event = dict[str, Any]  # a line of `metrics.jsonl`

_TOTALS = ("iteration", "selfplay/games", "selfplay/evaluations", "time/training_seconds")
_EARLIER = "rating_match/earlier"  # an iteration as well
_MAX_GENERATIONS = 40  # more are indistinguishable in a figure
# Spans of a run with one generation or too many; none reaches over two phases.
_NUM_SPANS = 10


@dataclasses.dataclass(frozen=True)
class Span:
    """Successive iterations that share one bar or one row of a figure."""

    label: str  # number of the generation, or first and last iteration
    events: Sequence[Event]  # of iterations, at least one

    @property
    def first(self) -> int:
        """The first iteration."""
        return self.events[0]["iteration"]

    @property
    def last(self) -> int:
        """The last iteration."""
        return self.events[-1]["iteration"]


@dataclasses.dataclass(frozen=True)
class RunLog:
    """The events of a run, oldest first."""

    events: Sequence[Event]
    spans: Sequence[Span]
    are_generations: bool  # whether each span is a generation
    phases: Sequence[tuple[str, int]]  # names and first iterations; empty unless a curriculum

    @property
    def iterations(self) -> Sequence[Event]:
        """The events of iterations, at least one."""
        return self.of_kind("iteration")

    @property
    def span_name(self) -> str:
        """What a span is called in a title."""
        return "generation" if self.are_generations else "span of iterations"

    @property
    def span_axis(self) -> str:
        """The label of an axis of spans, or the word before the label of a span."""
        return "generation" if self.are_generations else "iterations"

    @property
    def span_ends(self) -> Sequence[Span]:
        """The first and the last span, which may be one."""
        return [self.spans[0], *self.spans[1:][-1:]]

    def of_kind(self, kind: str) -> list[Event]:
        """Returns the events of a kind: `iteration`, `evaluation`, `gate`, `rating`, ..."""
        return [event for event in self.events if event["event"] == kind]

    def column(self, field: str, kind: str = "iteration") -> tuple[np.ndarray, np.ndarray]:
        """Returns iterations `[N]` int and values `[N]` float of the events that have a field."""
        return column(self.of_kind(kind), field)

    def total_at(self, field: str, iterations: np.ndarray) -> np.ndarray:
        """Returns a running total after each of the iterations, NaN before its first value."""
        iteration, total = self.column(field)
        place = np.searchsorted(iteration, iterations, side="right") - 1
        padded = np.append(total, np.nan)
        return padded[np.where(place < 0, len(total), place)]

    def span_means(self, field: str) -> np.ndarray:
        """Returns the mean `[spans]` of a field of iterations, NaN where a span has none."""
        return np.array([float(_mean(column(span.events, field)[1])) for span in self.spans])

    def span_sums(self, field: str) -> np.ndarray:
        """Returns the sum `[spans]` of a field of iterations."""
        return np.array([column(span.events, field)[1].sum() for span in self.spans])

    def span_rows(self, field: str) -> np.ndarray | None:
        """Returns the mean `[spans, ...]` of a field that holds lists, NaN where a span has none.

        None if no iteration has the field.
        """
        shape = rows(self.iterations, field).shape[1:]
        if shape == (0,):
            return None
        lists = [rows(span.events, field) for span in self.spans]
        blank = np.full(shape, np.nan)
        return np.stack([_mean(x) if x.shape[1:] == shape else blank for x in lists])


def from_phases(phases: Sequence[tuple[str, Sequence[Event]]]) -> RunLog:
    """Returns the log of phases, given their names and events; a plain run is a single phase.

    Raises:
      ValueError: no iteration is recorded.
    """
    events: list[Event] = []
    starts = []
    for name, phase in phases:
        before = next((e for e in reversed(events) if e["event"] == "iteration"), {})
        starts.append((name, before.get("iteration", 0) + 1))
        events += [_shifted(event, before) | {"phase": name} for event in phase]
    iterations = [event for event in events if event["event"] == "iteration"]
    if not iterations:
        raise ValueError("no iteration is recorded yet")
    generations = _generations(iterations)
    return RunLog(
        events=events,
        spans=generations or _equal_spans(iterations),
        are_generations=bool(generations),
        phases=starts if len(starts) > 1 else [],
    )


def column(events: Sequence[Event], field: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns iterations `[N]` int and a field's values `[N]` float of the events that have it.

    Events without the field, or with null, are left out.
    """
    having = [event for event in events if event.get(field) is not None]
    iteration = np.array([event["iteration"] for event in having], int)
    return iteration, np.array([event[field] for event in having], float)


def rows(events: Sequence[Event], field: str) -> np.ndarray:
    """Returns a field that holds lists, `[N, ...]` float, with NaN for null.

    Only lists of the newest one's shape are returned: boards may differ between phases.
    """
    lists = [np.array(event[field], float) for event in events if event.get(field) is not None]
    same = [row for row in lists if row.shape == lists[-1].shape]
    return np.stack(same) if same else np.zeros((0, 0))


def _mean(values: np.ndarray) -> np.ndarray:
    """Returns the mean over the first axis without NaN; NaN where there is nothing else."""
    count = (~np.isnan(values)).sum(axis=0)
    return np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)


def _shifted(event: Event, before: Event) -> Event:
    """Returns an event with its totals added to those of the last iteration before."""
    totals = {
        name: event[name] + before.get(name, 0)
        for name in _TOTALS
        if event.get(name) is not None and before.get(name) is not None
    }
    if event.get(_EARLIER) is not None:
        totals[_EARLIER] = event[_EARLIER] + before.get("iteration", 0)
    return event | totals


def _generations(iterations: Sequence[Event]) -> list[Span]:
    """Returns a span for each generation; none if no phase has two, or there are too many.

    The numbers continue over the phases, each of which counts its own from 0.
    """
    generations: dict[tuple[str, int], list[Event]] = {}
    for event in iterations:
        generations.setdefault((event["phase"], event.get("generation", 0)), []).append(event)
    num_phases = len({phase for phase, _ in generations})
    if not num_phases < len(generations) <= _MAX_GENERATIONS:
        return []
    return [Span(str(number), events) for number, events in enumerate(generations.values())]


def _equal_spans(iterations: Sequence[Event]) -> list[Span]:
    """Returns about `_NUM_SPANS` spans of about equal length."""
    spans = []
    for phase in dict.fromkeys(event["phase"] for event in iterations):
        events = [event for event in iterations if event["phase"] == phase]
        num_spans = max(1, round(_NUM_SPANS * len(events) / len(iterations)))
        for indices in np.array_split(np.arange(len(events)), min(num_spans, len(events))):
            span = [events[i] for i in indices]
            first, last = span[0]["iteration"], span[-1]["iteration"]
            spans.append(Span(str(first) if first == last else f"{first}–{last}", span))
    return spans
