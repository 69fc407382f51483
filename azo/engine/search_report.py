"""The result of a live search, and what the solver has proven in it.

Values and scores are for the side to move, except where a function says otherwise. `live` is the
game whose position a report is of.
"""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from azo.games import notation
from azo.games.host.live_game import LiveGame
from azo.solver.host.endgame import Solution

Source = Literal["search", "exact", "book", "forced", "people"]

MUCH_VISITED = 0.1
"""Scores of moves with at least this share of the visits of the most visited move are trusted."""
# Standard deviation of the error of the engine's score on 8x8, which makes a result likely.
_SCORE_DEVIATION = 3.0


@dataclasses.dataclass(frozen=True)
class MoveReport:
    """One legal move, with values for the side that makes it."""

    action: int
    visits: int
    prior: float  # the network's policy over the legal moves, without temperature
    value: float | None  # expected result in [-1, 1]; None without visits; exact: -1, 0 or 1
    # Expected final score; reversed Othello wants low ones. None without visits, and from a search
    # for the result.
    discs: float | None
    score: int | None  # exact final score, if solved
    line: tuple[int, ...]  # principal variation, this move first
    is_proven: bool = False  # the value is the result under perfect play


@dataclasses.dataclass(frozen=True)
class SearchReport:
    """A position, its legal moves and the move to play."""

    board: notation.Board
    action: int  # the move to play
    moves: tuple[MoveReport, ...]  # all legal moves, best first
    value: float  # expected result in [-1, 1] after the search, or the exact one
    raw_value: float | None  # the network's own value, None if the game is over
    discs: float | None  # expected final score, or the exact one; see `MoveReport`
    score: int | None  # exact final score, if solved
    source: Source
    num_simulations: int = 0
    num_evaluations: int = 0  # positions that the network evaluated
    seconds: float = 0.0
    # Of each action the chances that people play it, by `engine_settings.PEOPLE_RATINGS`.
    people: Mapping[int, Sequence[float]] = dataclasses.field(default_factory=dict)
    is_deep: bool = False  # searched by `Engine.deep_limits`, or by at least as many simulations

    @property
    def is_firm(self) -> bool:
        """Whether the score is exact, or its search was long enough for marks."""
        return self.is_deep or self.score is not None

    @property
    def line(self) -> tuple[int, ...]:
        """The principal variation of the move to play."""
        return next(move.line for move in self.moves if move.action == self.action)


_Report = TypeVar("_Report", MoveReport, SearchReport)


def likely_result(utility: float, size: int) -> float:
    """Returns the expected result in [-1, 1] of an expected score, on a board of `size` rows.

    `utility` is the score, with its sign changed in reversed Othello. The true score counts as
    normally distributed around it.
    """
    deviation = _SCORE_DEVIATION * size / 8
    return math.erf(utility / (deviation * math.sqrt(2)))


def likely_utility(value: float, size: int) -> float:
    """Returns the expected score of which `likely_result` is `value`, at most that of the board."""
    deviation = _SCORE_DEVIATION * size / 8
    share = min(max((1 + value) / 2, 1e-9), 1 - 1e-9)
    utility = deviation * statistics.NormalDist().inv_cdf(share)
    return min(max(utility, -(size**2)), size**2)


def whole(report: SearchReport) -> SearchReport:
    """Returns a report with expected scores in whole discs: a search is no more precise."""
    return dataclasses.replace(_whole(report), moves=tuple(map(_whole, report.moves)))


def _whole(item: _Report) -> _Report:
    return item if item.discs is None else dataclasses.replace(item, discs=rounded(item.discs))


def rounded(discs: float) -> float:
    """Returns whole discs; halves are rounded away from 0, so that both sides have one number."""
    return math.copysign(math.floor(abs(discs) + 0.5), discs) + 0.0


def move_json(move: MoveReport, size: int) -> dict[str, Any]:
    """Returns a move for JSON, with actions as text."""
    names = ("visits", "prior", "value", "discs", "score")
    return {
        "move": notation.action_text(move.action, size),
        **{name: getattr(move, name) for name in names},
        "line": [notation.action_text(action, size) for action in move.line],
    }


def by_discs(
    moves: Sequence[MoveReport], *, is_reversed: bool, best: MoveReport | None = None
) -> tuple[MoveReport, ...]:
    """Returns the moves of an analysis by their scores, best first; unknown ones are last.

    `best` is the best move if the caller knows it. By default it is proven or has many visits. No
    other move is shown to be better.
    """
    sign = -1 if is_reversed else 1

    def worth(move: MoveReport) -> float:
        return -math.inf if move.discs is None else sign * move.discs

    if best is None or best.discs is None:
        least = max(MUCH_VISITED * max(move.visits for move in moves), 1)
        candidates = [move for move in moves if move.is_proven or move.visits >= least]
        best = max(candidates, key=worth, default=moves[0])

    def bounded(move: MoveReport) -> MoveReport:
        if worth(move) <= worth(best):
            return move
        return dataclasses.replace(move, discs=best.discs, value=best.value)

    others = [bounded(move) for move in moves if move is not best]
    return (best, *sorted(others, key=worth, reverse=True))


