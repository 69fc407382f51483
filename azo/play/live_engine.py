"""The engine: one live game, and what a network, a search and a solver think of it.

`think` asks in this order: the opening book, if there is one; the exact solver, from few enough
empty squares on; the search. Values and scores are seen by the side to move.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from azo.games import notation
from azo.play import live_game, live_search
from azo.play.engine_settings import EngineConfig, Limits
from azo.play.evaluator import NetworkEvaluator
from azo.play.search_report import MoveReport, SearchReport
from azo.search import improvement
from azo.solver.host import endgame, last_squares

_SOLVER_SHARE = 0.5  # of the time of a move


class MoveSource(Protocol):
    """What the engine asks of an opening book."""

    def choose(self, board: notation.Board, rng: np.random.Generator) -> int | None:
        """Returns a move for a position, None if the book does not know it."""


class Engine(live_game.LiveGame):
    """A live game that can think. Not for several threads at once; an evaluator may be shared."""

    def __init__(
        self,
        evaluator: NetworkEvaluator,
        config: EngineConfig | None = None,
        *,
        book: MoveSource | None = None,
        on_end: Callable[[live_game.LiveGame], None] | None = None,
        seed: int = 0,
    ):
        """Begins a game; compiles the network for the settings, which may take seconds.

        Args:
          evaluator: the network.
          config: how to think; the usual settings by default.
          book: asked for a move first.
          on_end: told of every game that a move ends, such as for a book to learn from.
          seed: of drawn moves.
        """
        super().__init__(evaluator.game)
        self.evaluator, self.book, self._on_end = evaluator, book, on_end
        self._rng = np.random.default_rng(seed)
        self._solver: endgame.Solver | None = None
        self.config = config or EngineConfig()

    @property
    def config(self) -> EngineConfig:
        """How it thinks; another one may be assigned between moves, which empties the tree."""
        return self._config

    @config.setter
    def config(self, config: EngineConfig) -> None:
        self._config = config
        self._search = live_search.LiveSearch(self.evaluator, config, self.board)
        # Now rather than when it is asked, since its first call may compile.
        if self._solver is None and config.solve_empties and self.game.size in last_squares.SIZES:
            self._solver = endgame.Solver(self.game.size, is_reversed=self.game.is_reversed)

    def new_game(self, board: notation.Board | None = None, actions: Sequence[int] = ()) -> None:
        """Begins anew; see `LiveGame`. The tree is kept if the position is in it."""
        before = self.boards
        super().new_game(board, actions)
        after = self.boards
        if after[: len(before)] == before:
            for action, reached in zip(
                self.actions[len(before) - 1 :], after[len(before) :], strict=True
            ):
                self._search.advance(action, reached)
        else:
            self._search.restart(self.board)

    def play(self, action: int) -> None:
        """Plays a move; see `LiveGame`. The tree behind it is kept."""
        super().play(action)
        self._search.advance(int(action), self.board)
        if self._on_end is not None and self.is_over:
            self._on_end(self)

    def undo(self) -> int:
        """Takes the last move back; see `LiveGame`. The tree begins anew, the cache stays."""
        action = super().undo()
        self._search.restart(self.board)
        return action

    def look(self, line: Sequence[int] = ()) -> tuple[MoveReport, ...]:
        """Returns the moves behind a line from the present position, as far as they were searched.

        Args:
          line: moves from the present position.

        Returns:
          The most visited first; empty where the tree does not reach.
        """
        return self._search.look(line)

    def think(
        self,
        limits: Limits | None = None,
        *,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[SearchReport], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> SearchReport:
        """Returns what to play and why; plays nothing.

        Args:
          limits: when to stop; by default those of the settings.
          is_stopped: asked some hundred times a second; the best so far is returned.
          on_progress: told what is known so far.
          progress_seconds: how often.

        Raises:
          ValueError: the game is over.
        """
        legal = self.legal_actions
        if not legal:
            raise ValueError("the game is over")
        limits = limits or Limits(self.config.num_simulations, self.config.seconds)
        start, evaluated = time.perf_counter(), self._search.num_evaluations

        def thought(num_simulations: int) -> SearchReport:
            moves = self.look()
            best = self._best(moves)
            return SearchReport(
                board=self.board,
                action=best.action,
                moves=(best, *(move for move in moves if move is not best)),
                value=self._search.value,
                raw_value=self._search.raw_value,
                score=None,
                source="search",
                num_simulations=num_simulations,
                num_evaluations=self._search.num_evaluations - evaluated,
                seconds=time.perf_counter() - start,
            )

        def report(num_simulations: int) -> None:
            if on_progress is not None:
                on_progress(thought(num_simulations))

        if not limits.is_analysis and (known := self._by_book()) is not None:
            self._search.grow(Limits(num_simulations=0))
            return dataclasses.replace(thought(0), action=known, source="book")
        deadline = start + (math.inf if limits.seconds is None else limits.seconds)
        solution = self._solve(limits, deadline, is_stopped)
        if solution is not None:
            self._search.grow(Limits(num_simulations=0))
            found = self._exact(solution, thought(0), deadline, is_stopped)
            return dataclasses.replace(found, seconds=time.perf_counter() - start)
        if len(legal) == 1 and not limits.is_analysis:
            self._search.grow(Limits(num_simulations=0))
            return dataclasses.replace(thought(0), source="forced")
        if limits.seconds is not None:
            limits = dataclasses.replace(limits, seconds=deadline - time.perf_counter())
        num_simulations = self._search.grow(
            limits, is_stopped=is_stopped, on_progress=report, progress_seconds=progress_seconds
        )
        found = thought(num_simulations)
        return dataclasses.replace(found, action=self._choice(found))

    def _by_book(self) -> int | None:
        if self.book is None:
            return None
        action = self.book.choose(self.board, self._rng)
        return action if action in self.legal_actions else None

    def _best(self, moves: Sequence[MoveReport]) -> MoveReport:
        """Returns the best of moves that are in the order of their visits."""
        least = improvement.MUCH_VISITED * moves[0].visits
        if self.config.move_choice == "visits" or least == 0:
            return moves[0]
        much_visited = [move for move in moves if move.visits >= least]
        return max(much_visited, key=lambda move: (move.value or 0.0, move.visits))

    def _choice(self, thought: SearchReport) -> int:
        """Returns the move to play: the best one, or a drawn one."""
        if self.config.temperature == 0:
            return thought.action
        visits = np.array([move.visits for move in thought.moves], float)
        if not visits.any():
            return thought.action
        weights = (visits / visits.max()) ** (1 / self.config.temperature)
        row = self._rng.choice(len(weights), p=weights / weights.sum())
        return thought.moves[row].action

    def _solve(
        self, limits: Limits, deadline: float, is_stopped: Callable[[], bool] | None
    ) -> endgame.Solution | None:
        """Returns the exact solution, None if there are too many empty squares for the time."""
        if self._solver is None or self.num_empties > self.config.solve_empties:
            return None
        seconds = _SOLVER_SHARE * max(deadline - time.perf_counter(), 0.0)
        found = self._solver.solve(
            self.board.player,
            self.board.opponent,
            every_move=limits.is_analysis,
            max_seconds=min(self.config.solve_seconds, seconds),
            is_stopped=is_stopped,
        )
        return found if found.is_solved else None

    def _exact(
        self,
        solution: endgame.Solution,
        thought: SearchReport,
        deadline: float,
        is_stopped: Callable[[], bool] | None,
    ) -> SearchReport:
        """Returns a thought with exact scores in place of what the search said."""
        assert solution.best_move is not None
        scores = solution.move_scores or {solution.best_move: solution.score}

        def exact(move: MoveReport) -> MoveReport:
            score = scores.get(move.action)
            if score is None:
                return move
            line = move.line
            if move.action == solution.best_move:
                line = self._exact_line(move.action, deadline, is_stopped)
            return dataclasses.replace(move, score=score, value=self.result(score), line=line)

        def rank(move: MoveReport) -> tuple[bool, bool, int]:
            is_best = move.action == solution.best_move
            return not is_best, move.score is None, -self.utility(move.score or 0)

        return dataclasses.replace(
            thought,
            action=solution.best_move,
            moves=tuple(sorted(map(exact, thought.moves), key=rank)),
            value=self.result(solution.score),
            score=solution.score,
            source="exact",
        )

    def _exact_line(
        self, action: int, deadline: float, is_stopped: Callable[[], bool] | None
    ) -> tuple[int, ...]:
        """Returns a line of best moves to the end of the game, as far as there is time."""
        assert self._solver is not None
        line = live_game.LiveGame(self.game)
        line.new_game(self.board, [action])
        end = min(deadline, time.perf_counter() + self.config.solve_seconds)
        while not line.is_over and (left := end - time.perf_counter()) > 0:
            found = self._solver.solve(
                line.board.player, line.board.opponent, max_seconds=left, is_stopped=is_stopped
            )
            if found.best_move is None or not found.is_solved:
                break
            line.play(found.best_move)
        return line.actions
