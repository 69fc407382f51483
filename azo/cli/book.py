"""Builds and shows opening books.

    azo book build openings.book
    azo book show openings.book f5d6
    azo book drill openings.book drill.json

The first command searches and extends the best lines of the book; each repetition adds positions.
The second lists the moves of a position. The third writes positions to practise, for `practise
drill.json` in `azo play` and *Load deck* in `azo web`. `azo book COMMAND --help` lists the flags.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import pydantic
import rich.console
import tyro

from azo.cli import command_line
from azo.coach import deck, formatting
from azo.engine import book_building, engine_factory, engine_settings, live_engine, opening_book
from azo.games import notation, plurals, variant
from azo.games.host import live_game
from azo.process import console, interruption
from azo.settings import validation
from azo.storage import locks

_SAVE_EVERY = 25  # positions


class BuildConfig(engine_factory.NetworkChoice):
    """Builds a book, or extends one."""

    book: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="BOOK")]
    """File to write, such as openings.book. An existing book is extended."""
    growth: book_building.GrowthConfig = book_building.GrowthConfig()
    engine: engine_settings.EngineConfig = engine_settings.EngineConfig()
    """How positions are searched."""

    NO_EFFECT: ClassVar = engine_settings.ANALYSES_ALONE


class ShowConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Shows the moves of a position in a book."""

    book: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="BOOK")]
    """File of a book."""
    moves: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[MOVES]")] = ""
    """A transcript such as f5d6c3 that leads to the position."""
    size: Literal[4, 6, 8] = 8
    """Rows and columns of the board."""
    reversed: bool = False
    """The side with fewer discs wins."""


class DrillConfig(engine_factory.NetworkChoice):
    """Writes the positions of one side, against human-like moves, as a deck."""

    book: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="BOOK")]
    """File of a book."""
    deck: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="DECK")]
    """File to write, such as drill.json. New positions are added to an existing file."""
    play: Literal["black", "white"] = "black"
    """The side that plays by the book."""
    rating: Annotated[int, pydantic.Field(ge=1400, le=2400)] = 1800
    """Rating of the human players whose moves the other side plays."""


def main(argv: Sequence[str]) -> int:
    """Builds, shows or drills a book; returns the exit code."""
    command, rest = (argv[0], argv[1:]) if argv else ("", ())
    terminal = rich.console.Console(highlight=False, emoji=False, soft_wrap=True)
    if command in _ACTIONS:
        kind, act = _ACTIONS[command]
        settings = command_line.parse(
            kind,
            rest,
            prog=f"azo book {command}",
            description=__doc__,
            opens_networks=kind is not ShowConfig,
        )
        act(settings, terminal)
    elif command in ("-h", "--help"):
        terminal.print(__doc__, markup=False)
    else:
        fault = f"unknown command '{command}'" if command else "a command is missing"
        raise ValueError(f"azo book: {fault}. {validation.suggest(command, _ACTIONS.keys())}")
    return 0


def build(settings: BuildConfig, terminal: rich.console.Console) -> None:
    """Builds a book; Ctrl-C keeps the positions so far."""
    path = settings.book
    engine = live_engine.Engine(engine_factory.load_evaluator(settings), settings.engine)
    with locks.lock_file(path):
        exists = path.exists()
        book = opening_book.load(path, engine.game) if exists else opening_book.Book(engine.game)
        _grow(book, engine, settings, terminal)
        terminal.print(f"{_sizes(path, book)}, {path.stat().st_size} bytes", markup=False)


def _grow(
    book: opening_book.Book,
    engine: live_engine.Engine,
    settings: BuildConfig,
    terminal: rich.console.Console,
) -> None:
    book.save(settings.book)  # fails before the searches if it cannot be written
    with console.ProgressBar(terminal) as progress:
        task = progress.add_task("positions", total=settings.growth.num_positions)
        try:
            with interruption.handled_by(interruption.interrupt):
                for num_done in book_building.grow(book, engine, settings.growth):
                    progress.update(task, completed=num_done)
                    if num_done % _SAVE_EVERY == 0:
                        book.save(settings.book)
        finally:
            book.back_up()
            book.save(settings.book)


def show(settings: ShowConfig, terminal: rich.console.Console) -> None:
    """Shows the moves of a position in a book."""
    game = variant.Variant(settings.size, settings.reversed)
    book = opening_book.load(settings.book, game)
    board = live_game.replay(settings.moves, game).board
    terminal.print(_sizes(settings.book, book), markup=False)
    terminal.print(notation.diagram(board, game.size), markup=False)
    moves = book.lookup(board)
    if not moves:
        terminal.print("not in the book")
        return
    table = formatting.table("move", "wins>", "visits>")
    for action, entry in moves.items():
        wins = formatting.chance(entry.value)
        table.add_row(formatting.move(action, game.size), wins, str(entry.num_visits))
    terminal.print(table)


def drill(settings: DrillConfig, terminal: rich.console.Console) -> None:
    """Adds the positions of a side to a deck."""
    engine = live_engine.Engine(engine_factory.load_evaluator(settings))
    book = opening_book.load(settings.book, engine.game)
    cards = deck.of_book(book, engine, settings.play, settings.rating)
    number = deck.Deck(settings.deck, repairs=False).add(cards).num_new
    positions, verb = plurals.counted(len(cards), "position"), "is" if number == 1 else "are"
    terminal.print(f"{settings.deck}: {positions}, {number} {verb} new", markup=False)


def _sizes(path: pathlib.Path, book: opening_book.Book) -> str:
    num_moves = sum(map(len, book.positions.values()))
    positions = plurals.counted(len(book.positions), "position")
    return f"{path}: {positions}, {plurals.counted(num_moves, 'move')}"


_ACTIONS: dict[str, tuple[Any, Any]] = {
    "build": (BuildConfig, build),
    "show": (ShowConfig, show),
    "drill": (DrillConfig, drill),
}