def among(solution: Solution, actions: frozenset[int], live: LiveGame) -> Solution:
    """Returns what is proven if the side to move has only some of its actions."""
    scores = {x: score for x, score in solution.move_scores.items() if x in actions}
    if solution.is_solved and len(scores) == len(actions):
        best = max(scores, key=lambda action: live.utility(scores[action]))
        bound = scores[best]
        return dataclasses.replace(
            solution, lower=bound, upper=bound, best_move=best, move_scores=scores
        )
    if solution.best_move is None or solution.best_move in actions:
        return solution
    whole = live.game.size**2
    return dataclasses.replace(solution, lower=-whole, upper=whole, best_move=None, move_scores={})


def is_won(solution: Solution, live: LiveGame) -> bool:
    """Returns whether the bounds prove a win for the side to move of the solved position."""
    return min(live.result(solution.lower), live.result(solution.upper)) > 0


def bounded(report: SearchReport, solution: Solution, live: LiveGame) -> SearchReport:
    """Returns a report inside the proven bounds; a proven win is its move."""
    if solution.is_solved:
        report = dataclasses.replace(report, discs=float(solution.lower), score=solution.lower)
    report = _inside(report, solution.lower, solution.upper, live)
    if not is_won(solution, live) or solution.best_move is None:
        return report
    is_estimate = report.num_simulations > 0 and not solution.is_solved  # of the score
    best = dataclasses.replace(
        next(move for move in report.moves if move.action == solution.best_move),
        value=1.0,
        discs=report.discs,
        score=report.score,
        is_proven=True,
    )
    return dataclasses.replace(
        report,
        action=best.action,
        moves=(best, *(move for move in report.moves if move.action != best.action)),
        source=report.source if is_estimate else "exact",
    )


def refuted(move: MoveReport, reply: Solution, live: LiveGame) -> MoveReport:
    """Returns the report of a move after which the opponent, whose bounds are given, wins."""
    most = -(reply.upper if live.game.is_reversed else reply.lower)
    discs = float(most) if move.discs is None else move.discs
    lost = dataclasses.replace(move, value=-1.0, discs=discs, is_proven=True)
    return dataclasses.replace(
        _inside(lost, -reply.upper, -reply.lower, live),
        score=most if reply.is_solved else None,
        line=move.line if reply.best_move is None else (move.action, reply.best_move),
    )


def with_move(
    report: SearchReport, action: int, discs: float, line: tuple[int, ...], live: LiveGame
) -> SearchReport:
    """Returns a report with a move that alpha-beta found, and its expected score; it comes first.

    Of the other moves it knows only that none is better.
    """
    value = likely_result(live.utility(1) * discs, live.game.size)
    move = next(move for move in report.moves if move.action == action)
    best = dataclasses.replace(move, value=value, discs=discs, line=line)
    others = (one for one in report.moves if one.action != action)
    moves = (best, *others)
    return dataclasses.replace(report, action=action, moves=moves, value=value, discs=discs)


def with_solution(
    report: SearchReport, solution: Solution, line: tuple[int, ...], live: LiveGame
) -> SearchReport:
    """Returns the report of a solved position, with exact scores and values.

    Moves without a score keep their estimates, which are no better than the best score. `line` are
    best moves, the line of the best move.
    """
    assert solution.best_move is not None
    best, most = solution.score, live.game.size**2
    scores = solution.move_scores or {solution.best_move: best}
    worst_bound = (best, most) if live.game.is_reversed else (-most, best)

    def exact_move(move: MoveReport) -> MoveReport:
        score = scores.get(move.action)
        if score is None:
            return _inside(move, *worst_bound, live)
        return dataclasses.replace(
            move,
            score=score,
            discs=float(score),
            value=live.result(score),
            is_proven=True,
            line=line if move.action == solution.best_move else move.line,
        )

    def rank(move: MoveReport) -> tuple[bool, bool, int]:
        is_best = move.action == solution.best_move
        return not is_best, move.score is None, -live.utility(move.score or 0)

    return dataclasses.replace(
        report,
        action=solution.best_move,
        moves=tuple(sorted(map(exact_move, report.moves), key=rank)),
        value=live.result(best),
        discs=float(best),
        score=best,
        source="exact",
    )


def _inside(item: _Report, lower: int, upper: int, live: LiveGame) -> _Report:
    """Returns a report with the nearest value and score that two bounds of the score allow."""
    least, most = sorted((live.result(lower), live.result(upper)))
    return dataclasses.replace(
        item,
        value=None if item.value is None else min(max(item.value, least), most),
        discs=None if item.discs is None else min(max(item.discs, lower), upper),
    )
