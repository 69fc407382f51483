"""Positions to practise, in a JSON file as the page's *Save deck* writes it.

A solved position comes back after days, by FSRS-6 with its default parameters; another one after
ten minutes. `web/static/deck.js` has the same rules for the page, `web/static/cards.js` the same
checks. Only reviews need `fsrs`, which is imported then.

A deck is written only with cards that can be read again. Each change locks the file, reads it,
merges and writes: of two reviews of one card the later one counts.
"""

import contextlib
import datetime
import functools
import json
import math
import pathlib
import random
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import pydantic

from azo.coach import formatting
from azo.engine import live_engine, opening_book
from azo.engine.search_report import SearchReport
from azo.formats import ggf
from azo.games import notation, variant
from azo.games.host import live_game
from azo.process import extras
from azo.storage import files, locks

MOST_LOST = 1.0  # discs, by a move that solves a position
DAY = 24 * 60 * 60 * 1000  # milliseconds, as all times here
MAX_CARDS = 10_000
_AGAIN = 10 * 60 * 1000
_MAX_BYTES = 1 << 25  # of the deck of somebody else
_MAX_WAIT = 10.0  # seconds for another process that changes the deck
_MAX_NAMED = 5  # refused cards
_STABILITIES = 0.001, 1e6  # days
_LEAST_CHANCE = 0.005  # of a position of a book
_LEAST_SHARE = 0.2  # of the visits of the most visited move, for a move that solves a position
_Start = Annotated[str, pydantic.Field(pattern="^[XO-]{16,64} [XO]$")]
_Move = Annotated[str, pydantic.Field(pattern="^([a-h][1-8]|pass)$")]
_Time = Annotated[float, pydantic.Field(ge=0, le=1e14)]  # milliseconds since 1970
_Loss = Annotated[float, pydantic.Field(ge=0, le=128)]


class Memory(pydantic.BaseModel, frozen=True, strict=True, allow_inf_nan=False):
    """What is known of a position after its reviews."""

    # Days until it is known with 90 %.
    stability: Annotated[float, pydantic.Field(ge=_STABILITIES[0], le=_STABILITIES[1])]
    difficulty: Annotated[float, pydantic.Field(ge=1, le=10)]
    last: _Time
    due: _Time


class Card(
    pydantic.BaseModel,
    frozen=True,
    strict=True,
    allow_inf_nan=False,
    serialize_by_alias=True,
    validate_by_name=True,
):
    """A position in which the best move is asked."""

    game: Annotated[str, pydantic.Field(pattern="^othello[468](-reversed)?$")]
    start: _Start | None = None  # board and side to move; None: the usual start
    moves: Annotated[tuple[_Move, ...], pydantic.Field(max_length=128)]
    mover: Literal["black", "white"]
    best: _Move
    losses: dict[_Move, _Loss]  # discs lost by each known move
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

    @property
    def last(self) -> float:
        """When it was reviewed, in milliseconds since 1970; -1 before the first review."""
        return self.memory.last if self.memory else -1.0

    @property
    def position(self) -> live_game.LiveGame:
        """The game up to the position; ValueError if its start or a move is illegal."""
        return _played(self.game, self.start, self.moves)


def _played(game: str, start: str | None, moves: tuple[str, ...]) -> live_game.LiveGame:
    size = int(game[len("othello")])
    rules = variant.Variant(size, game.endswith("-reversed"))
    board = None if start is None else notation.parse_board(start, size)
    return live_game.replay("".join(moves), rules, board)


_CARDS = pydantic.TypeAdapter(list[Card])


class Contents(NamedTuple):
    """What a file has."""

    cards: list[Card]
    refused: list[str]  # what is wrong with each card that is left out


class Merged(NamedTuple):
    """The number of cards that a deck took."""

    num_new: int
    num_later: int  # that it had, with an earlier review
    num_left: int  # for which there was no room


def card_of(live: live_game.LiveGame, report: SearchReport) -> Card:
    """Returns the present position of a game as a card, by the report of its analysis.

    A move that few visits say to be good is left out: its worth is not known.
    """
    discs = {
        move.action: live.utility(1) * (move.discs if move.score is None else move.score)
        for move in report.moves
        if move.discs is not None and (report.score is None or move.score is not None)
    }
    most = max(discs.values())
    least_visits = _LEAST_SHARE * max(move.visits for move in report.moves)
    losses = {}
    for move in report.moves:
        if move.action in discs:
            loss = most - discs[move.action]
            is_known = move.score is not None or move.visits >= least_visits
            if loss > MOST_LOST or is_known:
                losses[move.action] = loss
    return card(live, report.action, losses | {report.action: 0.0})


