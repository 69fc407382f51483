"""The events of a run.

Each phase of a curriculum, `1-NAME`, `2-NAME`, ..., is a separate run. Here the phases follow one
another: iterations, games, evaluations and seconds continue from one phase to the next.
"""

import dataclasses
import pathlib
import re
from collections.abc import Sequence

import numpy as np

from azo.storage import files
from azo.training import metrics

Event = metrics.EventFields

_TOTALS = {  # fields that continue from phase to phase, and whose total they continue
    "iteration": "iteration",
    "selfplay/games": "selfplay/games",
    "selfplay/evaluations": "selfplay/evaluations",
    "time/training_seconds": "time/training_seconds",
    "time/processor_seconds": "time/processor_seconds",
}


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

        Events without a number in the field are left out.
        """
        having = [e for e in self.of_kind(kind) if isinstance(e.get(field), int | float)]
        iteration = np.array([event["iteration"] for event in having], int)
        return iteration, np.array([event[field] for event in having], float)


def folders(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the folders of a run or of the phases of a curriculum, in their order.

    Raises:
      ValueError: One line: the folder has no run.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; give the folder of a run, such as runs/azo8")
    if (folder / metrics.FILE).is_file():
        return [folder]
    numbered = [
        (re.match(r"(\d+)-", path.parent.name), path.parent)
        for path in folder.glob(f"*/{metrics.FILE}")
    ]
    runs = sorted((int(match[1]), path) for match, path in numbered if match is not None)
    if not runs:
        raise ValueError(
            f"{folder}: no run: neither {metrics.FILE} nor phases such as 1-NAME/{metrics.FILE}"
        )
    return [path for _, path in runs]


def read(folder: pathlib.Path) -> RunLog:
    """Returns the log of a run or of a curriculum.

    Raises:
      ValueError: One line: the folder has no run, or the run has no iteration yet.
    """
    runs = [(run.name, metrics.read(run)) for run in folders(folder)]
    with files.located(folder):
        return from_phases(runs)


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
    return event | {
        name: event[name] + before[total]
        for name, total in _TOTALS.items()
        if event.get(name) is not None and before.get(total) is not None
    }
