"""What the engine says of a position, always seen by the side to move."""

import dataclasses
from typing import Literal

from azo.games import notation

Source = Literal["search", "exact", "book", "forced"]


@dataclasses.dataclass(frozen=True)
class MoveReport:
    """What is known of one move, seen by whoever makes it."""

    action: int
    visits: int
    prior: float  # the network's policy over the legal moves, not tempered
    value: float | None  # mean result in [-1, 1]; None without visits; exact: -1, 0 or 1
    score: int | None  # final margin of discs, if solved; reversed Othello wants low ones
    line: tuple[int, ...]  # principal variation, this move first


@dataclasses.dataclass(frozen=True)
class SearchReport:
    """What is known of a position."""

    board: notation.Board
    action: int  # the move to play
    moves: tuple[MoveReport, ...]  # all legal moves, best first
    value: float  # expected result in [-1, 1] after the search, or the exact one
    raw_value: float  # as the network alone says
    score: int | None  # final margin of discs, if solved
    source: Source
    num_simulations: int
    num_evaluations: int  # positions that the network was asked about
    seconds: float

    @property
    def line(self) -> tuple[int, ...]:
        """The principal variation of the move to play."""
        return next(move.line for move in self.moves if move.action == self.action)
