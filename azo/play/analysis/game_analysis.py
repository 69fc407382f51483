"""Analysis of a game: the worth of each position and move, and mistakes.

Values are expected results in [-1, 1] for the side to move, searched with the same limits at every
ply. Positions near the end are solved: their values are exact, and scores are final margins of
discs. The search tree is kept from ply to ply.

The loss of a move is the sum in discs of the expected scores of its position and of the next one,
each for its side to move: the search before the move may have visited it only a few times. The
engine's choice and its images by symmetries of the board lose nothing. `web/static/losses.js` has
the same rules for the page.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from azo.formats import game_files
from azo.games import board_symmetry, notation, variant
from azo.games.host import live_game
from azo.play.analysis import reasons
from azo.play.engine import engine_factory, engine_settings, live_engine, live_search
from azo.play.engine.search_report import SearchReport

# Least loss in discs, least loss in expected result, and the mark of a move that reaches either. So
# a move that turns a win into a draw or a loss always has the worst mark.
MARKS = ((10.0, 1.0, "??"), (4.0, 0.75, "?"), (2.0, math.inf, "?!"))
_RESULT_LOST = 1.0  # a loss in expected result that changes who wins
_NUM_LOSSES = 10  # listed as the largest


@dataclasses.dataclass(frozen=True)
class AnalysedPosition(SearchReport):
    """One position of the game, as its search reports it; without moves if the game is over."""

    discs: float  # expected final score, or the exact one
    number: int = 0  # ply, 1 for the first move
    played: int | None = None  # None for the last position
    # Of the played move: at least 0, and 0 for the engine's choice.
    loss: float | None = None  # expected result that it gives away, from 0 to 2
    loss_discs: float | None = None  # discs that it gives away, exact or expected
    is_loss_exact: bool = False  # both positions are solved

    @property
    def best(self) -> int | None:
        """The move to play, None if the game is over."""
        return self.action if self.moves else None

    @property
    def mark(self) -> str:
        """The mark of the played move: `??`, `?`, `?!` or nothing."""
        discs, result = self.loss_discs or 0.0, self.loss or 0.0
        marks = (mark for least, lost, mark in MARKS if discs >= least or result >= lost)
        return next(marks, "")

    def chance(self, rating: int, actions: Iterable[int]) -> float:
        """Returns the chance that people of a rating play one of some actions."""
        return sum(
            float(np.interp(rating, engine_settings.PEOPLE_RATINGS, self.people[action]))
            for action in actions
        )

    def difficulty(self, rating: int) -> float:
        """Returns the chance that people of a rating make a move with a mark by its discs here."""
        known = [move for move in self.moves if move.discs is not None]
        best = max((move.discs or 0.0 for move in known), default=0.0)
        good = (move.action for move in known if best - (move.discs or 0.0) < MARKS[-1][0])
        return 1.0 - self.chance(rating, good)

    @property
    def black_value(self) -> float:
        """The value for black."""
        return self.value if self.board.is_black_to_move else -self.value


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
    """A game with its analysed positions."""

    game: variant.Variant
    positions: tuple[AnalysedPosition, ...]  # before each move, and after the last
    evaluator: live_search.Evaluator | None = None  # the network that it was analysed with

    @property
    def end(self) -> live_game.LiveGame:
        """The game after the last analysed move."""
        game = live_game.LiveGame(self.game)
        actions = [p.played for p in self.positions if p.played is not None]
        game.new_game(self.positions[0].board, actions)
        return game

    @property
    def losses(self) -> tuple[AnalysedPosition, ...]:
        """The ten largest losses: moves that changed who wins, then the others, by discs."""

        def rank(position: AnalysedPosition) -> tuple[bool, float]:
            return (position.loss or 0.0) < _RESULT_LOST, -(position.loss_discs or 0.0)

        lost = (position for position in self.positions if position.loss_discs)
        return tuple(sorted(lost, key=rank)[:_NUM_LOSSES])

    def reasons(self, position: AnalysedPosition) -> list[reasons.Reason]:
        """Returns why the move of a position lost discs; empty without a mark."""
        if not position.mark:
            return []
        assert position.played is not None
        after = self.positions[position.number]
        refutation = [position.played, *(after.line if after.moves else ())]
        better = position.line
        return reasons.find(position.board, refutation, better, self.game, self.evaluator)

    def summary(self, *, is_black: bool) -> SideSummary:
        """Returns the summary of one side."""
        own = [p for p in self.positions if p.board.is_black_to_move == is_black]
        return SideSummary(
            num_choices=sum(p.loss_discs is not None and len(p.moves) > 1 for p in own),
            loss_discs=sum(p.loss_discs or 0.0 for p in own),
            exact_loss_discs=sum(p.loss_discs or 0.0 for p in own if p.is_loss_exact),
            num_marks={mark: sum(p.mark == mark for p in own) for *_, mark in MARKS},
        )


def analyse_game(
    game: str,
    engine: live_engine.Engine | None = None,
    *,
    on_position: Callable[[int], None] | None = None,
) -> GameAnalysis:
    """Returns the analysis of a recorded game of Othello: the worth of each position and move.

        analysis = azo.analyse_game("f5d6c3d3c4")
        for position in analysis.losses:
            print(position.number, azo.action_text(position.played, 8), position.loss_discs)

    Args:
      game: a transcript, the text of a GGF, SGF, PGN or OBF file, or a link to a game of `azo web`.
      engine: searches each position with the limits of its settings, and has the game afterwards;
        by default that of `azo.load_engine(num_simulations=400)`.
      on_position: called after each position with the number of analysed positions.

    Raises:
      ValueError: the text is not a game of the engine's rules, or a move is illegal.
    """
    engine = engine or engine_factory.load_engine(num_simulations=400)
    played = game_files.parse(game, engine.game)
    engine.new_game(played.board, played.moves)
    return analyse(engine, on_position=on_position)


def analyse(
    engine: live_engine.Engine,
    *,
    on_position: Callable[[int], None] | None = None,
    is_stopped: Callable[[], bool] | None = None,
) -> GameAnalysis:
    """Analyses the engine's game from its start to its present position.

    The limits are those of the engine's settings. `on_position` is called with the number of
    analysed positions. If `is_stopped` returns True, the analysis ends without the later positions.
    """
    start, actions = engine.start, engine.actions
    limits = engine.config.limits(is_analysis=True)
    positions: list[AnalysedPosition] = []
    try:
        for number, played in enumerate((*actions, None), start=1):
            # A replay, which keeps the tree.
            engine.new_game(start, actions[: number - 1])
            if engine.is_over:
                report = end_report(engine)
            else:
                report = engine.with_people(engine.think(limits, is_stopped=is_stopped))
            positions.append(AnalysedPosition(**vars(report), number=number, played=played))
            if on_position is not None:
                on_position(number)
            if is_stopped is not None and is_stopped():
                break
    finally:
        if engine.actions != actions:
            engine.new_game(start, actions)
    return GameAnalysis(engine.game, _with_losses(positions, engine.game), engine.evaluator)


def end_report(live: live_game.LiveGame) -> SearchReport:
    """Returns the report of the present position of a game that is over; it has no moves."""
    score = live.final_score() * (1 if live.board.is_black_to_move else -1)
    values = live.result(score), None, float(score), score
    return SearchReport(live.board, live.game.pass_action, (), *values, "exact")


def _with_losses(
    positions: Sequence[AnalysedPosition], game: variant.Variant
) -> tuple[AnalysedPosition, ...]:
    """Returns the positions with the cost of each move."""
    complete: list[AnalysedPosition] = []
    for before, after in itertools.pairwise(positions):
        assert before.played is not None
        loss = loss_discs = 0.0
        squares = np.array(list(notation.board_text(before.board, game.size))[: game.size**2])
        if not board_symmetry.are_equivalent(squares, before.played, before.action):
            discs = before.discs + after.discs
            loss = max(before.value + after.value, 0.0)
            loss_discs = max(-discs if game.is_reversed else discs, 0.0)
        is_exact = before.score is not None and after.score is not None
        complete.append(
            dataclasses.replace(before, loss=loss, loss_discs=loss_discs, is_loss_exact=is_exact)
        )
    return (*complete, positions[-1])
