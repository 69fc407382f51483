"""Analysis of a game: the value of each position and move, and mistakes.

Values are expected results in [-1, 1] for the side to move, searched with the same limits at every
ply. Positions near the end are solved: their values are exact, and scores are final margins of
discs. The search tree is kept from ply to ply.

Expected scores are whole discs: no search is more precise. The loss of a move is the sum in discs
of the scores of its position and of the next one, each for its side to move: the search before the
move may have visited it only a few times. The engine's choice and its images by symmetries of the
board lose nothing. The report of a position has the same number for the move played, so that
tables, marks, texts and positions to practise agree.

A search of usual length finds mistakes, but does not know their size. So the positions before and
after each one are searched again, by `Engine.deep_limits`, and only such moves have marks.
`web/static/losses.js` has the same rules for the page.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from azo.coach import reasons
from azo.engine import engine_factory, engine_settings, live_engine, live_search, search_report
from azo.engine.search_report import SearchReport
from azo.formats import game_files
from azo.games import board_symmetry, notation, plurals, variant
from azo.games.host import live_game

# Least loss in discs, least loss in expected result, and the mark of a move that reaches either. So
# a move that turns a win into a draw or a loss always has the worst mark.
MARKS = ((10.0, 1.0, "??"), (4.0, 0.75, "?"), (2.0, math.inf, "?!"))
# By so much more a loss that is not exact has to reach them, so that a longer search agrees.
MARGIN, RESULT_MARGIN = 1.0, 0.25
_RESULT_LOST = 1.0  # a loss in expected result that changes who wins
_NUM_LOSSES = 10  # listed as the largest
# Least loss by usual searches, in discs or in expected result, with which positions are searched
# again.
_DOUBTED, _RESULT_DOUBTED = 2.0, 0.5


@dataclasses.dataclass(frozen=True)
class AnalysedPosition(SearchReport):
    """One position of the game, as its search reports it; without moves if the game is over."""

    discs: float  # expected final score in whole discs, or the exact one
    number: int = 0  # ply, 1 for the first move
    played: int | None = None  # None for the last position
    # Of the played move: at least 0, and 0 for the engine's choice.
    loss: float | None = None  # expected result that it gives away, from 0 to 2
    loss_discs: float | None = None  # whole discs that it gives away, exact or expected
    is_loss_exact: bool = False  # both positions are solved
    is_loss_firm: bool = False  # both are solved or searched deeply

    @property
    def best(self) -> int | None:
        """The move to play, None if the game is over."""
        return self.action if self.moves else None

    @property
    def mark(self) -> str:
        """The mark of the played move: `??`, `?`, `?!` or nothing, also as long as it is unsure."""
        if not self.is_loss_firm:
            return ""
        discs, result = self._surely_lost
        marks = (mark for least, lost, mark in MARKS if discs >= least or result >= lost)
        return next(marks, "")

    @property
    def loses_result(self) -> bool:
        """Whether the played move turns a win into a draw or a loss, or a draw into a loss."""
        return self.is_loss_firm and self._surely_lost[1] >= _RESULT_LOST

    @property
    def _surely_lost(self) -> tuple[float, float]:
        """The least loss of the played move in discs and in expected result."""
        discs, result = self.loss_discs or 0.0, self.loss or 0.0
        return (discs, result) if self.is_loss_exact else (discs - MARGIN, result - RESULT_MARGIN)

    def chance(self, rating: int, actions: Iterable[int]) -> float:
        """Returns the probability that players of a rating play one of some actions."""
        return sum(
            float(np.interp(rating, engine_settings.PEOPLE_RATINGS, self.people[action]))
            for action in actions
        )

    def difficulty(self, rating: int) -> float:
        """Returns the probability that players of a rating lose enough discs here for a mark."""
        moves = [move for move in self.moves if move.discs is not None]
        best = max((move.discs or 0.0 for move in moves), default=0.0)
        good = (move.action for move in moves if best - (move.discs or 0.0) < MARKS[-1][0])
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

    def __repr__(self) -> str:
        positions = plurals.counted(len(self.positions), "position")
        return f"<GameAnalysis of {self.game.name}, {positions}>"

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
            return not position.loses_result, -(position.loss_discs or 0.0)

        lost = (position for position in self.positions if position.loss_discs)
        return tuple(sorted(lost, key=rank)[:_NUM_LOSSES])

    def reasons(self, position: AnalysedPosition) -> list[reasons.Reason]:
        """Returns why the move of a position lost discs, at least one reason; [] without a mark."""
        if not position.mark:
            return []
        assert position.played is not None
        after = self.positions[position.number]
        refutation = [position.played, *(after.line if after.moves else ())]
        return reasons.find(
            position.board,
            refutation,
            position.line,
            self.game,
            self.evaluator,
            leads=(after.discs, -position.discs),
            is_exact=after.score is not None,
        )

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
    """Returns the analysis of a recorded game of Othello: the value of each position and move.

        analysis = azo.analyse_game("f5d6c3d3c4")
        for position in analysis.losses:
            print(position.number, azo.action_text(position.played, 8), position.loss_discs)

    Args:
      game: a transcript, or the text of a game or board in any format that docs/play.md lists.
      engine: searches each position with the limits of its settings, and holds the game afterwards;
        by default `azo.load_engine(num_simulations=400)`.
      on_position: called after each position with the number of positions analysed so far.

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

    The limits are those of the engine's settings, and of its `deep_limits` for positions around
    mistakes. `on_position` is called with the number of analysed positions. If `is_stopped` returns
    True, the analysis ends without the later positions.
    """
    start, actions = engine.start, engine.actions
    usual = engine.config.limits(is_analysis=True)
    deep = engine.deep_limits(usual)
    positions: list[AnalysedPosition] = []

    def has_to_stop() -> bool:
        return is_stopped is not None and is_stopped()

    def search(ply: int, limits: engine_settings.Limits) -> AnalysedPosition:
        engine.new_game(start, actions[:ply])  # a replay, which keeps the tree
        if engine.is_over:
            report = end_report(engine)
        elif limits.is_deep:
            report = engine.think(limits, is_stopped=is_stopped)
            report = dataclasses.replace(report, people=positions[ply].people)
        else:
            report = engine.with_people(engine.think(limits, is_stopped=is_stopped))
        played = actions[ply] if ply < len(actions) else None
        return AnalysedPosition(**vars(search_report.whole(report)), number=ply + 1, played=played)

    try:
        for ply in range(len(actions) + 1):
            positions.append(search(ply, usual))
            while (doubted := _doubted(positions, engine.game)) and not has_to_stop():
                for again in doubted:
                    positions[again] = search(again, deep)
            if on_position is not None:
                on_position(ply + 1)
            if has_to_stop():
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


def _doubted(positions: Sequence[AnalysedPosition], game: variant.Variant) -> list[int]:
    """Returns the plies before and after the last mistake that need a deeper search."""
    for ply in range(len(positions) - 1, 0, -1):
        around = range(ply - 1, ply + 1)
        weak = [number for number in around if not positions[number].is_firm]
        if weak:
            loss, discs = _loss(positions[ply - 1], positions[ply], game)
            if discs >= _DOUBTED or loss >= _RESULT_DOUBTED:
                return weak
    return []


def _with_losses(
    positions: Sequence[AnalysedPosition], game: variant.Variant
) -> tuple[AnalysedPosition, ...]:
    """Returns the positions with the cost of each move."""
    complete: list[AnalysedPosition] = []
    for before, after in itertools.pairwise(positions):
        loss, loss_discs = _loss(before, after, game)
        is_exact = before.score is not None and after.score is not None
        position = dataclasses.replace(
            before,
            loss=loss,
            loss_discs=loss_discs,
            is_loss_exact=is_exact,
            is_loss_firm=before.is_firm and after.is_firm,
        )
        complete.append(_with_played(position, after, game))
    return (*complete, positions[-1])


def _loss(
    before: AnalysedPosition, after: AnalysedPosition, game: variant.Variant
) -> tuple[float, float]:
    """Returns what the move between two positions gives away: expected result, and discs."""
    assert before.played is not None
    squares = np.array(list(notation.board_text(before.board, game.size))[: game.size**2])
    if board_symmetry.are_equivalent(squares, before.played, before.action):
        return 0.0, 0.0
    discs = before.discs + after.discs
    return max(before.value + after.value, 0.0), max(-discs if game.is_reversed else discs, 0.0)


def _with_played(
    position: AnalysedPosition, after: AnalysedPosition, game: variant.Variant
) -> AnalysedPosition:
    """Returns a position whose report of the played move has its loss, and the line after it."""
    if position.played == position.action or position.score is not None:
        return position  # the engine's choice, or exact
    assert position.loss is not None
    assert position.loss_discs is not None
    assert position.played is not None
    moves = {move.action: move for move in position.moves}
    moves[position.played] = dataclasses.replace(
        moves[position.played],
        value=position.value - position.loss,
        discs=position.discs + (1 if game.is_reversed else -1) * position.loss_discs,
        line=(position.played, *(after.line if after.moves else ())),
    )
    best, is_reversed = moves[position.action], game.is_reversed
    ordered = search_report.by_discs([*moves.values()], is_reversed=is_reversed, best=best)
    return dataclasses.replace(position, moves=ordered)
