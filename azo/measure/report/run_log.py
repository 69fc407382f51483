"""The events of a run.

Each phase of a curriculum is a run of its own. Here the phases follow one another: iterations,
games, evaluations and seconds continue from one phase to the next.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

Event = dict[str, Any]  # a line of `metrics.jsonl`

_TOTALS = (
    "iteration",
    "selfplay/games",
    "selfplay/evaluations",
    "time/training_seconds",
    "time/processor_seconds",
)
_EARLIER = "rating_match/earlier"  # an iteration as well


@dataclasses.dataclass(frozen=True)
class RunLog:
    """The events of a run, oldest first."""

    events: Sequence[Event]
    phases: Sequence[tuple[str, int]]  # names and first iterations; empty unless a curriculum

    def of_kind(self, kind: str) -> list[Event]:
        """Returns the events of a kind: `iteration`, `evaluation`, `gate`, `rating`, ..."""
        return [event for event in self.events if event["event"] == kind]

    def column(self, field: str, kind: str = "iteration") -> tuple[np.ndarray, np.ndarray]:
        """Returns iterations `[N]` int and values `[N]` float of the events that have a field.

        Events without the field, or with null, are left out.
        """
        having = [event for event in self.of_kind(kind) if event.get(field) is not None]
        iteration = np.array([event["iteration"] for event in having], int)
        return iteration, np.array([event[field] for event in having], float)

    def total_at(self, field: str, iterations: np.ndarray) -> np.ndarray:
        """Returns a running total after each of the iterations, NaN before its first value."""
        iteration, total = self.column(field)
        place = np.searchsorted(iteration, iterations, side="right") - 1
        padded = np.append(total, np.nan)
        return padded[np.where(place < 0, len(total), place)]


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
        events += [_shifted(event, before) for event in phase]
    if not any(event["event"] == "iteration" for event in events):
        raise ValueError("no iteration is recorded yet")
    return RunLog(events=events, phases=starts if len(starts) > 1 else [])


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
