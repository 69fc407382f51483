"""Markdown with tables: as tables on a terminal, which may be too narrow, else as it is."""

import itertools
from collections.abc import Iterable

import rich.console
import rich.text

from azo.play.analysis import formatting


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines of Markdown, with tables drawn on a terminal."""
    console = rich.console.Console(highlight=False, emoji=False)
    if console.is_terminal:
        show(lines, console)
        return
    for line in lines:
        print(line, flush=True)


def show(lines: Iterable[str], console: rich.console.Console) -> None:
    """Prints lines of Markdown; a table loses the columns at its right that do not fit."""
    for is_table, group in itertools.groupby(lines, lambda line: line.startswith("|")):
        if is_table:
            _show_table(
                [[cell.strip() for cell in line.split("|")[1:-1]] for line in group], console
            )
        else:
            console.print("\n".join(group), markup=False)


def _show_table(rows: list[list[str]], console: rich.console.Console) -> None:
    head, signs, *others = rows
    table = formatting.table(
        *(name + ">" * sign.endswith(":") for name, sign in zip(head, signs, strict=True))
    )
    for row in others:
        table.add_row(*map(rich.text.Text, row))
    wanted = formatting.width(table, console)
    left_out = formatting.fit(table, console, table.columns[:0:-1])
    console.print(table)
    if left_out:
        names = ", ".join(reversed(left_out))
        console.print(f"left out for want of {wanted} columns: {names}", markup=False)