def card(live: live_game.LiveGame, best: int, losses: Mapping[int, float]) -> Card:
    """Returns the present position of a game as a card; `losses` are discs by action."""
    size, has_usual_start = live.game.size, live.start == ggf.usual_start(live.game)
    return Card(
        game=live.game.name,
        start=None if has_usual_start else notation.board_text(live.start, size),
        moves=tuple(notation.action_text(action, size) for action in live.actions),
        mover="black" if live.board.is_black_to_move else "white",
        best=notation.action_text(best, size),
        losses={notation.action_text(action, size): loss for action, loss in losses.items()},
    )


def of_book(
    book: opening_book.Book, engine: live_engine.Engine, side: str, rating: int
) -> list[Card]:
    """Returns the positions of a book that a side meets against human players of a rating."""
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
    """The cards of a file, which need not exist yet, for any number of processes.

    ValueError, one line, if the file cannot be read or written. A damaged file is renamed, and
    the deck continues with its undamaged cards; `tell` then gets a line for the user. Without
    `repairs`, it is refused.
    """

    def __init__(self, path: pathlib.Path, *, repairs: bool = True):
        self._path, self._repairs = path, repairs
        self.tell: Callable[[str], None] = functools.partial(print, file=sys.stderr)

    def cards(self) -> list[Card]:
        """Returns the cards, those first that are due first."""
        contents = self._read()
        if contents.refused:
            with self._locked():
                contents = self._sound()
        return sorted(contents.cards, key=lambda card: card.due)

    def add(self, cards: Iterable[Card]) -> Merged:
        """Adds cards that the deck does not have, and later reviews of those that it has."""
        num_later = num_left = 0
        with self._locked():
            merged = {card.name: card for card in self._sound().cards}
            num_kept = len(merged)
            for card in cards:
                stored = merged.get(card.name)
                if stored is None and len(merged) >= MAX_CARDS:
                    num_left += 1
                elif stored is None:
                    merged[card.name] = card
                elif card.last > stored.last:
                    merged[card.name] = stored.model_copy(update={"memory": card.memory})
                    num_later += 1
            self._write([*merged.values()])
        return Merged(len(merged) - num_kept, num_later, num_left)

    def review(self, card: Card, now: float, *, is_solved: bool) -> float:
        """Keeps the result of a review, and returns when the card is asked next.

        A later review, of another process, stays.
        """
        with self._locked():
            cards = {other.name: other for other in self._sound().cards}
            stored = cards.pop(card.name, card)
            if stored.memory is None or stored.memory.last <= now:
                memory = _reviewed(stored.memory, now, is_solved=is_solved)
                stored = stored.model_copy(update={"memory": memory})
            self._write([stored, *cards.values()])
        return stored.due

    def _write(self, cards: list[Card]) -> None:
        files.write(self._path.resolve(), _CARDS.dump_json(cards), makes_folder=True)

    def _read(self) -> Contents:
        if not self._path.exists():
            return Contents([], [])
        return _contents(_items(files.read(self._path)))

    def _sound(self) -> Contents:
        """Returns the contents under the lock; a damaged file is renamed first."""
        contents = self._read()
        if not contents.refused:
            return contents
        reasons = _named(contents.refused)
        if not self._repairs:
            raise ValueError(f"{self._path}: not a deck of positions to practise: {reasons}")
        path = self._path.resolve()
        aside = files.damaged_name(path)
        files.write(aside, files.read(path))
        self._write(contents.cards)
        number = len(contents.cards)
        sound = f"its {number} undamaged position{' is' if number == 1 else 's are'} kept"
        self.tell(f"{self._path}: damaged: {reasons}; moved to {aside}, {sound}")
        return contents._replace(refused=[])

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the file that a link leads to; another process has it for milliseconds."""
        path, end = self._path.resolve(), time.monotonic() + _MAX_WAIT
        while True:
            try:
                lock = locks.lock_file(path)
                break
            except locks.InUse:
                if time.monotonic() >= end:
                    raise
            time.sleep(random.uniform(0.002, 0.02))
        with lock:
            yield


def scheduling() -> types.ModuleType:
    """Returns the library that says when a position is asked again.

    ValueError, one line, if it is not installed.
    """
    with extras.needed("practice in the terminal", "fsrs"):
        import fsrs
    return fsrs


def _reviewed(memory: Memory | None, now: float, *, is_solved: bool) -> Memory:
    fsrs = scheduling()
    scheduler = fsrs.Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    state = fsrs.Card()
    if memory is not None:
        state.stability, state.difficulty = memory.stability, memory.difficulty
        state.last_review = _time(memory.last)
    rating = fsrs.Rating.Good if is_solved else fsrs.Rating.Again
    state, _ = scheduler.review_card(state, rating, _time(now))
    assert state.stability is not None
    assert state.difficulty is not None
    least, most = _STABILITIES
    return Memory(
        stability=min(max(state.stability, least), most),
        difficulty=state.difficulty,
        last=now,
        due=state.due.timestamp() * 1000 if is_solved else now + _AGAIN,
    )


def _time(milliseconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)


def read(path: pathlib.Path) -> list[Card]:
    """Returns the cards of a file; raises ValueError, one line, unless all are sound."""
    contents = read_foreign(path)
    if contents.refused:
        raise ValueError(f"{path}: {_named(contents.refused)}")
    return contents.cards


def read_foreign(path: pathlib.Path, now: float | None = None) -> Contents:
    """Returns the sound cards of a deck of somebody else, and why others are refused.

    Cards with reviews more than a day after `now` are refused: they would count for years. Raises
    ValueError, one line, if the file is no deck or no card is sound.
    """
    content = files.read(path)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"{path}: larger than {_MAX_BYTES >> 20} MiB: not a deck to practise")
    items = _items(content)
    if isinstance(items[0], _Unreadable):
        raise ValueError(f"{path}: not a deck of positions to practise: {items[0]}")
    contents = _contents(items, now)
    if contents.refused and not contents.cards:
        raise ValueError(f"{path}: {_named(contents.refused)}")
    return contents


class _Unreadable(str):
    """What is wrong with a text that is not a list in JSON."""


def _items(content: bytes) -> list[Any]:
    """Returns the items of a list in JSON; of another text what is wrong, and its objects."""
    text = content.decode("utf-8-sig", errors="replace")
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [_Unreadable(f"not JSON: {files.one_line(error, 100)}"), *_objects(text)]
    if not isinstance(items, list):
        return [_Unreadable(f"not a list but {_shown(items)}")]
    return items


def _objects(text: str) -> Iterator[Any]:
    """Yields the objects of a damaged JSON text that are whole."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            item, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            yield item
        place = text.find("{", end)


