"""The clocks of a run, which continue when it is resumed, and the time for its ratings."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from azo.training import config, metrics

_RATING_SHARE = 0.1  # of the time of a run, at most, for its ratings


class RunClock:
    """The time that a run has used, in all of its processes one after the other."""

    def __init__(self, settings: config.Config):
        """Continues the clocks of the run in `settings.run.folder`."""
        folder = settings.run.folder
        iterations, ratings = (metrics.read(folder, kind) for kind in ("iteration", metrics.RATING))
        self._settings = settings
        self.training_seconds = metrics.largest(iterations, "time/training_seconds")
        self.processor_seconds = metrics.largest(iterations, "time/processor_seconds")
        self.minutes = metrics.largest(iterations, "time/minutes")  # of wall time, after iterations
        self._start = time.monotonic() - 60 * self.minutes
        self.compilation_minutes = 0.0  # of the latest program
        self._rating_minutes = [event["time/rating_seconds"] / 60 for event in ratings]
        self._rated_share = 0.0
        for event in ratings[-1:]:
            used = event | {"time/minutes": event["time/minutes"] + self.next_rating_minutes()}
            self._rated_share = max(x.share for x in config.used_limits(settings, used))

    @contextlib.contextmanager
    def iteration(self) -> Iterator[None]:
        """Measures an iteration."""
        start, processor_start = time.perf_counter(), time.process_time()
        yield
        self.training_seconds += time.perf_counter() - start
        self.processor_seconds += time.process_time() - processor_start
        self.minutes = (time.monotonic() - self._start) / 60

    @contextlib.contextmanager
    def compilation(self) -> Iterator[None]:
        """Measures a compilation."""
        start = time.monotonic()
        yield
        self.compilation_minutes = (time.monotonic() - start) / 60

    @contextlib.contextmanager
    def rating(self, share: float) -> Iterator[None]:
        """Measures a rating after a share of the run."""
        self._rated_share, start = share, time.monotonic()
        yield
        self._rating_minutes.append((time.monotonic() - start) / 60)

    def figures(self) -> Mapping[str, Any]:
        """Returns the clocks by their names in the metrics."""
        return {
            "time/training_seconds": round(self.training_seconds, 2),
            "time/processor_seconds": round(self.processor_seconds, 2),
            "time/minutes": round(self.minutes, 3),
        }

    def next_rating_minutes(self) -> float:
        """Returns the expected time of a rating, 0 without ratings.

        The first one compiles a program, about as long as an iteration's; others take half of it.
        """
        if not self._settings.ratings.num_points:
            return 0.0
        if not self._rating_minutes:
            return self.compilation_minutes
        return min(self._rating_minutes[1:], default=self._rating_minutes[0] / 2)

    def is_rating_due(self, share: float) -> bool:
        """Returns whether to rate after a share of the run; ratings that take long are left out."""
        if not self._settings.ratings.is_due(share, self._rated_share):
            return False
        self._rated_share = share
        expected = self.next_rating_minutes()
        limit = _RATING_SHARE * (self.minutes + expected) / share
        return sum(self._rating_minutes) + expected <= limit
