"""Metrics of a run, as lines of JSON and as TensorBoard files.

`metrics.jsonl` has one line per event, such as
`{"event": "iteration", "iteration": 12, "learner/policy_loss": 1.2}`, and is meant
for other programs; `tensorboard/` has the same numbers as curves. A resumed run repeats the
iterations after its checkpoint, so their events are dropped first.
"""

import json
import math
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorboardX

from azo.formats import files
from azo.measure import journal

FILE = "metrics.jsonl"


class Event(NamedTuple):
    """An event of a run, such as an iteration or a match."""

    kind: str  # such as "iteration", "evaluation" or "gate"
    fields: Mapping[str, Any]
    text: str = ""  # for the reader of the console, if not empty
    has_curves: bool = True  # False where an iteration has several such events


class MetricsWriter:
    """Appends events to the files in a run's folder; a context manager, or call `close`."""

    def __init__(self, folder: pathlib.Path, *, last_iteration: int = 0):
        """Opens the files in a run's folder, which is created if absent.

        Events after `last_iteration`, that of the restored checkpoint, are dropped.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        if path.exists():
            _drop_after(path, last_iteration)
        self._lines = path.open("a", encoding="utf-8")
        self._curves = tensorboardX.SummaryWriter(
            str(folder / "tensorboard"), purge_step=last_iteration + 1
        )

    def __enter__(self) -> "MetricsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(
        self, event: str, iteration: int, metrics: Mapping[str, Any], *, has_curves: bool = True
    ) -> None:
        """Appends one event, on disk when this returns.

        Args:
          event: the kind, such as "iteration", "evaluation" or "gate".
          iteration: iterations done at the time of the event.
          metrics: numbers, which become curves too, arrays or text; null if not finite.
          has_curves: False if an iteration has several such events.
        """
        plain = {name: _plain(value) for name, value in metrics.items()}
        line = {"event": event, "iteration": iteration, **plain}
        self._lines.write(json.dumps(line, allow_nan=False) + "\n")
        self._lines.flush()
        for name, value in plain.items():
            if has_curves and isinstance(value, int | float):
                self._curves.add_scalar(name, value, iteration)

    def close(self) -> None:
        """Closes the files."""
        self._lines.close()
        self._curves.close()


def read(folder: pathlib.Path, event: str | None = None) -> list[dict[str, Any]]:
    """Returns the events of a run, by default of all kinds, oldest first; none without a file."""
    return [line for line in _events(folder / FILE) if event in (None, line["event"])]


def _plain(value: Any) -> Any:
    """Returns arrays and NumPy numbers as Python values, with four decimals in arrays."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if getattr(value, "ndim", 0):
        return _plain(np.round(value, 4).tolist())
    number = value.item() if hasattr(value, "item") else value
    return number if math.isfinite(number) else None


def _events(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Yields the events of a file, without a last line that a crash truncated."""
    for number, line in enumerate(journal.read(path), start=1):
        try:
            event = json.loads(line)
            is_event = "event" in event and isinstance(event["iteration"], int)
        except (json.JSONDecodeError, TypeError, KeyError):
            is_event = False
        if not is_event:
            raise ValueError(f"{path}, line {number}: not an event of a run")
        yield event


def _drop_after(path: pathlib.Path, last_iteration: int) -> None:
    """Drops later events; a crash leaves the old or the new file."""
    kept = [line for line in _events(path) if line["iteration"] <= last_iteration]
    files.write(path, "".join(json.dumps(line) + "\n" for line in kept).encode())
