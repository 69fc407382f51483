"""Puts what the solver has proven into the report of a search.

`live` is the game whose position the report is of. Values and scores are for its side to move,
except where a function says otherwise.
"""

import dataclasses

from azo.play.live_game import LiveGame
from azo.play.search_report import MoveReport, SearchReport
from azo.solver.host.endgame import Solution


def is_won(solution: Solution, live: LiveGame) -> bool:
    """Returns whether the bounds prove a win for the side to move of the solved position."""
    return min(live.result(solution.lower), live.result(solution.upper)) > 0


def bounded(report: SearchReport, solution: Solution, live: LiveGame) -> SearchReport:
    """Returns a report inside the proven bounds; a proven win is its move."""
    lower, upper = sorted((live.result(solution.lower), live.result(solution.upper)))
    report = dataclasses.replace(
        report,
        value=min(max(report.value, lower), upper),
        discs=min(max(report.discs, solution.lower), solution.upper),
        score=solution.lower if solution.is_solved else report.score,
    )
    if lower < 1 or solution.best_move is None:
        return report

    def proven(move: MoveReport) -> MoveReport:
        if move.action != solution.best_move:
            return move
        return dataclasses.replace(
            move, value=1.0, discs=report.discs, score=report.score, is_proven=True
        )

    is_estimate = report.num_simulations > 0 and not solution.is_solved  # of the score
    return dataclasses.replace(
        report,
        action=solution.best_move,
        moves=tuple(
            sorted(map(proven, report.moves), key=lambda move: move.action != solution.best_move)
        ),
        source=report.source if is_estimate else "exact",
    )


def refuted(move: MoveReport, reply: Solution, live: LiveGame) -> MoveReport:
    """Returns the report of a move after which the opponent, whose bounds are given, wins."""
    most = -(reply.upper if live.game.is_reversed else reply.lower)
    return dataclasses.replace(
        move,
        value=-1.0,
        discs=_at_most(float(most) if move.discs is None else move.discs, most, live),
        score=most if reply.is_solved else None,
        line=move.line if reply.best_move is None else (move.action, reply.best_move),
        is_proven=True,
    )


def exact(
    report: SearchReport, solution: Solution, line: tuple[int, ...], live: LiveGame
) -> SearchReport:
    """Returns a report with exact scores and values in place of searched ones.

    Args:
      report: of a position that is solved.
      solution: its solution. Moves without a score keep their estimates, which are no better.
      line: best moves, to be the line of the best one.
      live: the game.
    """
    assert solution.best_move is not None
    scores = solution.move_scores or {solution.best_move: solution.score}

    def exact_move(move: MoveReport) -> MoveReport:
        score = scores.get(move.action)
        if score is None:
            return _estimated(move, solution.score, live)
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
        value=live.result(solution.score),
        discs=float(solution.score),
        score=solution.score,
        source="exact",
    )


def _estimated(move: MoveReport, score: int, live: LiveGame) -> MoveReport:
    """Returns an estimated move of a solved position, no better than the exact score."""
    if move.value is None or move.discs is None:
        return move
    value = min(move.value, live.result(score))
    return dataclasses.replace(move, value=value, discs=_at_most(move.discs, score, live))


def _at_most(discs: float, score: int, live: LiveGame) -> float:
    """Returns an expected score, or the score given if that is worse."""
    return max(discs, float(score)) if live.game.is_reversed else min(discs, float(score))
