"""Positions to practise, in a JSON file as the page's *Save deck* writes it.

A solved position comes back after days, by FSRS-6 with its default parameters; another one after
ten minutes. `web/static/deck.js` has the same rules for the page.
"""

import datetime
import pathlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import fsrs
import pydantic

from azo.formats import ggf
from azo.games import notation
from azo.games.host import live_game
from azo.play.analysis import formatting
from azo.play.engine import live_engine, opening_book
from azo.play.engine.search_report import SearchReport
from azo.storage import files

MOST_LOST = 1.0  # discs, by a move that solves a position
DAY = 24 * 60 * 60 * 1000  # milliseconds, as all times here
_AGAIN = 10 * 60 * 1000
_LEAST_CHANCE = 0.005  # of a position of a book
_SCHEDULER = fsrs.Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
_Time = Annotated[float, pydantic.Field(ge=0, le=1e14)]  # milliseconds since 1970
_Move = Annotated[str, pydantic.Field(pattern="^([a-h][1-8]|pass)$")]


class Memory(pydantic.BaseModel, frozen=True):
    """What is known of a position after its reviews."""

    stability: Annotated[float, pydantic.Field(gt=0, le=1e6)]  # days until it is known with 90 %
    difficulty: Annotated[float, pydantic.Field(ge=1, le=10)]
    last: _Time
    due: _Time


class Card(pydantic.BaseModel, frozen=True, serialize_by_alias=True, validate_by_name=True):
    """A position in which the best move is asked."""

    game: str
    start: str | None = None  # board and side to move; None: the usual start
    moves: tuple[_Move, ...]
    mover: Literal["black", "white"]
    best: _Move
    losses: dict[_Move, float]  # discs lost by each known move
    is_ending: Annotated[bool, pydantic.Field(alias="isEnding")] = False  # one move wins
    memory: Memory | None = None  # None before the first review

    @property
    def name(self) -> tuple[str | None, ...]:
        """What no other card of a deck has."""
        return self.game, self.start, *self.moves

    @property
    def due(self) -> float:
        """When it is asked next, in milliseconds since 1970."""
        return self.memory.due if self.memory else 0.0


_CARDS = pydantic.TypeAdapter(list[Card])


def card_of(live: live_game.LiveGame, report: SearchReport) -> Card:
    """Returns the present position of a game as a card, by the report of its analysis."""
    discs = {
        move.action: live.utility(1) * (move.discs if move.score is None else move.score)
        for move in report.moves
        if move.discs is not None and (report.score is None or move.score is not None)
    }
    most = max(discs.values())
    losses = {action: most - worth for action, worth in discs.items()}
    return card(live, report.action, losses | {report.action: 0.0})


def card(live: live_game.LiveGame, best: int, losses: Mapping[int, float]) -> Card:
    """Returns the present position of a game as a card; `losses` are discs by action."""
    size, has_usual_start = live.game.size, live.start == ggf.usual_start(live.game)
    return Card(
        game=live.game.name,
        start=None if has_usual_start else notation.board_text(live.start, size),
        moves=tuple(notation.action_text(action, size) for action in live.actions),
        mover=formatting.colour(live.board),
        best=notation.action_text(best, size),
        losses={notation.action_text(action, size): loss for action, loss in losses.items()},
    )


def of_book(
    book: opening_book.Book, engine: live_engine.Engine, side: str, rating: int
) -> list[Card]:
    """Returns the positions in which a side has to know a book that people of a rating meet."""
    waiting = [(tuple(notation.parse_moves("f5", engine.game.size)), 1.0)]  # first moves are equal
    found: dict[opening_book.Key, Card] = {}
    while waiting:
        actions, chance = waiting.pop()
        engine.new_game(None, actions)
        key = book.key(engine.board)
        if chance < _LEAST_CHANCE or key not in book.positions or key in found:
            continue
        if formatting.colour(engine.board) == side:
            good = book.good(engine.board)
            found[key] = card(engine, good[0], dict.fromkeys(good, 0.0))
            replies = dict.fromkeys(good, 1 / len(good))
        else:
            replies = {a: one for a, (one,) in engine.chances([rating]).items()}
        waiting += [((*actions, a), chance * share) for a, share in replies.items()]
    return [*found.values()]


class Deck:
    """The cards of a file, which need not exist yet.

    Reading raises ValueError, one line, if the file is no deck; writing, if it cannot be written.
    """

    def __init__(self, path: pathlib.Path):
        self._path = path

    def cards(self) -> list[Card]:
        """Returns the cards, those first that are due first."""
        return sorted(read(self._path), key=lambda card: card.due) if self._path.exists() else []

    def add(self, cards: Iterable[Card]) -> int:
        """Adds cards that the deck does not have, and returns their number."""
        kept = {card.name: card for card in self.cards()}
        merged = {card.name: card for card in cards} | kept
        self.write([*merged.values()])
        return len(merged) - len(kept)

    def review(self, card: Card, now: float, *, is_solved: bool) -> float:
        """Keeps the result of a review, and returns when the card is asked next."""
        state = fsrs.Card()
        if card.memory is not None:
            state.stability, state.difficulty = card.memory.stability, card.memory.difficulty
            state.last_review = _time(card.memory.last)
        rating = fsrs.Rating.Good if is_solved else fsrs.Rating.Again
        state, _ = _SCHEDULER.review_card(state, rating, _time(now))
        assert state.stability is not None
        assert state.difficulty is not None
        memory = Memory(
            stability=state.stability,
            difficulty=state.difficulty,
            last=now,
            due=state.due.timestamp() * 1000 if is_solved else now + _AGAIN,
        )
        others = (other for other in self.cards() if other.name != card.name)
        self.write([card.model_copy(update={"memory": memory}), *others])
        return memory.due

    def write(self, cards: list[Card]) -> None:
        """Writes the cards in place of the file's."""
        files.write(self._path, _CARDS.dump_json(cards), makes_folder=True)


def _time(milliseconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)


def read(path: pathlib.Path) -> list[Card]:
    """Returns the cards of a file; raises ValueError, one line, if it is no deck."""
    try:
        return _CARDS.validate_json(files.read(path))
    except pydantic.ValidationError:
        raise ValueError(f"{path}: not a deck of positions to practise") from None
