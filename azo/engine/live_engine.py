"""The engine: one live game with an opening book, a solver and two searches.

A search for the move to play maximises the result. An analysis maximises the score in discs, in its
own tree: a search for only the result ignores discs in decided lines, and gives worse scores the
longer it runs.

docs/play.md says how `think` chooses between book, solver and search. The value of an unsolved
position obeys what the solver has proven. Values and scores are for the side to move.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azo.alphabeta import weights
from azo.engine import (
    alphabeta_search,
    engine_settings,
    live_search,
    opening_book,
    people,
    search_report,
)
from azo.engine.engine_settings import EngineConfig, Limits
from azo.engine.search_report import MoveReport, SearchReport
from azo.games import notation
from azo.games.host import live_game
from azo.solver.host import endgame

_MOST_PROBED = 36  # empty squares; with more, few nodes prove nothing but early ends
_SOLVER_SHARE = 0.5  # of the time of a move
_SOLVED_IN_A_SECOND = 24  # empty squares, on one core
_SOLVER_GROWTH = 2.2  # of the time, by one square more
_SELECTIVE_LEAD = 2  # squares by which alpha-beta with ProbCut reaches the end of the game earlier
# Simulations of a position whose score decides on a mark: docs/play.md says how many marks hold.
_DEEP = 50_000
# Networks that need JAX are slow: they get so many times the usual simulations, at most as many.
_DEEP_FACTOR = 4
_DEEP_SECONDS = 16  # times the usual time, if it is limited


def _solvable_empties(seconds: float | None) -> float:
    """Returns the number of empty squares of most positions that can be solved in a time."""
    if seconds is None:
        return math.inf
    return _SOLVED_IN_A_SECOND + math.log(seconds) / math.log(_SOLVER_GROWTH)


class Engine(live_game.LiveGame):
    """A live game with a search. Not for several threads at once; they may share an evaluator."""

    def __init__(
        self,
        evaluator: live_search.Evaluator,
        config: EngineConfig | None = None,
        *,
        level: int | str = engine_settings.NUM_LEVELS,
        book: opening_book.Book | None = None,
        seed: int = 0,
    ):
        """Starts a game; compiles the network for the settings, which may take seconds.

        `config` holds the settings at full strength, which analyses use too. `level` weakens only
        moves.
        """
        super().__init__(evaluator.game)
        self.evaluator, self.book = evaluator, book
        self.config = config or EngineConfig()
        self._rng = np.random.default_rng(seed)
        # The last solved position of the game; its bounds hold for later ones too.
        self._solved: tuple[notation.Board, endgame.Solution] | None = None
        # A position that `solve` has not yet solved, until the solver is used again.
        self._unsolved: notation.Board | None = None
        self.level = level
        if self.config.solve_empties:
            _ = self._solver  # here rather than in the first search, since it may be compiled

    @property
    def level(self) -> int | str:
        """Playing strength: 1 to 20, or a level such as "human:1800". Setting it empties the tree.

        Raises ValueError if there is no such level, or none like it for the board.
        """
        return self._level

    @level.setter
    def level(self, level: int | str) -> None:
        self._level = level = engine_settings.check_level(level, self.game)
        self.play_config = engine_settings.at_level(self.config, level)
        self._rating = engine_settings.rating_of(level)
        self._play_search = live_search.LiveSearch(self.evaluator, self.play_config)
        _ = self._uses_alphabeta  # compiles here rather than in the first search

    @property
    def _uses_alphabeta(self) -> bool:
        """Whether moves are found by alpha-beta."""
        return self.play_config.search == "alphabeta" and self._alphabeta is not None

    @functools.cached_property
    def _solver(self) -> endgame.Solver:
        return endgame.Solver(self.game.size, is_reversed=self.game.is_reversed)

    @functools.cached_property
    def _alphabeta(self) -> alphabeta_search.AlphaBeta | None:
        """Alpha-beta by the linear evaluation of the network, if it has one for the game."""
        folder, game = self.evaluator.folder, self.game
        if folder is None or (game.size, game.is_reversed) != (8, False):
            return None
        learned = weights.load(folder)
        return None if learned is None else alphabeta_search.AlphaBeta(learned)

    @functools.cached_property
    def _analysis_search(self) -> live_search.LiveSearch:
        return live_search.LiveSearch(self.evaluator, engine_settings.for_analysis(self.config))

    def deep_limits(self, usual: Limits) -> Limits:
        """Returns the limits of an analysis that decides on marks, given the usual limits."""
        number, seconds = usual.num_simulations, usual.seconds
        if number is not None:
            most = _DEEP if self.evaluator.simulate else min(_DEEP, _DEEP_FACTOR * number)
            number = max(number, most)
        return Limits(number, seconds and _DEEP_SECONDS * seconds, is_analysis=True, is_deep=True)

    def _search_for(self, limits: Limits) -> live_search.LiveSearch:
        """Returns the search for a move, or the one of analyses, at the present position."""
        search = self._analysis_search if limits.is_analysis else self._play_search
        search.follow(self)
        return search

    def _config_for(self, limits: Limits) -> EngineConfig:
        return self.config if limits.is_analysis else self.play_config

    def forget(self) -> None:
        """Forgets all searches, so that the next one does not depend on them."""
        self._solved = self._unsolved = None
        self._play_search.restart(self.board)
        self._analysis_search.restart(self.board)
        if self._uses_alphabeta and self._alphabeta is not None:
            self._alphabeta.forget()

    def think(
        self,
        limits: Limits | None = None,
        *,
        only: frozenset[int] | None = None,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[SearchReport], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> SearchReport:
        """Returns the move to play, with the values of all moves; does not play it.

        Args:
          limits: when the search ends; by default the limits of a move at the level.
          only: legal actions that an analysis is restricted to; by default all.
          is_stopped: called some hundred times per second; True ends the search.
          on_progress: called with the report so far, at intervals.
          progress_seconds: interval of these calls.

        Raises:
          ValueError: the game is over.
        """
        if self.is_over:
            raise ValueError("the game is over")
        self._unsolved = None
        limits = limits or self.play_config.limits()
        is_move, search = not limits.is_analysis, self._search_for(limits)
        if only is not None:
            assert limits.is_analysis
            search.restart(self.board, only)
        start, num_before = time.perf_counter(), search.num_evaluations
        deadline = math.inf if limits.seconds is None else start + limits.seconds
        search.grow(Limits(num_simulations=0))

        least_deep = self.deep_limits(limits).num_simulations

        def report(num_simulations: int = 0) -> SearchReport:
            latest = search.report(by_discs=not is_move)
            visits = 1 + sum(move.visits for move in latest.moves)  # 1 of the position itself
            return dataclasses.replace(
                latest,
                num_simulations=num_simulations,
                num_evaluations=search.num_evaluations - num_before,
                seconds=time.perf_counter() - start,
                is_deep=not is_move and least_deep is not None and visits >= least_deep,
            )

        if is_move and self._rating:
            return dataclasses.replace(report(), action=self._draw(self._rating), source="people")
        action = self.book.choose(self.board, self._rng) if self.book and is_move else None
        if action is not None and action in self.legal_actions:
            return dataclasses.replace(report(), action=action, source="book")
        solution = self._solve(limits, deadline, is_stopped)
        if only is not None and solution is not None:
            solution = search_report.among(solution, only, self)
        is_in_reach = self.num_empties <= self._config_for(limits).solve_empties
        if solution is not None and solution.is_solved and is_in_reach:
            line = self._exact_line(solution, deadline, is_stopped)
            return search_report.with_solution(report(), solution, line, self)
        if is_move and solution is not None and search_report.is_won(solution, self):
            return search_report.bounded(report(), solution, self)
        if is_move and len(self.legal_actions) == 1:
            return dataclasses.replace(report(), source="forced")
        if limits.seconds is not None:
            limits = dataclasses.replace(limits, seconds=deadline - time.perf_counter())
        if is_move and self._uses_alphabeta and self._alphabeta is not None:

            def found_so_far(found: alphabeta_search.Found) -> SearchReport:
                whole = dataclasses.replace(report(), num_evaluations=found.num_nodes)
                return search_report.with_move(whole, found.action, found.discs, found.line, self)

            found = self._alphabeta.find(
                self.board,
                limits,
                is_stopped=is_stopped,
                on_progress=on_progress and (lambda found: on_progress(found_so_far(found))),
                progress_seconds=progress_seconds,
            )
            final = found_so_far(found)
            if solution is None:
                return final
            return search_report.bounded(self._verified(final, limits), solution, self)
        final = report(
            search.grow(
                limits,
                is_stopped=is_stopped,
                on_progress=on_progress and (lambda num: on_progress(report(num))),
                progress_seconds=progress_seconds,
            )
        )
        if limits.is_deep and not (is_stopped is not None and is_stopped()):
            final = dataclasses.replace(final, is_deep=True)
        if is_move:
            final = dataclasses.replace(final, action=self._choice(final))
        if solution is None:
            return final
        final = search_report.bounded(self._verified(final, limits), solution, self)
        if is_move:
            return final
        best, is_reversed = final.moves[0], self.game.is_reversed
        moves = search_report.by_discs(final.moves, is_reversed=is_reversed, best=best)
        return dataclasses.replace(final, moves=moves)

    def solve(
        self,
        *,
        is_stopped: Callable[[], bool] | None = None,
        on_progress: Callable[[SearchReport], None] | None = None,
        progress_seconds: float = 0.25,
    ) -> SearchReport:
        """Solves the present position, with any number of empty squares; plays nothing.

        `on_progress` gets what the network expects. So does the caller if `is_stopped` has ended
        the search; a later call goes on from there. Raises ValueError if the game is over.
        """
        if self.is_over:
            raise ValueError("the game is over")
        start = next_report = time.perf_counter()
        tree = self._search_for(Limits(is_analysis=True))
        tree.grow(Limits(num_simulations=0))
        analysis = tree.report(by_discs=True)

        def timed(report: SearchReport) -> SearchReport:
            return dataclasses.replace(report, seconds=time.perf_counter() - start)

        def has_to_stop() -> bool:
            nonlocal next_report
            if on_progress is not None and time.perf_counter() >= next_report:
                next_report = time.perf_counter() + progress_seconds
                on_progress(timed(analysis))
            return is_stopped is not None and is_stopped()

        solution = self._solver.solve(
            self.board.player,
            self.board.opponent,
            guess=2 * round((analysis.discs or 0.0) / 2),
            keeps_table=self._unsolved == self.board,
            is_stopped=has_to_stop,
        )
        if not solution.is_solved:
            self._unsolved = self.board
            return timed(analysis)
        self._unsolved, self._solved = None, (self.board, solution)
        line = self._exact_line(solution, math.inf, is_stopped)
        return timed(search_report.with_solution(analysis, solution, line, self))

    def ponder(self, is_stopped: Callable[[], bool]) -> None:
        """Searches the present position until it is stopped, the result proven or memory full."""
        if not self.is_over:
            self._search_for(Limits()).grow(Limits(), is_stopped=is_stopped)

    @functools.cached_property
    def _people(self) -> people.People:
        return people.People(self.evaluator, self._solver)

    def chances(self, ratings: Sequence[int]) -> dict[int, list[float]]:
        """Returns the probabilities that players of some ratings play each legal action.

        Raises ValueError if the game is not that of 8x8, or there is no such rating.
        """
        for rating in ratings:
            engine_settings.check_level(f"human:{rating}", self.game)
        return self._people.chances(self.board, ratings)

    def with_people(self, report: SearchReport) -> SearchReport:
        """Returns a report of the present position with the chances of people, if known.

        Only pattern networks have them: with others one more search takes too long.
        """
        is_known = self.evaluator.simulate and engine_settings.has_people(self.game)
        if not is_known or self.is_over:
            return report
        chances = self.chances(engine_settings.PEOPLE_RATINGS)
        return dataclasses.replace(report, people=chances)

    def _draw(self, rating: int) -> int:
        chances = {action: chance for action, (chance,) in self.chances([rating]).items()}
        return int(self._rng.choice(list(chances), p=list(chances.values())))

    def _choice(self, report: SearchReport) -> int:
        """Returns the move to play: the best one, or a random one above temperature 0."""
        temperature = self.play_config.temperature
        if temperature == 0 or report.moves[0].is_proven:
            return report.action
        moves = [move for move in report.moves if not move.is_proven or move.value == 0]
        visits = np.array([move.visits for move in moves], float)
        if not visits.any():
            return report.action
        weights = (visits / visits.max()) ** (1 / temperature)
        row = self._rng.choice(len(weights), p=weights / weights.sum())
        return moves[row].action

    def _solve(
        self, limits: Limits, deadline: float, is_stopped: Callable[[], bool] | None
    ) -> endgame.Solution | None:
        """Returns the bounds of the score that were proven; None with too many empty squares."""
        config, board = self._config_for(limits), self.board
        has_score = self.num_empties <= min(config.score_empties, config.solve_empties)
        is_probe = not has_score if limits.is_analysis else self.num_empties > config.solve_empties
        if not config.solve_empties or (is_probe and not config.probe_nodes):
            return None
        most = _solvable_empties(limits.seconds) - _SELECTIVE_LEAD
        is_beyond = is_probe or self.num_empties > most
        if is_beyond and self._uses_alphabeta and not limits.is_analysis:
            return None  # alpha-beta sees as much in this time
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
            max_nodes=config.solve_nodes,
            max_seconds=seconds,
            is_stopped=is_stopped,
        )
        self._solved = board, solution
        return solution

    def _probe(self, board: notation.Board, limits: Limits, **options: Any) -> endgame.Solution:
        """Returns the bounds that few nodes prove; in analyses only those of early ends."""
        words, max_nodes = (board.player, board.opponent), self._config_for(limits).probe_nodes
        solution = self._solver.find_early_win(*words, max_nodes)
        num_empties = self.game.size**2 - (board.black | board.white).bit_count()
        if limits.is_analysis or solution.best_move is not None or num_empties > _MOST_PROBED:
            return solution  # analyses look at all moves
        return self._solver.solve(*words, result_only=True, max_nodes=max_nodes, **options)

    def _verified(self, report: SearchReport, limits: Limits) -> SearchReport:
        """Returns a report with the best move that a probe does not refute.

        Analyses probe all moves; otherwise the rest is left as it is.
        """
        if not self._config_for(limits).probe_nodes:
            return report
        ordered = sorted(report.moves, key=lambda move: move.action != report.action)
        refuted: list[MoveReport] = []
        for move in ordered:
            reply = self._probe(self._after(self.board, move.action), limits, keeps_table=True)
            if search_report.is_won(reply, self):
                refuted.append(search_report.refuted(move, reply, self))
            elif not limits.is_analysis:
                break
        lost = {move.action for move in refuted}
        others = [move for move in ordered if move.action not in lost]
        if not others:
            refuted.sort(key=lambda move: self.utility(1) * (move.discs or 0.0), reverse=True)
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
                max_nodes=self.config.solve_nodes,
                max_seconds=left,
                is_stopped=is_stopped,
            )
            if solution.best_move is None or not solution.is_solved:
                break
            line.play(solution.best_move)
        return line.actions
