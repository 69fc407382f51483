"""The engine: one live game with an opening book, a solver and a search.

`think` takes a move from the opening book if it has one, else from the exact solver if few enough
squares are empty, else from the search. The solver proves win, draw or loss first. A proven win is
played, also without a score; else an unsolved position is searched, and its value obeys the proof.
Earlier in the game the solver gets a few nodes to prove a win, and to refute the move found.
Values and scores are for the side to move.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azo.games import notation
from azo.play import live_game, live_search, opening_book, proven_report
from azo.play.engine_settings import EngineConfig, Limits
from azo.play.evaluator import Evaluator
from azo.play.search_report import MoveReport, SearchReport
from azo.search import settings
from azo.solver.host import endgame, last_squares

_SOLVER_SHARE = 0.5  # of the time of a move


class Engine(live_game.LiveGame):
    """A live game with a search. Not for several threads at once; they may share an evaluator."""

    def __init__(
        self,
        evaluator: Evaluator,
        config: EngineConfig | None = None,
        *,
        book: opening_book.Book | None = None,
        on_end: Callable[[live_game.LiveGame], None] | None = None,
        seed: int = 0,
    ):
        """Starts a game; compiles the network for the settings, which may take seconds.

        `on_end` is called with the game after each move that ends it.
        """
        super().__init__(evaluator.game)
        self.evaluator, self.book, self._on_end = evaluator, book, on_end
        self._rng = np.random.default_rng(seed)
        self._solver: endgame.Solver | None = None
        # The last solved position of the game; its bounds hold for later ones too.
        self._solved: tuple[notation.Board, endgame.Solution] | None = None
        self._prepare(config or EngineConfig())

    @property
    def config(self) -> EngineConfig:
        """Settings of the search; assigning other ones empties the tree."""
        return self._config

    @config.setter
    def config(self, config: EngineConfig) -> None:
        if config != self._config:
            self._prepare(config)

    def _prepare(self, config: EngineConfig) -> None:
        self._config = config
        self._search = live_search.LiveSearch(self.evaluator, config, self.board)
        # Here rather than in the first search, since its first call may compile.
        if self._solver is None and config.solve_empties and self.game.size in last_squares.SIZES:
            self._solver = endgame.Solver(self.game.size, is_reversed=self.game.is_reversed)

    def new_game(self, board: notation.Board | None = None, actions: Sequence[int] = ()) -> None:
        """Starts a new game; see `LiveGame`. A game that continues the old one keeps the tree."""
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
        """Plays a move; see `LiveGame`. Keeps the part of the tree below it."""
        super().play(action)
        self._search.advance(int(action), self.board)
        if self._on_end is not None and self.is_over:
            self._on_end(self)

    def undo(self) -> int:
        """Takes the last move back; see `LiveGame`. Empties the tree and keeps the cache."""
        action = super().undo()
        self._search.restart(self.board)
        return action

    def think(
        self,
        limits: Limits | None = None,
        *,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[SearchReport], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> SearchReport:
        """Returns the move to play and its reasons; plays nothing.

        Args:
          limits: when to end; by default the limits of the settings.
          is_stopped: called some hundred times a second; True ends the search.
          on_progress: called with the report so far.
          progress_seconds: interval of these calls.

        Raises:
          ValueError: the game is over.
        """
        legal = self.legal_actions
        if not legal:
            raise ValueError("the game is over")
        limits = limits or self.config.limits
        start, num_before = time.perf_counter(), self._search.num_evaluations
        deadline = start + (math.inf if limits.seconds is None else limits.seconds)

        def report(num_simulations: int) -> SearchReport:
            moves = self._search.look()
            best = self._best(moves)
            return SearchReport(
                board=self.board,
                action=best.action,
                moves=(best, *(move for move in moves if move is not best)),
                value=self._search.value,
                raw_value=self._search.raw_value,
                discs=self._search.discs,
                score=self._search.score,
                source="search",
                num_simulations=num_simulations,
                num_evaluations=self._search.num_evaluations - num_before,
                seconds=time.perf_counter() - start,
            )

        def unsearched() -> SearchReport:
            self._search.grow(Limits(num_simulations=0))
            return report(0)

        if not limits.is_analysis and (action := self._book_move()) is not None:
            return dataclasses.replace(unsearched(), action=action, source="book")
        solution = self._solve(limits, deadline, is_stopped)
        is_in_reach = self.num_empties <= self.config.solve_empties
        if solution is not None and solution.is_solved and is_in_reach:
            line = self._exact_line(solution, deadline, is_stopped)
            exact = proven_report.exact(unsearched(), solution, line, self)
            return dataclasses.replace(exact, seconds=time.perf_counter() - start)
        if solution is not None and proven_report.is_won(solution, self) and not limits.is_analysis:
            return proven_report.bounded(unsearched(), solution, self)
        if len(legal) == 1 and not limits.is_analysis:
            return dataclasses.replace(unsearched(), source="forced")
        if limits.seconds is not None:
            used, most = time.perf_counter() - start, limits.most_seconds
            most = None if most is None or self.config.move_choice == "q" else most - used
            limits = dataclasses.replace(limits, seconds=limits.seconds - used, most_seconds=most)
        num_simulations = self._search.grow(
            limits,
            is_stopped=is_stopped,
            on_progress=on_progress and (lambda num: on_progress(report(num))),
            progress_seconds=progress_seconds,
        )
        final = report(num_simulations)
        final = dataclasses.replace(final, action=self._choice(final))
        if solution is None:
            return final
        return proven_report.bounded(self._verified(final, limits), solution, self)

    def ponder(self, is_stopped: Callable[[], bool]) -> None:
        """Searches the present position until it is stopped, the result proven or memory full."""
        if not self.is_over:
            self._search.grow(Limits(), is_stopped=is_stopped)

    def _book_move(self) -> int | None:
        if self.book is None:
            return None
        action = self.book.choose(self.board, self._rng)
        return action if action in self.legal_actions else None

    def _best(self, moves: Sequence[MoveReport]) -> MoveReport:
        """Returns the best move; `moves` are ordered as by `LiveSearch.look`."""
        if moves[0].is_proven:
            return moves[0]
        least = settings.MUCH_VISITED * moves[0].visits
        if self.config.move_choice == "visits" or least == 0:
            return moves[0]
        much_visited = [move for move in moves if move.visits >= least and not move.is_proven]
        return max(much_visited, key=lambda move: (move.value or 0.0, move.visits))

    def _choice(self, report: SearchReport) -> int:
        """Returns the move to play: the best one, or a random one above temperature 0."""
        if self.config.temperature == 0 or report.moves[0].is_proven:
            return report.action
        moves = [move for move in report.moves if not move.is_proven or move.value == 0]
        visits = np.array([move.visits for move in moves], float)
        if not visits.any():
            return report.action
        weights = (visits / visits.max()) ** (1 / self.config.temperature)
        row = self._rng.choice(len(weights), p=weights / weights.sum())
        return moves[row].action

    def _solve(
        self, limits: Limits, deadline: float, is_stopped: Callable[[], bool] | None
    ) -> endgame.Solution | None:
        """Returns the bounds of the score that were proven; None with too many empty squares."""
        config, board = self.config, self.board
        has_score = self.num_empties <= min(config.score_empties, config.solve_empties)
        is_probe = not has_score if limits.is_analysis else self.num_empties > config.solve_empties
        if self._solver is None or (is_probe and not config.probe_nodes):
            return None
        seconds = _SOLVER_SHARE * max(deadline - time.perf_counter(), 0.0)
        seconds = min(config.solve_seconds, seconds)
        if is_probe:
            return self._probe(board, limits, max_seconds=seconds)
        solved = self._solved if self._solved and self._solved[0] in self.boards else None
        guess = 0
        if solved is not None and solved[1].is_solved:
            is_same_side = solved[0].is_black_to_move == board.is_black_to_move
            guess = solved[1].score if is_same_side else -solved[1].score
        solution = self._solver.solve(
            board.player,
            board.opponent,
            every_move=limits.is_analysis,
            result_only=not has_score,
            guess=guess,
            keeps_table=solved is not None,
            max_seconds=seconds,
            is_stopped=is_stopped,
        )
        self._solved = board, solution
        return solution

    def _probe(self, board: notation.Board, limits: Limits, **options: Any) -> endgame.Solution:
        """Returns the bounds that few nodes prove, in analyses those of early ends alone."""
        assert self._solver is not None
        words, max_nodes = (board.player, board.opponent), self.config.probe_nodes
        if limits.is_analysis:  # which look at all moves
            return self._solver.find_early_win(*words, max_nodes)
        return self._solver.probe(*words, max_nodes, **options)

    def _verified(self, report: SearchReport, limits: Limits) -> SearchReport:
        """Returns a report with the best move that a probe does not refute.

        Analyses probe all moves; otherwise the rest is left as it is.
        """
        if self._solver is None or not self.config.probe_nodes:
            return report
        refuted: list[MoveReport] = []
        others: list[MoveReport] = []
        for move in sorted(report.moves, key=lambda move: move.action != report.action):
            if others and not limits.is_analysis:
                others.append(move)
                continue
            reply = self._probe(self._after(self.board, move.action), limits, keeps_table=True)
            if proven_report.is_won(reply, self):
                refuted.append(proven_report.refuted(move, reply, self))
            else:
                others.append(move)
        if not others:
            refuted.sort(key=lambda move: move.discs or 0.0, reverse=not self.game.is_reversed)
        moves = (*others, *refuted)
        if moves[0].action != report.action or not others:
            report = dataclasses.replace(
                report,
                action=moves[0].action,
                value=report.value if moves[0].value is None else moves[0].value,
                discs=report.discs if moves[0].discs is None else moves[0].discs,
                score=None if others else moves[0].score,
            )
        return dataclasses.replace(report, moves=moves)

    def _exact_line(
        self,
        solution: endgame.Solution,
        deadline: float,
        is_stopped: Callable[[], bool] | None,
    ) -> tuple[int, ...]:
        """Returns a line of best moves, to the end of the game if there is time."""
        assert self._solver is not None
        assert solution.best_move is not None
        score = solution.score
        line = live_game.LiveGame(self.game)
        line.new_game(self.board, [solution.best_move])
        end = min(deadline, time.perf_counter() + self.config.solve_seconds)
        while not line.is_over and (left := end - time.perf_counter()) > 0:
            is_same_side = line.board.is_black_to_move == self.board.is_black_to_move
            solution = self._solver.solve(
                line.board.player,
                line.board.opponent,
                guess=score if is_same_side else -score,
                keeps_table=True,
                max_seconds=left,
                is_stopped=is_stopped,
            )
            if solution.best_move is None or not solution.is_solved:
                break
            line.play(solution.best_move)
        return line.actions
