"""Markdown with tables: as tables on a terminal, which may be too narrow, else as it is."""

import itertools
from collections.abc import Iterable

import rich.console
import rich.table
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
    head = rows[0]
    unlimited = console.options.update(max_width=10_000)
    tables = [_table(rows, num_columns) for num_columns in range(len(head), 0, -1)]
    widths = [console.measure(table, options=unlimited).maximum for table in tables]
    num_left_out = next((n for n, w in enumerate(widths) if w <= console.width), len(widths) - 1)
    console.print(tables[num_left_out])
    if num_left_out:
        names = ", ".join(head[-num_left_out:])
        console.print(f"left out for want of {widths[0]} columns: {names}", markup=False)


def _table(rows: list[list[str]], num_columns: int) -> rich.table.Table:
    head, signs, *others = rows
    is_right = [sign.endswith(":") for sign in signs]
    names = [f"{name}{'>' * right}" for name, right in zip(head, is_right, strict=True)]
    table = formatting.table(*names[:num_columns])
    for row in others:
        table.add_row(*map(rich.text.Text, row[:num_columns]))
    return table
