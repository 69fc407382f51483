"""Plays Othello in the terminal.

    azo play --level 1 --play white

Type a move as `f5`; `help` lists the commands. By default you play black against the network that
comes with azo, at full strength. An unfinished game is saved and offered at the next start.
"""

import contextlib
import io
import os
import pathlib
import sys
from collections.abc import Sequence
from typing import ClassVar

import rich.console

from azo.cli import command_line
from azo.coach import deck
from azo.engine import engine_factory, engine_settings, live_engine
from azo.protocols import line_reader
from azo.terminal import saved_game, terminal

_MAX_SHOWN = 1000  # characters of a line that are repeated after the prompt


class TerminalConfig(engine_factory.PlayConfig):
    """A game of Othello in the terminal."""

    play: terminal.Sides = "black"
    """Side that you play; with none azo plays against itself."""

    NO_EFFECT: ClassVar = engine_settings.WITHOUT_PONDERING


def main(argv: Sequence[str]) -> int:
    """Plays until the person leaves; returns the exit code."""
    settings = command_line.parse(TerminalConfig, argv, prog="azo play", description=__doc__)
    console = rich.console.Console(highlight=False, emoji=False)
    with command_line.waiting("loading the network; the first start compiles for a minute"):
        engine = engine_factory.make_engine(settings)
    session = terminal.Terminal(
        engine,
        console,
        _reader(console),
        sides=settings.play,
        kept=_saved_game(engine) if _is_interactive() else None,
        positions=deck.Deck(_folder() / "deck.json"),
    )
    session.run()
    return 0


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _folder() -> pathlib.Path:
    base = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state"
    return pathlib.Path(base) / "azo"


def _saved_game(engine: live_engine.Engine) -> saved_game.SavedGame | None:
    try:
        return saved_game.SavedGame(_folder() / "games", engine.game)
    except ValueError as error:
        print(f"{error}: unfinished games are not saved", file=sys.stderr)
        return None


def _reader(console: rich.console.Console) -> terminal.Reader:
    """Returns the reader of input lines. On a terminal it offers editing and history."""
    if not _is_interactive():
        lines = iter(line_reader.LineReader())

        def read_pipe(prompt: str) -> str | None:
            line = next(lines, None)
            # rich takes a minute to wrap a line of 64 kB
            console.print(prompt + (line or "")[:_MAX_SHOWN], markup=False)
            return line

        return read_pipe
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # invalid UTF-8 becomes an unknown command
    with contextlib.suppress(ModuleNotFoundError):  # editing and history for `input`
        import readline  # noqa: F401

    def read(prompt: str) -> str | None:
        try:
            return input(prompt)
        except EOFError:
            return None

    return read
