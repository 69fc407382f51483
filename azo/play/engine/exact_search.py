"""Solves a position on demand: in steps, with the likely score and the time left in between."""

import time
from collections.abc import Callable

from azo.games import notation
from azo.solver.host import endgame

# Of selective searches, whose scores are likely; each score is the guess of the next search.
_CONFIDENCES = (0.9, 0.98)
_EXACT_GROWTH = 5.0  # time of the exact search by that of the last selective one, roughly
_LEAST_LEFT = 0.25  # of the time so far, if the search takes longer than expected


class ExactSearch:
    """The search for the exact score of one position; it can be stopped and continued."""

    def __init__(self, solver: endgame.Solver, board: notation.Board, guess: int):
        """Prepares to `run`; the solver is for this search alone until it ends.

        `guess` is a score that is likely.
        """
        self.board, self.score = board, guess  # the likely score so far
        self.best_move: int | None = None  # so far
        self._solver = solver
        self._confidences = [*(_CONFIDENCES if solver.is_selective else ()), 1.0]
        self._is_continued = False
        self._seconds = 0.0  # of the present search until it was stopped
        self._start = 0.0
        self._expected_seconds: float | None = None  # of the present search

    @property
    def seconds_left(self) -> float | None:
        """A rough estimate; None before the last selective search has ended."""
        if self._expected_seconds is None:
            return None
        seconds = self._seconds + time.perf_counter() - self._start
        return max(self._expected_seconds - seconds, _LEAST_LEFT * seconds)

    def run(self, is_stopped: Callable[[], bool]) -> endgame.Solution | None:
        """Returns the exact solution, None if `is_stopped` has ended the search."""
        while True:
            confidence, self._start = self._confidences[0], time.perf_counter()
            solution = self._solver.solve(
                self.board.player,
                self.board.opponent,
                guess=self.score,
                confidence=confidence,
                keeps_table=self._is_continued,
                is_stopped=is_stopped,
            )
            self._seconds += solution.seconds
            self._is_continued = not solution.is_solved
            if not solution.is_solved:
                return None
            self.score, self.best_move = solution.score, solution.best_move
            if confidence == 1.0:
                return solution
            del self._confidences[0]
            if len(self._confidences) == 1:
                self._expected_seconds = _EXACT_GROWTH * self._seconds
            self._seconds = 0.0
