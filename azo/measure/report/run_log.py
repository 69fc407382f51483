"""What a run wrote down, in order, and cut into cycles for pictures.

The phases of a curriculum are runs of their own; here they follow one another, so iterations,
games, evaluations and seconds go on counting from one phase to the next.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

Event = dict[str, Any]  # a line of `metrics.jsonl`

_TOTALS = ("iteration", "selfplay/games", "selfplay/evaluations", "time/training_seconds")
_EARLIER = "rating_match/earlier"  # an iteration too
_MOST_GENERATIONS = 40  # that are told apart in a picture
# Cycles of a run of one generation, or of too many; none reaches over two phases.
_NUM_PARTS = 10


@dataclasses.dataclass(frozen=True)
class Cycle:
    """Iterations that one bar or one row of a picture stands for."""

    label: str
    events: Sequence[Event]  # of iterations, at least one

    @property
    def first(self) -> int:
        return self.events[0]["iteration"]

    @property
    def last(self) -> int:
        return self.events[-1]["iteration"]


@dataclasses.dataclass(frozen=True)
class Record:
    """The events of a run, oldest first."""

    iterations: Sequence[Event]  # at least one
    evaluations: Sequence[Event]
    gates: Sequence[Event]
    replays: Sequence[Event]  # diagnostics of the replay
    rating_matches: Sequence[Event]
    ratings: Sequence[Event]
    cycles: Sequence[Cycle]
    cycle_name: str  # what a cycle is: "generation" or "part of the run"
    phases: Sequence[tuple[str, int]]  # names and first iterations; empty unless a curriculum


def make(phases: Sequence[tuple[str, Sequence[Event]]]) -> Record:
    """Returns the record of phases, given their names and events; a plain run is a single one.

    Raises:
      ValueError: no iteration is recorded.
    """
    events: list[Event] = []
    starts = []
    for name, phase in phases:
        iterations = [event for event in events if event["event"] == "iteration"]
        before = iterations[-1] if iterations else {}
        starts.append((name, before.get("iteration", 0) + 1))
        events += [_shifted(event, before) | {"phase": name} for event in phase]
    of_kind = {
        kind: [event for event in events if event["event"] == kind]
        for kind in ("iteration", "evaluation", "gate", "replay", "rating_match", "rating")
    }
    if not of_kind["iteration"]:
        raise ValueError("no iteration is recorded yet")
    cycles, cycle_name = _cycles(of_kind["iteration"])
    return Record(
        iterations=of_kind["iteration"],
        evaluations=of_kind["evaluation"],
        gates=of_kind["gate"],
        replays=of_kind["replay"],
        rating_matches=of_kind["rating_match"],
        ratings=of_kind["rating"],
        cycles=cycles,
        cycle_name=cycle_name,
        phases=starts if len(starts) > 1 else [],
    )


def column(events: Sequence[Event], field: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns iterations `[N]` int and a field's values `[N]` float of the events that have it.

    Those without the field, or with null, are left out.
    """
    known = [event for event in events if event.get(field) is not None]
    iteration = np.array([event["iteration"] for event in known], int)
    return iteration, np.array([event[field] for event in known], float)


def rows(events: Sequence[Event], field: str) -> np.ndarray:
    """Returns a field that holds lists, `[N, ...]` float, with NaN for null.

    Only lists of the newest one's shape are taken: boards may differ between phases.
    """
    lists = [np.array(event[field], float) for event in events if event.get(field) is not None]
    same = [row for row in lists if row.shape == lists[-1].shape]
    return np.stack(same) if same else np.zeros((0, 0))


def mean(values: np.ndarray) -> np.ndarray:
    """Returns the mean over the first axis without NaN; NaN where there is nothing else."""
    is_known = ~np.isnan(values)
    total = np.where(is_known, values, 0.0).sum(axis=0)
    count = is_known.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def cycle_means(record: Record, field: str) -> np.ndarray:
    """Returns the mean `[cycles]` of a field of iterations, NaN where a cycle has none."""
    return np.array([float(mean(column(c.events, field)[1])) for c in record.cycles])


def cycle_sums(record: Record, field: str) -> np.ndarray:
    """Returns the sum `[cycles]` of a field of iterations."""
    return np.array([column(cycle.events, field)[1].sum() for cycle in record.cycles])


def cycle_rows(record: Record, field: str) -> np.ndarray | None:
    """Returns the mean `[cycles, ...]` of a field that holds lists, NaN where a cycle has none.

    None if no iteration has the field.
    """
    shape = rows(record.iterations, field).shape[1:]
    if shape == (0,):
        return None
    found = [rows(cycle.events, field) for cycle in record.cycles]
    return np.stack([mean(x) if x.shape[1:] == shape else np.full(shape, np.nan) for x in found])


def total_at(record: Record, field: str, iterations: np.ndarray) -> np.ndarray:
    """Returns a running total as it stood after each of the iterations, NaN before the first."""
    known, total = column(record.iterations, field)
    place = np.searchsorted(known, iterations, side="right") - 1
    padded = np.append(total, np.nan)
    return padded[np.where(place < 0, len(total), place)]


def _shifted(event: Event, before: Event) -> Event:
    """Returns an event with its totals counted on from those of the last iteration before."""
    earlier = event.get(_EARLIER)
    more = {} if earlier is None else {_EARLIER: earlier + before.get("iteration", 0)}
    more |= {
        name: event[name] + before.get(name, 0)
        for name in _TOTALS
        if event.get(name) is not None and before.get(name) is not None
    }
    return event | more


def _cycles(iterations: Sequence[Event]) -> tuple[list[Cycle], str]:
    generations: dict[tuple[str, int], list[Event]] = {}
    for event in iterations:
        generations.setdefault((event["phase"], event.get("generation", 0)), []).append(event)
    phases = {phase for phase, _ in generations}
    if len(phases) < len(generations) <= _MOST_GENERATIONS:
        # Over all phases they are counted on; in each they begin with 0.
        of_generations = enumerate(generations.values())
        return [Cycle(str(number), events) for number, events in of_generations], "generation"
    cycles = []
    for phase in dict.fromkeys(event["phase"] for event in iterations):
        events = [event for event in iterations if event["phase"] == phase]
        num_parts = max(1, round(_NUM_PARTS * len(events) / len(iterations)))
        for part in np.array_split(np.arange(len(events)), min(num_parts, len(events))):
            span = [events[i] for i in part]
            cycles.append(Cycle(_span(span), span))
    return cycles, "part of the run"


def _span(events: Sequence[Event]) -> str:
    first, last = events[0]["iteration"], events[-1]["iteration"]
    return str(first) if first == last else f"{first}–{last}"
