"""The result of a live search. Values and scores are for the side to move."""

import dataclasses
from typing import Any, Literal

from azo.games import notation

Source = Literal["search", "exact", "book", "forced"]


@dataclasses.dataclass(frozen=True)
class MoveReport:
    """One legal move, with values for the side that makes it."""

    action: int
    visits: int
    prior: float  # the network's policy over the legal moves, without temperature
    value: float | None  # mean result in [-1, 1]; None without visits; exact: -1, 0 or 1
    discs: float | None  # mean final score; reversed Othello wants low ones; None without visits
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
    raw_value: float  # the network's own value
    discs: float  # expected final score, or the exact one
    score: int | None  # exact final score, if solved
    source: Source
    num_simulations: int
    num_evaluations: int  # positions that the network evaluated
    seconds: float

    @property
    def line(self) -> tuple[int, ...]:
        """The principal variation of the move to play."""
        return next(move.line for move in self.moves if move.action == self.action)


def move_json(move: MoveReport, size: int) -> dict[str, Any]:
    """Returns a move for JSON, with actions as text."""
    return {
        "move": notation.action_text(move.action, size),
        "visits": move.visits,
        "prior": move.prior,
        "value": move.value,
        "discs": move.discs,
        "score": move.score,
        "line": [notation.action_text(action, size) for action in move.line],
    }