def _contents(items: list[Any], now: float | None = None) -> Contents:
    """Returns the sound cards, of cards with one name the one with the latest review."""
    cards: dict[tuple[str | None, ...], Card] = {}
    refused = []
    for number, item in enumerate(items, start=1):
        if isinstance(item, _Unreadable):
            refused.append(str(item))
            continue
        try:
            card = _card(item)
            if now is not None and card.last > now + DAY:
                raise ValueError(f"memory.last is {_time(card.last):%Y-%m-%d}: in the future")
        except ValueError as error:
            refused.append(f"card {number}: {files.one_line(error, 200)}")
            continue
        known = cards.get(card.name)
        if known is None or card.last > known.last:
            cards[card.name] = card
    return Contents([*cards.values()], refused)


def _card(item: Any) -> Card:
    """Returns a card of a file; raises ValueError, one line, if it is not sound."""
    try:
        card = Card.model_validate_json(json.dumps(item))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        raise ValueError(f"{place} is {_shown(first['input'])}: {first['msg']}") from None
    except (RecursionError, ValueError) as error:
        raise ValueError(f"it cannot be written: {error}") from None
    texts = card.game, card.start, card.moves
    mover, legal = _choice(*texts)
    if "pass" in legal:
        raise ValueError(f"after {_shown(''.join(card.moves))} there is no choice")
    if mover != card.mover:
        raise ValueError(f"mover is {card.mover!r}: {mover} is to move")
    for move in (card.best, *card.losses):
        if move not in legal:
            raise ValueError(f"{move!r} is not legal: {mover} may play {', '.join(legal)}")
    if card.losses.get(card.best, math.inf) > min(card.losses.values(), default=0.0):
        raise ValueError(f"best is {card.best!r}: losses have another best move")
    losses = {move: loss + 0.0 for move, loss in card.losses.items()}  # without -0.0
    return card.model_copy(update={"losses": losses})


@functools.lru_cache(maxsize=2 * MAX_CARDS)
def _choice(game: str, start: str | None, moves: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Returns the side to move of a card, and the legal moves."""
    live = _played(game, start, moves)
    size = live.game.size
    if tuple(notation.action_text(action, size) for action in live.actions) != moves:
        raise ValueError("moves lack a pass")
    if live.is_over:
        raise ValueError("the game is over")
    legal = tuple(notation.action_text(action, size) for action in live.legal_actions)
    return formatting.colour(live.board), legal


def _named(refused: list[str]) -> str:
    """Returns what is wrong as one line, which names the first cards."""
    others = len(refused) - _MAX_NAMED
    more = f" and {others} more" if others > 0 else ""
    return "; ".join(refused[:_MAX_NAMED]) + more


def _shown(value: Any) -> str:
    return files.one_line(repr(value), 60)
