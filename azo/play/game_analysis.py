"""Analysis of a game: the worth of each position and move, and mistakes.

Values are expected results in [-1, 1] for the side to move, searched with the same limits at every
ply. Positions near the end are solved: their values are exact, and scores are final margins of
discs. The search tree is kept from ply to ply.

The loss of a move is counted in discs: the expected final score before the move minus the worth of
the move. Both are exact where both positions are solved. The worth of the played move is minus the
expected score of the next position. That position had a search of its own; the played move may
have had only a few visits before. The engine's choice and its images by symmetries of the board
lose nothing. `web/static/losses.js` has the same rule for the page.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pydantic

from azo.games import board_symmetry, notation, setting_types, variant
from azo.play import engine_settings, live_engine
from azo.play.search_report import MoveReport, SearchReport

MARKS = ((10.0, "??"), (4.0, "?"), (2.0, "?!"))  # least loss in discs, and the mark


class AnalysisConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What an analysis reports."""

    num_losses: setting_types.NonNegativeInt = 10
    """Number of the largest losses to list."""


@dataclasses.dataclass(frozen=True)
class AnalysedPosition:
    """One position of the game; values are for the side to move."""

    number: int  # ply, 1 for the first move
    board: notation.Board
    value: float  # searched, or exact
    discs: float  # expected final score, or the exact one
    score: int | None  # final score under perfect play, where solved
    report: SearchReport | None = None  # None if the game is over
    played: int | None = None  # None for the last position
    # Of the played move: at least 0, and 0 for the engine's choice.
    loss: float | None = None  # expected result that it gives away, from 0 to 2
    loss_discs: float | None = None  # discs that it gives away, exact or expected
    is_loss_exact: bool = False  # both positions are solved

    @property
    def best(self) -> int | None:
        """The move to play, None if the game is over."""
        return None if self.report is None else self.report.action

    @property
    def moves(self) -> tuple[MoveReport, ...]:
        """All legal moves, best first."""
        return () if self.report is None else self.report.moves

    @property
    def raw_value(self) -> float | None:
        """The network's own value, None if the game is over."""
        return None if self.report is None else self.report.raw_value

    @property
    def mark(self) -> str:
        """The mark of the played move: `??`, `?`, `?!` or nothing."""
        loss = self.loss_discs or 0.0
        return next((mark for least, mark in MARKS if loss >= least), "")

    @property
    def black_value(self) -> float:
        """The value for black."""
        return self._sign * self.value

    @property
    def black_raw_value(self) -> float | None:
        """The network's own value for black."""
        return None if self.raw_value is None else self._sign * self.raw_value

    @property
    def black_discs(self) -> float:
        """The expected final score for black."""
        return self._sign * self.discs

    @property
    def black_score(self) -> int | None:
        """The score for black."""
        return None if self.score is None else self._sign * self.score

    @property
    def _sign(self) -> int:
        return 1 if self.board.is_black_to_move else -1

    def report_of(self, action: int | None) -> MoveReport | None:
        """Returns the report of a move, None if it is not a legal move of this position."""
        return next((move for move in self.moves if move.action == action), None)


@dataclasses.dataclass(frozen=True)
class SideSummary:
    """The choices of one side over a game; a move without an alternative is no choice."""

    num_choices: int
    loss_discs: float  # all discs given away, exact and expected
    exact_loss_discs: float  # those of solved positions
    num_marks: dict[str, int]  # by mark, worst first

    @property
    def accuracy(self) -> float:
        """The share of choices without a mark, 1 without choices."""
        return 1.0 - sum(self.num_marks.values()) / max(self.num_choices, 1)


