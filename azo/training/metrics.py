"""Metrics of a run, as lines of JSON and as TensorBoard files.

`metrics.jsonl` has one line per event, such as
`{"event": "iteration", "iteration": 12, "learner/policy_loss": 1.2}`, and is meant
for other programs; `tensorboard/` has the same numbers as curves. A resumed run repeats the
iterations after its checkpoint, so their events are dropped first.
"""

import contextlib
import json
import math
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import pydantic
from tensorboardX import event_file_writer
from tensorboardX.proto import event_pb2, summary_pb2

from azo.settings.setting_types import Count, Finite, NonNegativeFloat, NonNegativeInt
from azo.storage import files, journal

RATING = "rating"
"""Kind of event: the Elo of the network that plays after the event's iteration."""

EventFields = dict[str, Any]
"""A line of `metrics.jsonl`; some fields have the types of `_TYPES`."""

OnEvent = Callable[[EventFields], object]
"""Is called with each event once it is written. Its errors end the run with their traceback."""

_Whole = Annotated[int, pydantic.Field(ge=-(2**53), le=2**53)]  # exact as a float too
_VALUES: pydantic.TypeAdapter[EventFields] = pydantic.TypeAdapter(
    dict[str, _Whole | Finite | bool | str | list[Any] | None],
    config=pydantic.ConfigDict(strict=True),
)


# Types of the fields that programs read, which may be null or absent but for those of `_NEEDED`.
_TYPES: dict[str, Any] = {
    "reason": str,
    "selfplay/games": Count,
    "selfplay/evaluations": Count,
    **dict.fromkeys(("time/training_seconds", "time/processor_seconds"), NonNegativeFloat),
    **dict.fromkeys(("time/minutes", "time/rating_seconds"), NonNegativeFloat),
    **dict.fromkeys(("start/commit", "start/processor", "start/devices"), str),
    "evaluation/score": Annotated[float, pydantic.Field(ge=0, le=1)],
    **dict.fromkeys(("evaluation/score_low", "evaluation/score_high"), Finite),
    "evaluation/opponent": str,  # none in supervised training, where games are held out
    **dict.fromkeys(("rating/elo", "rating/elo_low", "rating/elo_high"), Finite),
    "rating/discs_lost": NonNegativeFloat,
    "rating/opponents": list[str],
    "rating/opponents_elo": list[Finite],
    "rating/results": list[list[Count]],
    "rating/summary": str,
}
_NEEDED = {
    "start": ["start/commit", "start/processor", "start/devices"],
    "end": ["reason"],
    RATING: [name for name in _TYPES if name.startswith("rating/")]
    + ["time/rating_seconds", "time/minutes"],
}
_FIELDS: dict[str, Any] = {name: (kind | None, None) for name, kind in _TYPES.items()}
_FIELDS |= {"event": str, "iteration": NonNegativeInt}
_KnownFields = pydantic.create_model(
    "_KnownFields", __config__=pydantic.ConfigDict(strict=True), **_FIELDS
)


def parse_event(line: bytes) -> EventFields:
    """Returns the event of a line; raises ValueError if a field is missing or has another type."""
    event = _VALUES.validate_json(line)
    _KnownFields.model_validate(event)
    needed = ["evaluation/score"] if event.get("evaluation/opponent") else []
    for name in needed + _NEEDED.get(event["event"], []):
        if event.get(name) is None:
            raise ValueError(f"no {name}")
    return event


FILE = "metrics.jsonl"


class Event(NamedTuple):
    """An event of a run, such as an iteration or a match."""

    kind: str  # such as "iteration", "evaluation" or "gate"
    fields: Mapping[str, Any]
    text: str = ""  # for the reader of the console, if not empty


class MetricsWriter(contextlib.AbstractContextManager["MetricsWriter"]):
    """Appends events to the files in a run's folder; a context manager."""

    def __init__(
        self,
        folder: pathlib.Path,
        last_iteration: int = 0,
        check_lock: Callable[[], None] = lambda: None,
        on_event: OnEvent = lambda event: None,
    ):
        """Opens the files in a run's folder, which is created if absent.

        Events after `last_iteration`, that of the restored checkpoint, are dropped. `check_lock` is
        called before each event, and raises ValueError if another process writes here. ValueError,
        one line, if the files cannot be written.
        """
        self._path = folder / FILE
        self._check_lock, self._on_event = check_lock, on_event
        self._curves_path = folder / "tensorboard"
        journal.repair(self._path, parse_event, lambda one: one["iteration"] <= last_iteration)
        files.make_folder(self._curves_path, folder)
        with self._writing_curves():
            # The writer truncates a file of its name, which a second process may have given.
            name = self._curves_path / f"events.{os.urandom(8).hex()}"
            self._curves = event_file_writer.EventsWriter(str(name))
            log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._curves.write_event(
                event_pb2.Event(wall_time=time.time(), step=last_iteration + 1, session_log=log)
            )

    def write(self, event: str, iteration: int, metrics: Mapping[str, Any]) -> None:
        """Appends one event, on disk when this returns.

        `metrics` are numbers, which become curves too, arrays or text; null if not finite.
        ValueError if it cannot be written.
        """
        self._check_lock()
        fields = {name: _plain(value) for name, value in metrics.items()}
        line = {"event": event, "iteration": iteration, **fields}
        journal.append(self._path, json.dumps(line, allow_nan=False))
        values = [
            summary_pb2.Summary.Value(tag=name, simple_value=number)
            for name, number in fields.items()
            if isinstance(number, int | float)
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
        self._on_event(line)

    def __exit__(self, *_: object) -> None:
        # What could not be written has been reported. The `close` of the writer itself would leave
        # the file open if the flush fails.
        for close in (self._curves.flush, self._curves._py_recordio_writer.close):
            with contextlib.suppress(OSError):
                close()

    @contextlib.contextmanager
    def _writing_curves(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ValueError(f"{self._curves_path}: cannot write here ({error.strerror})") from None


def read(folder: pathlib.Path, event: str | None = None) -> list[EventFields]:
    """Returns the events of a run, by default of all kinds, oldest first; none without a file."""
    every = journal.read(folder / FILE, parse_event)
    return [one for one in every if event in (None, one["event"])]


def largest(every: Iterable[EventFields], field: str) -> Any:
    """Returns the largest value of a field of events, such as a running total; 0 without one."""
    return max((one[field] for one in every if one.get(field) is not None), default=0)


def _plain(value: Any) -> Any:
    """Returns arrays, with four decimals, and numbers as JSON can store them; None for NaN."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if getattr(value, "ndim", 0):
        return _plain(np.round(value, 4).tolist())
    number = value.item() if hasattr(value, "item") else value
    return number if math.isfinite(number) else None
