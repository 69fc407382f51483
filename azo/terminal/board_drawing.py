"""A board with notes at its right, for terminals with and without colours.

Colour carries no additional information: discs differ in shape and brightness, and brackets mark
the last move. Without colours (NO_COLOR, a pipe) black is X and white is O.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import rich.cells
import rich.console
import rich.text

from azo.games import notation

_BOARD = "on #3c8272"
_GAP = "   "


@dataclasses.dataclass(frozen=True)
class Symbols:
    """Characters and styles of squares."""

    black: str
    white: str
    empty: str
    legal: str
    styles: dict[str, str]  # by symbol


_PLAIN = Symbols("X", "O", "-", "+", {})
_STYLES = {"●": "#000000", "○": "bold #ffffff", "·": "#24554a", "+": "bold #ffffff"}
_COLOURED = Symbols("●", "○", "·", "+", _STYLES)


def symbols(console: rich.console.Console) -> Symbols:
    """Returns the symbols that a console can show."""
    has_colours = console.color_system is not None and not console.no_color
    return _COLOURED if has_colours and console.encoding.startswith("utf") else _PLAIN


def board(
    position: notation.Board, size: int, legal: Sequence[int], last: int | None, signs: Symbols
) -> list[rich.text.Text]:
    """Returns the lines of a board with its coordinates.

    The actions in `legal` and the `last` one are marked; None or a pass marks nothing.
    """
    letters = rich.text.Text("   " + "  ".join("abcdefgh"[:size]) + "   ")
    lines = [letters]
    for row in range(size):
        line = rich.text.Text(f"{row + 1} ")
        for column in range(size):
            action, bit = size * row + column, 8 * row + column
            sign = signs.legal if action in legal else signs.empty
            sign = signs.black if position.black >> bit & 1 else sign
            sign = signs.white if position.white >> bit & 1 else sign
            before, after = "[]" if action == last else "  "
            on_board = _BOARD if signs.styles else ""
            edge = f"bold #ffffff {on_board}" if signs.styles else ""
            line.append(before, edge)
            line.append(sign, f"{signs.styles.get(sign, '')} {on_board}".strip())
            line.append(after, edge)
        lines.append(line.append(f" {row + 1}"))
    return [*lines, letters]


def beside(
    lines: Sequence[rich.text.Text], notes: Sequence[str], signs: Symbols, width: int
) -> rich.text.Text:
    """Returns a board with notes to the right of it, or below if `width` columns are too few."""
    blank = rich.text.Text(" " * lines[0].cell_len)
    is_narrow = blank.cell_len + len(_GAP) + max(map(rich.cells.cell_len, notes)) > width
    whole = rich.text.Text(no_wrap=not is_narrow)
    if is_narrow:
        lines, notes = [*lines, *map(rich.text.Text, notes)], []
    for line, note in itertools.zip_longest(lines, notes):
        row = (line or blank).copy().append(f"{_GAP}{note or ''}")
        row.rstrip()
        whole.append_text(row).append("\n")
    for disc in signs.styles.keys() & {signs.black, signs.white}:
        whole.highlight_words([disc], f"{signs.styles[disc]} {_BOARD}")
    return whole
