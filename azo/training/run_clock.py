"""The clocks of a run, which continue when it is resumed, and the time for its ratings."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from azo.training import config, metrics

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
        self.compilation_minutes = 0.0  # of the latest program
        self._ratings: list[Mapping[str, Any]] = [*ratings]
        self._rated_share = 0.0
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

    @contextlib.contextmanager
    def compilation(self) -> Iterator[None]:
        """Measures a compilation."""
        start = time.monotonic()
        yield
        self.compilation_minutes = (time.monotonic() - start) / 60

    def add_rating(self, event: Mapping[str, Any]) -> None:
        """Counts a rating."""
        self._ratings.append(event)

    def figures(self) -> Mapping[str, Any]:
        """Returns the clocks by their names in the metrics."""
        return {
            "time/training_seconds": round(self.training_seconds, 2),
            "time/processor_seconds": round(self.processor_seconds, 2),
            "time/minutes": round(self.minutes, 3),
        }

    def last_rating_minutes(self) -> float:
        """Returns the expected time of the rating at the end, 0 without ratings."""
        if not self._settings.ratings.num_points:
            return 0.0
        num_games = self._affordable_games(1.0, num_left=1)
        return self._expected_minutes(max(num_games, self._fewest_games))

    def games_of_rating(self, share: float, *, is_last: bool) -> int:
        """Returns the games of each match of a rating after a share of the run, or 0 for none.

        All ratings that are still due share what is left of a tenth of the time of the run. If that
        is too little for each, the next one has the fewest games, as long as they fit.
        """
        ratings = self._settings.ratings
        if is_last:
            return max(self._affordable_games(share, num_left=1), self._fewest_games)
        if not ratings.is_due(share, self._rated_share):
            return 0
        self._rated_share = share
        num_left = ratings.num_points + 1 - int(share * ratings.num_points)
        return self._affordable_games(share, num_left=num_left)

    def _affordable_games(self, share: float, num_left: int) -> int:
        """Returns the games of each match of one of `num_left` ratings; 0 if a few are too many."""
        fewest, most = self._fewest_games, self._settings.ratings.num_games
        total = self._settings.minutes or self.minutes / share
        used = sum(event["time/rating_seconds"] for event in self._ratings) / 60
        left = _RATING_SHARE * total - used
        if not self._ratings:
            return fewest if self._expected_minutes(fewest) <= left else 0
        affordable = max(int(left / self._expected_minutes(fewest)), 0)  # times the fewest
        return min(fewest * max(affordable // num_left, min(affordable, 1)), most)

    def _expected_minutes(self, num_games: int) -> float:
        """Returns the expected time of a rating by two matches with a number of games each.

        The first one compiles a program, about as long as an iteration's.
        """
        if not self._ratings:
            return self.compilation_minutes
        return 2 * num_games * self._ratings[-1]["time/rating_game_seconds"] / 60

    @property
    def _fewest_games(self) -> int:
        return min(FEWEST_GAMES, self._settings.ratings.num_games)
