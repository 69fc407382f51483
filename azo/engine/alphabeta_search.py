"""The move of a live game by alpha-beta, within limits of positions and time.

The compiled search runs in its own thread. Meanwhile, the caller's thread checks the time and
whether the search should stop.
"""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from azo.alphabeta import evaluation, search, weights
from azo.engine.engine_settings import Limits
from azo.games import notation, variant
from azo.games.host import kernels, live_game
from azo.solver.host import table

NODES_PER_SIMULATION = 30
"""Positions that take about as long as one simulation of PUCT with the network `zero-fast`."""
_FACTOR = 1.2  # standard deviations of ProbCut's margin
_NODES_PER_SECOND = 5e6  # about, for the size of the table
_NODES_PER_ROW = 8
_LOG_ROWS = (12, 21)  # at most 128 MiB
_LEAST_SECONDS = 0.01  # even if the solver has used up the time
_LOOK_SECONDS = 0.005  # between two looks at the clock
_MOST_NODES = 1 << 60


class Found(NamedTuple):
    """The result of a search, for the side to move."""

    action: int
    discs: float  # expected final margin
    depth: int  # discs placed in the lines that were all searched; all empty squares: the end
    num_nodes: int
    line: tuple[int, ...]  # principal variation, as far as the table has it; this move first


class AlphaBeta:
    """A search of 8x8 Othello; not for several threads at once."""

    def __init__(self, learned: weights.LinearWeights):
        """Compiles the search, or loads it, so that it takes no time from a move."""
        self._search = search.make_search(
            learned.weights, learned.cuts, log_rows=_LOG_ROWS[0], factor=_FACTOR
        )
        self.find(live_game.LiveGame(variant.Variant(8)).board, Limits(num_simulations=1))

    def find(
        self,
        board: notation.Board,
        limits: Limits,
        *,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[Found], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> Found:
        """Returns the best move of a position that has one, by iterative deepening.

        It ends at the end of the game, at a limit, or when `is_stopped` returns True; a simulation
        stands for `NODES_PER_SIMULATION` positions. `on_progress` gets what is found so far.
        """
        start = time.perf_counter()
        seconds = np.inf if limits.seconds is None else max(limits.seconds, _LEAST_SECONDS)
        end = start + seconds
        number = limits.num_simulations
        most = _MOST_NODES if number is None else number * NODES_PER_SIMULATION
        self._fit_table(min(most, np.ceil(seconds * 20) / 20 * _NODES_PER_SECOND))
        counters = self._search.counters
        counters[search.LIMIT], counters[search.IS_STOPPED] = most, 0
        P, O = np.uint64(board.player), np.uint64(board.opponent)
        arguments = P, O, search.MAX_DEPTH, self._search
        thread = threading.Thread(target=search.deepen, args=arguments, daemon=True)
        thread.start()
        next_report = start + progress_seconds
        try:
            while thread.is_alive():
                now = time.perf_counter()
                if now >= end or (is_stopped is not None and is_stopped()):
                    break
                if on_progress is not None and now >= next_report and counters[search.DEPTH]:
                    on_progress(self._found(board, with_line=False))
                    next_report = now + progress_seconds
                thread.join(min(_LOOK_SECONDS, end - now))
        finally:  # also after an exception: the next search has the same memory
            counters[search.IS_STOPPED] = 1
            thread.join()
        return self._found(board)

    def forget(self) -> None:
        """Empties the table, so that the next search does not depend on earlier ones."""
        table.clear(self._search.memory)

    def _fit_table(self, num_nodes: float) -> None:
        """Makes a table whose size fits the number of nodes, unless there is one."""
        least, most = _LOG_ROWS
        log_rows = int(np.log2(min(max(num_nodes / _NODES_PER_ROW, 1 << least), 1 << most)))
        if len(self._search.memory) != 2 << log_rows:
            self._search = self._search._replace(memory=table.make_table(1 << log_rows))

    def _found(self, board: notation.Board, *, with_line: bool = True) -> Found:
        counters = self._search.counters
        move = int(counters[search.BEST_MOVE])
        line = self._line(board, move) if with_line else [move]
        return Found(
            action=move,
            discs=float(counters[search.VALUE]) / evaluation.UNIT,
            depth=int(counters[search.DEPTH]),
            num_nodes=int(counters[search.NODES]),
            line=tuple(line),
        )

    def _line(self, board: notation.Board, move: int) -> list[int]:
        """Returns the best moves that the table has; on 8x8 squares and the pass are actions."""
        P, O, line = np.uint64(board.player), np.uint64(board.opponent), [move]
        while len(line) < search.MAX_DEPTH:
            P, O = (O, P) if move == table.NO_MOVE else kernels.play(P, O, np.uint64(move))
            P, O = np.uint64(P), np.uint64(O)
            legal = kernels.legal_moves(P, O, kernels.FULL)
            if not legal:
                if not kernels.legal_moves(O, P, kernels.FULL):
                    break
                move = table.NO_MOVE
            else:
                index = table.find(P, O, self._search.memory)
                if index == table.NOT_FOUND:
                    break
                move = int(self._search.memory["move"][index])
                if move == table.NO_MOVE or not int(legal) >> move & 1:
                    break
            line.append(move)
        while line[-1] == table.NO_MOVE:
            line.pop()
        return line