@dataclasses.dataclass(frozen=True)
class GameAnalysis:
    """A game with its analysed positions and largest losses."""

    game: variant.Variant
    config: AnalysisConfig
    engine_config: engine_settings.EngineConfig
    positions: tuple[AnalysedPosition, ...]  # before each move, and after the last
    is_over: bool
    black_score: int  # black's margin after the last move, the empty squares to the winner
    num_empties: int  # after the last move
    losses: tuple[AnalysedPosition, ...]  # the largest in discs, worst first

    @property
    def actions(self) -> tuple[int, ...]:
        """The moves of the game, passes included."""
        return tuple(p.played for p in self.positions if p.played is not None)

    def summary(self, *, is_black: bool) -> SideSummary:
        """Returns the summary of one side."""
        own = [p for p in self.positions if p.board.is_black_to_move == is_black]
        return SideSummary(
            num_choices=sum(p.loss_discs is not None and len(p.moves) > 1 for p in own),
            loss_discs=sum(p.loss_discs or 0.0 for p in own),
            exact_loss_discs=sum(p.loss_discs or 0.0 for p in own if p.is_loss_exact),
            num_marks={mark: sum(p.mark == mark for p in own) for _, mark in MARKS},
        )


def analyse(
    engine: live_engine.Engine,
    config: AnalysisConfig,
    *,
    on_position: Callable[[int], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> GameAnalysis:
    """Analyses the engine's game, with the limits of the engine's settings.

    Args:
      engine: has the game from its start to its present position, and has it again afterwards.
      config: what to report.
      on_position: called after each position with the number of analysed positions.
      is_stopped: called during searches; True ends the analysis, and the rest is left out.
    """
    start, actions = engine.start, engine.actions
    limits = dataclasses.replace(engine.config.limits, is_analysis=True)
    positions: list[AnalysedPosition] = []
    try:
        engine.new_game(start)
        for number in range(1, len(actions) + 2):
            played = actions[number - 1] if number <= len(actions) else None
            positions.append(_analyse_position(engine, limits, is_stopped, number, played))
            engine.new_game(
                start, actions[:number]
            )  # a replay: `play` would report a finished game
            if on_position is not None:
                on_position(number)
            if is_stopped is not None and is_stopped():
                break
    finally:
        if engine.actions != actions:
            engine.new_game(start, actions)
    positions = _with_losses(positions, engine.game)
    return GameAnalysis(
        game=engine.game,
        config=config,
        engine_config=engine.config,
        positions=tuple(positions),
        is_over=engine.is_over,
        black_score=engine.final_score(),
        num_empties=engine.num_empties,
        losses=_largest_losses(positions, config.num_losses),
    )


def _analyse_position(
    engine: live_engine.Engine,
    limits: engine_settings.Limits,
    is_stopped: Callable[[], bool] | None,
    number: int,
    played: int | None,
) -> AnalysedPosition:
    """Returns the engine's present position, without the losses, which need the next position."""
    if engine.is_over:
        black_score = engine.final_score()
        score = black_score if engine.board.is_black_to_move else -black_score
        return AnalysedPosition(number, engine.board, engine.result(score), float(score), score)
    report = engine.think(limits, is_stopped=is_stopped)
    return AnalysedPosition(
        number=number,
        board=engine.board,
        value=report.value,
        discs=report.discs,
        score=report.score,
        report=report,
        played=played,
    )


def _is_best(position: AnalysedPosition, size: int) -> bool:
    """Returns whether the played move is the engine's, or its image by a symmetry of the board."""
    if position.played is None or position.best is None:
        return position.played == position.best
    squares = np.array(list(notation.board_text(position.board, size))[: size * size])
    return board_symmetry.are_equivalent(squares, position.played, position.best)


def _with_losses(
    positions: Sequence[AnalysedPosition], game: variant.Variant
) -> list[AnalysedPosition]:
    """Returns the positions with the cost of each move."""
    complete: list[AnalysedPosition] = []
    for before, after in itertools.pairwise(positions):
        loss = loss_discs = 0.0
        if not _is_best(before, game.size):
            discs = before.discs + after.discs
            loss = max(before.value + after.value, 0.0)
            loss_discs = max(-discs if game.is_reversed else discs, 0.0)
        is_exact = before.score is not None and after.score is not None
        complete.append(
            dataclasses.replace(before, loss=loss, loss_discs=loss_discs, is_loss_exact=is_exact)
        )
    return [*complete, positions[-1]]


def _largest_losses(
    positions: Sequence[AnalysedPosition], num: int
) -> tuple[AnalysedPosition, ...]:
    """Returns the moves that lost most discs; of equal ones, the earlier comes first."""
    worst = sorted(positions, key=lambda p: -(p.loss_discs or 0.0))[:num]
    return tuple(position for position in worst if position.loss_discs)
