"""Markdown tables on wide and narrow terminals."""

import io

import rich.console

from azo.cli import markdown_tables

_LINES = [
    "Ratings:",
    "",
    "| | player | Elo | 95 % |",
    "| ---: | --- | ---: | :---: |",
    "| 1 | azo[bold] | 1215 | 1042 to 1403 |",
    "| 2 | random | 0 | |",
    "",
    "* No cycle [x].",
]


def shown(width):
    console = rich.console.Console(file=io.StringIO(), width=width, color_system=None)
    markdown_tables.show(_LINES, console)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_wide_terminal_shows_all_columns():
    assert shown(80) == [
        "Ratings:",
        "",
        "   player      Elo          95 %",
        "1  azo[bold]  1215  1042 to 1403",
        "2  random        0",
        "",
        "* No cycle [x].",
    ]
    assert shown(32) == shown(80)


def test_a_narrow_terminal_leaves_out_the_columns_at_the_right_and_names_them():
    assert shown(31)[2:6] == [
        "   player      Elo",
        "1  azo[bold]  1215",
        "2  random        0",
        "left out for want of 32",
    ]
    assert shown(31)[6] == "columns: 95 %"
