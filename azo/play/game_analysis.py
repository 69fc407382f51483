"""What an engine thinks of each position of a game: values, moves, mistakes and surprises.

Values are expected results in [-1, 1] for the side to move, searched with the same limits at every
ply; near the end, where the engine solves positions, they are exact results, and scores are final
margins of discs. The tree is kept from ply to ply, so what the search learned of a line that was
played is not lost.

The worth of the move played is minus the value of the position behind it, which had a search of its
own, rather than the mean of the few visits that an unlikely move may have had before.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import pydantic

from azo.games import notation, othello
from azo.play import engine_settings, live_engine, search_report

_MIN_VISITS = 8  # fewer tell nothing of a move's value


class AnalysisConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What to look for in a game."""

    tree_depth: pydantic.NonNegativeInt = 0
    """Plies of the searched tree to show behind each position."""
    tree_width: pydantic.PositiveInt = 3
    """Moves of a position to show in that tree, the most visited ones."""
    num_drops: pydantic.NonNegativeInt = 5
    """How many of the largest drops to list."""
    surprise_prior: pydantic.PositiveFloat = 0.05
    """A move is unlikely if the network gave it at most this probability."""
    surprise_gain: pydantic.PositiveFloat = 0.1
    """And a surprise if it is worth so much more than what was thought best."""


@dataclasses.dataclass(frozen=True)
class AnalysedBranch:
    """A move in the searched tree, and what follows it there."""

    move: search_report.MoveReport
    replies: tuple["AnalysedBranch", ...]


@dataclasses.dataclass(frozen=True)
class AnalysedPosition:
    """One position of the game; values are those of the side to move."""

    number: int  # ply, 1 for the first move
    board: notation.Board
    value: float  # searched, or exact
    raw_value: float | None  # the network's own; None where the game is over
    score: int | None  # final margin of discs under perfect play, where solved
    best: int | None  # the move to play; None where the game is over
    moves: tuple[search_report.MoveReport, ...]  # all legal moves, best first
    tree: tuple[AnalysedBranch, ...]
    played: int | None  # what was played; None for the last position
    drop: float | None = None  # value minus what it was worth after the move played
    loss: float | None = None  # the same, but 0 for the best move, and never below
    loss_discs: int | None = None  # discs given away, where both positions are solved

    @property
    def is_exact(self) -> bool:
        """Whether the value is a result under perfect play."""
        return self.score is not None

    @property
    def black_value(self) -> float:
        """The value as black sees it."""
        return self.value if self.board.is_black_to_move else -self.value

    @property
    def black_raw_value(self) -> float | None:
        """The network's own value as black sees it."""
        if self.raw_value is None:
            return None
        return self.raw_value if self.board.is_black_to_move else -self.raw_value

    @property
    def black_score(self) -> int | None:
        """The score as black sees it."""
        if self.score is None:
            return None
        return self.score if self.board.is_black_to_move else -self.score

    def thought_of(self, action: int | None) -> search_report.MoveReport | None:
        """Returns what the search thinks of a move, None if it is none of this position."""
        return next((move for move in self.moves if move.action == action), None)


@dataclasses.dataclass(frozen=True)
class Surprise:
    """An unlikely move that turned out better than what was thought best."""

    number: int  # ply
    action: int
    prior: float
    value: float  # of this move, for the side to move
    rival: int  # the move it is compared with
    rival_value: float
    # "found": the search prefers it to the network's favourite, the rival. "missed": it was played,
    # and only then seen to be better than the rival, the best that the search had found.
    kind: Literal["found", "missed"]


@dataclasses.dataclass(frozen=True)
class GameAnalysis:
    """A game, its positions and what is notable about them."""

    game: othello.Othello
    config: AnalysisConfig
    engine_config: engine_settings.EngineConfig
    positions: tuple[AnalysedPosition, ...]  # before each move, and after the last
    is_over: bool
    black_score: int  # black's margin after the last move, the empty squares to the winner
    drops: tuple[AnalysedPosition, ...]  # the largest, worst first
    surprises: tuple[Surprise, ...]

    @property
    def actions(self) -> tuple[int, ...]:
        """The moves of the game, passes included."""
        return tuple(p.played for p in self.positions if p.played is not None)

    @property
    def num_choices(self) -> int:
        """Positions with more than one legal move."""
        return sum(len(position.moves) > 1 for position in self.positions)

    def total_loss(self, *, is_black: bool) -> tuple[float, int]:
        """Returns what one side lost over the game: in expected result, and in discs."""
        own = [p for p in self.positions if p.board.is_black_to_move == is_black]
        return sum(p.loss or 0.0 for p in own), sum(p.loss_discs or 0 for p in own)


