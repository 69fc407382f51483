"""Metrics of a run, as lines of JSON and as TensorBoard files.

`metrics.jsonl` has one line per event, such as
`{"event": "iteration", "iteration": 12, "learner/policy_loss": 1.2}`, and is meant
for other programs; `tensorboard/` has the same numbers as curves. A resumed run repeats the
iterations after its checkpoint, so their events are dropped first.
"""

import contextlib
import json
import math
import pathlib
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from tensorboardX import event_file_writer, summary
from tensorboardX.proto import event_pb2, summary_pb2

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

        Raises:
          ValueError: One line: the files cannot be written.
        """
        self._path = folder / FILE
        self._curves_path = folder / "tensorboard"
        _drop_after(self._path, last_iteration)
        with self._writing_curves():
            self._curves_path.mkdir(parents=True, exist_ok=True)
            self._curves = event_file_writer.EventsWriter(str(self._curves_path / "events"))
            log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._curves.write_event(
                event_pb2.Event(wall_time=time.time(), step=last_iteration + 1, session_log=log)
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

        Raises:
          ValueError: One line: it cannot be written. The earlier events are as before.
        """
        fields = plain(metrics)
        line = {"event": event, "iteration": iteration, **fields}
        journal.append(self._path, json.dumps(line, allow_nan=False))
        values = [
            value
            for name, number in fields.items()
            if has_curves and isinstance(number, int | float)
            for value in summary.scalar(name, number).value
        ]
        if values:
            with self._writing_curves():
                self._curves.write_event(
                    event_pb2.Event(
                        wall_time=time.time(),
                        step=iteration,
                        summary=summary_pb2.Summary(value=values),
                    )
                )
                self._curves.flush()

    def close(self) -> None:
        """Closes the files."""
        with contextlib.suppress(OSError):  # what could not be written has been reported
            self._curves.close()

    @contextlib.contextmanager
    def _writing_curves(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ValueError(f"{self._curves_path}: cannot write here ({error.strerror})") from None


def read(folder: pathlib.Path, event: str | None = None) -> list[dict[str, Any]]:
    """Returns the events of a run, by default of all kinds, oldest first; none without a file."""
    events = journal.read(folder / FILE, _parse_event)
    return [one for one in events if event in (None, one["event"])]


def plain(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Returns metrics as JSON can store them; numbers that are not finite become None."""
    return {name: _plain(value) for name, value in metrics.items()}


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


def _parse_event(line: str) -> dict[str, Any]:
    event = json.loads(line)
    if isinstance(event, dict):
        kind, iteration = event.get("event"), event.get("iteration")
        if isinstance(kind, str) and isinstance(iteration, int):
            return event
    raise ValueError("not an event of a run")


def _drop_after(path: pathlib.Path, last_iteration: int) -> None:
    """Drops later events; a crash leaves the old or the new file."""
    events = journal.mend(path, _parse_event)
    kept = [event for event in events if event["iteration"] <= last_iteration]
    if len(kept) < len(events):
        files.write(path, "".join(json.dumps(event) + "\n" for event in kept).encode())
