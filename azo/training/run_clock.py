"""The clocks of a run, which continue when it is resumed, and the time for its ratings."""

import contextlib
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from azo.training import config, metrics

_COMPILATION_SHARE = 0.25  # of the minutes of a run, at most, for what this process compiles
_RATING_SHARE = 0.1  # of the time of a run, at most, for its ratings
FEWEST_GAMES = 32
"""Games of each match of a rating, which has a multiple of them."""


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
        self.iteration_seconds = 0.0  # of the latest one
        self._compilation_seconds = 0.0
        self._rating_minutes = 0.0  # of all ratings
        self._game_minutes = 0.0  # of the latest one, for each of its games
        self._rated_share = 0.0
        for event in ratings:
            self.add_rating(event)
        for event in ratings[-1:]:
            used = event | {"time/minutes": event["time/minutes"] + self.last_rating_minutes()}
            self._rated_share = max(x.share for x in config.used_limits(settings, used))

    @contextlib.contextmanager
    def iteration(self) -> Iterator[None]:
        """Measures an iteration."""
        start, processor_start = time.perf_counter(), time.process_time()
        yield
        self.iteration_seconds = time.perf_counter() - start
        self.training_seconds += self.iteration_seconds
        self.processor_seconds += time.process_time() - processor_start
        self.minutes = (time.monotonic() - self._start) / 60

    def add_compilation(self, seconds: float) -> float:
        """Counts time of this process for compilation; returns the seconds that are not counted.

        All of it counts, but at most a quarter of the minutes of the run, so that a short run on a
        slow machine trains too.
        """
        if self._settings.minutes is None:
            return 0.0
        most = _COMPILATION_SHARE * 60 * self._settings.minutes
        old = max(self._compilation_seconds - most, 0.0)
        self._compilation_seconds += seconds
        uncounted = max(self._compilation_seconds - most, 0.0) - old
        self._start += uncounted
        return uncounted

    def add_rating(self, event: Mapping[str, Any]) -> None:
        """Counts a rating."""
        self._rating_minutes += event["time/rating_seconds"] / 60
        num_games = sum(map(sum, event["rating/results"]))
        self._game_minutes = event["time/rating_seconds"] / 60 / max(num_games, 1)

    def fields(self) -> Mapping[str, Any]:
        """Returns the clocks by their names in the metrics."""
        return {
            "time/training_seconds": round(self.training_seconds, 2),
            "time/processor_seconds": round(self.processor_seconds, 2),
            "time/minutes": round(self.minutes, 3),
        }

    def last_rating_minutes(self) -> float:
        """Returns the expected time of the rating at the end, by two matches; 0 before any."""
        return 2 * self.games_of_rating(1.0, is_last=True) * self._game_minutes

    def games_of_rating(self, share: float, *, is_last: bool) -> int:
        """Returns the games of each match of a rating after a share of the run, or 0 for none.

        All ratings that are still due share what is left of a tenth of the time of the run. If that
        is too little for each, every second, third, ... one is played, and always the last one.
        """
        ratings, num_left = self._settings.ratings, 1
        if not is_last:
            if not ratings.is_due(share, self._rated_share):
                return 0
            self._rated_share = share
            num_left = ratings.num_points + 1 - int(share * ratings.num_points)
        fewest = min(FEWEST_GAMES, ratings.num_games)
        total = self._settings.minutes or self.minutes / share
        left = _RATING_SHARE * total - self._rating_minutes
        expected = 2 * fewest * self._game_minutes  # 0 before the first rating
        affordable = max(int(left / expected), 0) if expected else num_left  # times the fewest
        if (num_left - 1) % math.ceil(num_left / max(affordable, 1)):
            return 0
        return min(fewest * max(affordable // num_left, 1), ratings.num_games)