def analyse(
    engine: live_engine.Engine,
    config: AnalysisConfig,
    *,
    on_position: Callable[[int], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> GameAnalysis:
    """Analyses the game that an engine has before it, with the limits of the engine's settings.

    Args:
      engine: its game, from the start to its present position; afterwards it has the same.
      config: what to look for.
      on_position: called after each position with how many are done.
      is_stopped: asked during searches; when it says so, the rest of the game is left out.
    """
    start, actions = engine.start, engine.actions
    limits = engine_settings.Limits(
        num_simulations=engine.config.num_simulations,
        seconds=engine.config.seconds,
        is_analysis=True,
    )
    found: list[AnalysedPosition] = []
    try:
        engine.new_game(start)
        for number in range(1, len(actions) + 2):
            played = actions[number - 1] if number <= len(actions) else None
            found.append(_think(engine, config, limits, is_stopped, number, played))
            engine.new_game(start, actions[:number])  # as a replay, not as a game that ends
            if on_position is not None:
                on_position(number)
            if is_stopped is not None and is_stopped():
                break
    finally:
        if engine.actions != actions:
            engine.new_game(start, actions)
    positions = _with_losses(found, is_reversed=engine.game.is_reversed)
    return GameAnalysis(
        game=engine.game,
        config=config,
        engine_config=engine.config,
        positions=tuple(positions),
        is_over=engine.is_over,
        black_score=engine.final_score(),
        drops=_largest_drops(positions, config.num_drops),
        surprises=tuple(_surprises(positions, config)),
    )


def advice(analysis: GameAnalysis) -> str:
    """Returns what the surprises of a game say about the settings of the search."""
    config, searched = analysis.config, analysis.engine_config
    num_missed = sum(surprise.kind == "missed" for surprise in analysis.surprises)
    if not analysis.surprises:
        return (
            "No move that the network thought unlikely turned out clearly better: nothing here"
            " speaks for another c_puct or prior temperature."
        )
    return (
        f"In {len(analysis.surprises)} of {analysis.num_choices} positions with a choice a move of"
        f" at most {config.surprise_prior:.0%} prior turned out better by {config.surprise_gain:g}"
        f" or more; {num_missed} of them the search saw only once they were played. Where a"
        " network's policy misses good moves, OthelloZero's authors advise a larger c_puct in play"
        " than in training (3 instead of 2) and a prior temperature above 1, so that unlikely moves"
        f" are tried sooner. Here they were {searched.c_puct:g} and {searched.prior_temperature:g}."
        " Likely moves are then searched less deeply, and one game proves little: let a match"
        " decide."
    )


def _think(
    engine: live_engine.Engine,
    config: AnalysisConfig,
    limits: engine_settings.Limits,
    is_stopped: Callable[[], bool] | None,
    number: int,
    played: int | None,
) -> AnalysedPosition:
    """Returns the present position as it is before anything is known of the next."""
    if engine.is_over:
        black_score = engine.final_score()
        score = black_score if engine.board.is_black_to_move else -black_score
        value = engine.result(score)
        return AnalysedPosition(
            number=number,
            board=engine.board,
            value=value,
            raw_value=None,
            score=score,
            best=None,
            moves=(),
            tree=(),
            played=None,
        )
    thought = engine.think(limits, is_stopped=is_stopped)
    return AnalysedPosition(
        number=number,
        board=engine.board,
        value=thought.value,
        raw_value=thought.raw_value,
        score=thought.score,
        best=thought.action,
        moves=thought.moves,
        tree=_branches(engine, (), config.tree_depth, config.tree_width),
        played=played,
    )


def _branches(
    engine: live_engine.Engine, line: tuple[int, ...], depth: int, width: int
) -> tuple[AnalysedBranch, ...]:
    if depth == 0:
        return ()
    chosen = [move for move in engine.look(line) if move.visits][:width]
    return tuple(
        AnalysedBranch(move, _branches(engine, (*line, move.action), depth - 1, width))
        for move in chosen
    )


def _with_losses(found: Sequence[AnalysedPosition], *, is_reversed: bool) -> list[AnalysedPosition]:
    """Returns the positions with what each move cost."""
    positions: list[AnalysedPosition] = []
    for before, after in itertools.pairwise(found):
        drop = before.value + after.value
        loss = 0.0 if before.played == before.best else max(drop, 0.0)
        loss_discs = None
        if before.score is not None and after.score is not None:
            margin = before.score + after.score
            loss_discs = -margin if is_reversed else margin
        positions.append(dataclasses.replace(before, drop=drop, loss=loss, loss_discs=loss_discs))
    return [*positions, found[-1]]


def _largest_drops(positions: Sequence[AnalysedPosition], num: int) -> tuple[AnalysedPosition, ...]:
    """Returns the moves with the largest drops; of equal ones, those that lost more discs first."""

    def size(position: AnalysedPosition) -> tuple[float, int]:
        return position.drop or 0.0, position.loss_discs or 0

    worst = sorted(positions, key=size, reverse=True)[:num]
    return tuple(position for position in worst if size(position) > (0.0, 0))


def _surprises(positions: Sequence[AnalysedPosition], config: AnalysisConfig) -> list[Surprise]:
    """Returns at most one surprise a position, in the order of the game."""
    surprises = []
    for position in positions:
        surprise = _found(position, config) or _missed(position, config)
        if surprise is not None:
            surprises.append(surprise)
    return surprises


def _found(position: AnalysedPosition, config: AnalysisConfig) -> Surprise | None:
    best = position.thought_of(position.best)
    if best is None or best.prior > config.surprise_prior or not _is_known(best):
        return None
    favourite = max(position.moves, key=lambda move: move.prior)
    if not _is_known(favourite):
        return None
    return _surprise(position, best.action, position.value, favourite, "found", config)


def _missed(position: AnalysedPosition, config: AnalysisConfig) -> Surprise | None:
    played, best = (position.thought_of(a) for a in (position.played, position.best))
    if played is None or best is None or position.drop is None or played == best:
        return None
    if played.prior > config.surprise_prior:
        return None
    rival = dataclasses.replace(best, value=position.value)
    return _surprise(
        position, played.action, position.value - position.drop, rival, "missed", config
    )


def _is_known(move: search_report.MoveReport) -> bool:
    return move.value is not None and (move.visits >= _MIN_VISITS or move.score is not None)


def _surprise(
    position: AnalysedPosition,
    action: int,
    value: float,
    rival: search_report.MoveReport,
    kind: Literal["found", "missed"],
    config: AnalysisConfig,
) -> Surprise | None:
    move = position.thought_of(action)
    assert move is not None
    assert rival.value is not None
    if value - rival.value < config.surprise_gain:
        return None
    return Surprise(position.number, action, move.prior, value, rival.action, rival.value, kind)
