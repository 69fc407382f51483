"""Builds and shows opening books.

    azo book build openings.book
    azo book build openings.book games.wtb --from archives
    azo book show openings.book f5d6

The first command lets the engine extend its best lines; repeated, the book grows. The second counts
the games of WTHOR files, eOthello's CSV or transcripts (one a line), also .gz. The third lists the
moves of a position. `azo book build --help` and `azo book show --help` list the flags.
"""

from collections.abc import Sequence

import rich.console

from azo.cli import command_line
from azo.play import book_files
from azo.run import validation


def main(argv: Sequence[str]) -> int:
    """Builds or shows a book; returns the exit code."""
    command, rest = (argv[0], argv[1:]) if argv else ("", ())
    console = rich.console.Console(highlight=False, emoji=False, soft_wrap=True)
    if command == "build":
        flags = command_line.parse(
            book_files.BuildConfig, rest, prog="azo book build", description=__doc__
        )
        return book_files.build(flags, console)
    if command == "show":
        shown = command_line.parse(
            book_files.ShowConfig, rest, prog="azo book show", description=__doc__
        )
        return book_files.show(shown, console)
    if command in ("-h", "--help"):
        console.print(__doc__, markup=False)
        return 0
    given = f"unknown command '{command}'" if command else "a command is missing"
    raise ValueError(f"azo book: {given}. {validation.suggest(command, ('build', 'show'))}")
