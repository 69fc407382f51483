"""Builds and shows opening books.

    azo book build openings.book
    azo book build openings.book games.wtb --from archives
    azo book show openings.book f5d6

The first command lets the engine extend its best lines; repeated, the book grows. The second counts
the games of WTHOR files, eOthello's CSV or transcripts (one a line), also .gz. The third lists the
moves of a position. `azo book build --help` and `azo book show --help` list the flags.
"""

import functools
import pathlib
from collections.abc import Sequence
from typing import Annotated, Literal

import pydantic
import rich.console
import tyro

from azo.cli import command_line
from azo.formats import game_files
from azo.games import notation, setting_types, variant
from azo.games.host import live_game
from azo.play.analysis import formatting
from azo.play.engine import (
    book_building,
    engine_factory,
    engine_settings,
    live_engine,
    opening_book,
)
from azo.storage import locks
from azo.training import console, interruption, validation

_SAVE_EVERY = 25  # positions


class BuildConfig(engine_factory.NetworkChoice):
    """Builds a book, or extends one."""

    book: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="BOOK")]
    """File to write, such as openings.book; if it exists, it grows."""
    files: Annotated[
        tyro.conf.Positional[tuple[pathlib.Path, ...]], tyro.conf.arg(metavar="[FILE ...]")
    ] = ()
    """Archives of games: .wtb, .csv, or a text such as .ggf, .sgf or .txt, also .gz."""
    source: Annotated[Literal["self-play", "archives"], tyro.conf.arg(name="from")] = "self-play"
    """Where the moves come from."""
    growth: book_building.GrowthConfig = book_building.GrowthConfig()
    max_plies: setting_types.PositiveInt = 20
    """From archives: moves from the start that are counted."""
    min_games: setting_types.PositiveInt = 2
    """From archives: least number of games of a move."""
    engine: engine_settings.EngineConfig = engine_settings.EngineConfig()
    """How positions are searched."""


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


def main(argv: Sequence[str]) -> int:
    """Builds or shows a book; returns the exit code."""
    command, rest = (argv[0], argv[1:]) if argv else ("", ())
    terminal = rich.console.Console(highlight=False, emoji=False, soft_wrap=True)
    parse = functools.partial(
        command_line.parse, argv=rest, prog=f"azo book {command}", description=__doc__
    )
    if command == "build":
        build(parse(BuildConfig), terminal)
    elif command == "show":
        show(parse(ShowConfig), terminal)
    elif command in ("-h", "--help"):
        terminal.print(__doc__, markup=False)
    else:
        given = f"unknown command '{command}'" if command else "a command is missing"
        raise ValueError(f"azo book: {given}. {validation.suggest(command, ('build', 'show'))}")
    return 0


def build(settings: BuildConfig, terminal: rich.console.Console) -> None:
    """Builds a book; Ctrl-C keeps the positions so far."""
    path, archives = settings.book, settings.files
    if settings.source == "archives" and not archives:
        raise ValueError("--from archives: name the files")
    if settings.source == "self-play" and archives:
        raise ValueError(f"{archives[0]}: --from self-play reads no files")
    engine, game = None, variant.Variant(settings.size, settings.reversed)
    if settings.source == "self-play":
        engine = live_engine.Engine(engine_factory.load_evaluator(settings), settings.engine)
        game = engine.game
    with locks.lock_file(path):
        book = opening_book.load(path, game) if path.exists() else opening_book.Book(game)
        if engine is not None:
            _grow(book, engine, settings, terminal)
        elif book.positions:
            raise ValueError(f"{path}: exists already: choose a new file")
        else:
            num_games = book_building.add_games(
                book,
                game_files.read_archives(archives, game),
                max_plies=settings.max_plies,
                min_games=settings.min_games,
            )
            terminal.print(f"{num_games} games", markup=False)
            book.save(path)
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
    has_games = any(entry.num_games for entry in moves.values())
    of_games = ("games>", "won>", "drawn>", "lost>") if has_games else ()
    table = formatting.table("move", "wins>", "visits>", *of_games)
    for action, entry in moves.items():
        num_lost = entry.num_games - entry.num_wins - entry.num_draws
        results = (entry.num_wins, entry.num_draws, num_lost) if entry.num_games else ()
        table.add_row(
            formatting.move(action, game.size),
            formatting.chance(entry.value),
            str(entry.num_visits or ""),
            *([str(entry.num_games or "")] if has_games else []),
            *(f"{num / entry.num_games:.0%}" for num in results),
        )
    terminal.print(table)


def _sizes(path: pathlib.Path, book: opening_book.Book) -> str:
    num_moves = sum(map(len, book.positions.values()))
    return f"{path}: {len(book.positions)} positions, {num_moves} moves"
