"""Tables in Markdown."""

from collections.abc import Iterable, Sequence

_SIGNS = {">": "---:", "^": ":---:"}


def table(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """Returns the lines of a table; cells are shown by `str`.

    A column whose name ends in ">" is aligned at the right, in "^" at the centre.
    """
    names = [name[:-1] if name[-1:] in _SIGNS else name for name in columns]
    return [row(names), row(_SIGNS.get(name[-1:], "---") for name in columns), *map(row, rows)]


def row(cells: Iterable[object]) -> str:
    """Returns a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"
