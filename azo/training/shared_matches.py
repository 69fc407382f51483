"""What plays the matches of a run, and matches whose results all processes of a run get."""

from collections.abc import Callable, Iterator
from typing import Protocol

from azo.learning import run_state
from azo.process import distributed
from azo.training import metrics


class Matches(Protocol):
    """Plays the matches of one run."""

    def gate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Plays the learner's network against the actor's; yields one event with the verdict."""

    def evaluate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Plays the network against the opponent of the settings; yields one event."""

    def compile_ratings(self, state: run_state.RunState) -> None:
        """Compiles the search of the ratings, if there are any; in a thread of its own."""

    def rate(
        self, state: run_state.RunState, iteration: int, num_games: int
    ) -> Iterator[metrics.Event]:
        """Keeps the network, and rates it on a fixed ladder and on solved positions."""


class SharedMatches:
    """Matches that the first of several processes plays; ratings are of no use to the others."""

    def __init__(self, make: Callable[[], Matches]):
        """Prepares the matches in the first process."""
        self._matches = make() if distributed.is_first() else None

    def gate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Yields the event with the verdict in all processes."""
        matches = self._matches
        yield _shared(lambda: next(matches.gate(state, iteration)) if matches else None)

    def evaluate(self, state: run_state.RunState, iteration: int) -> Iterator[metrics.Event]:
        """Yields the event of the match in all processes."""
        matches = self._matches
        yield _shared(lambda: next(matches.evaluate(state, iteration)) if matches else None)

    def compile_ratings(self, state: run_state.RunState) -> None:
        """Compiles the search of the ratings in the first process."""
        if self._matches is not None:
            self._matches.compile_ratings(state)

    def rate(
        self, state: run_state.RunState, iteration: int, num_games: int
    ) -> Iterator[metrics.Event]:
        """Rates the network in the first process."""
        if self._matches is not None:
            yield from self._matches.rate(state, iteration, num_games)


def _shared(play: Callable[[], metrics.Event | None]) -> metrics.Event:
    """Returns the event of the first process."""
    event = distributed.from_first(play)
    assert event is not None
    return metrics.Event(*event)
