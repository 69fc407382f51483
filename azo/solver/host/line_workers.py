"""Lines of best play from many endings, solved in worker processes.

A line depends on its ending alone, not on the number of processes or their order. If a process
dies, all of them are replaced, and what was not solved is solved again.
"""

import concurrent.futures
import dataclasses
import functools
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import process

from azo.solver.host import best_lines, endgame

_MAX_DEATHS = 3  # in a row without a line; then endings are solved in the calling process


@dataclasses.dataclass(frozen=True)
class Ending:
    """A position to solve."""

    player: int  # discs of the side to move, bit `8 * row + column`
    opponent: int  # discs of the other side
    seed: str  # of the choice among best moves
    confidence: float = 1.0  # as in `best_lines.solve`


class LineWorkers:
    """Worker processes that solve endings; a context manager, or call `close`."""

    def __init__(
        self,
        size: int,
        *,
        is_reversed: bool,
        num_processes: int,
        note: Callable[[str], None],
    ):
        """Prepares the processes, which start with the first ending.

        Args:
          size: of the board.
          is_reversed: whether fewer discs win.
          num_processes: number of processes.
          note: shows a message if a process has died.
        """
        self._rules = size, is_reversed
        self._num_processes = num_processes
        self._note = note
        self._numbers = itertools.count()
        self._endings: dict[int, Ending] = {}  # those whose line was not collected
        self._futures: dict[int, concurrent.futures.Future[best_lines.BestLine]] = {}
        self._num_deaths = 0
        self._executor = self._start()

    def __enter__(self) -> "LineWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drops the endings that were not collected, and ends the processes."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def submit(self, ending: Ending) -> int:
        """Returns a number for `collect`; endings are begun in the order of their submission."""
        number = next(self._numbers)
        self._endings[number] = ending
        self._send(number)
        return number

    def collect(self, number: int, timeout_seconds: float | None = None) -> best_lines.BestLine:
        """Returns the line of an ending, once.

        Raises:
          TimeoutError: It was not solved in time; it can be collected later.
        """
        while True:
            if self._num_deaths > _MAX_DEATHS:
                line = _solve(self._endings[number], self._solver)
            else:
                try:
                    line = self._futures[number].result(timeout_seconds)
                except (KeyError, process.BrokenProcessPool):
                    self._replace()
                    continue
                self._num_deaths = 0
            del self._endings[number]
            self._futures.pop(number, None)
            return line

    @functools.cached_property
    def _solver(self) -> endgame.Solver:
        """The solver of the calling process."""
        size, is_reversed = self._rules
        return endgame.Solver(size, is_reversed=is_reversed)

    def _start(self) -> concurrent.futures.ProcessPoolExecutor:
        return concurrent.futures.ProcessPoolExecutor(
            max_workers=self._num_processes,
            mp_context=multiprocessing.get_context("spawn"),  # a fork of threads hangs
            initializer=_init_process,
            initargs=self._rules,
        )

    def _send(self, number: int) -> None:
        """Gives an ending to the processes; without effect if they are dead, see `collect`."""
        try:
            self._futures[number] = self._executor.submit(_solve, self._endings[number])
        except process.BrokenProcessPool:
            self._futures.pop(number, None)

    def _replace(self) -> None:
        """Replaces dead processes, and gives the new ones all endings without a line."""
        self._num_deaths += 1
        if self._num_deaths > _MAX_DEATHS:
            self._note(f"solver processes died {self._num_deaths} times: solving without them")
            return
        self._note("a solver process has died: its endings are solved again")
        self.close()
        self._executor = self._start()
        for number in self._endings:
            future = self._futures.get(number)
            if future is None or not _is_solved(future):
                self._send(number)


_solvers: list[endgame.Solver] = []  # the one solver of a worker process


def _init_process(size: int, is_reversed: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the parent process handles Ctrl-C
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:  # which cannot end its workers if it is killed
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    _solvers.append(endgame.Solver(size, is_reversed=is_reversed))


def _is_solved(future: concurrent.futures.Future[best_lines.BestLine]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _solve(ending: Ending, solver: endgame.Solver | None = None) -> best_lines.BestLine:
    return best_lines.solve(
        solver or _solvers[0],
        ending.player,
        ending.opponent,
        seed=ending.seed,
        confidence=ending.confidence,
    )
