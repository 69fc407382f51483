"""Tables in Markdown, and the page that holds those of a measurement."""

import datetime
import importlib.metadata
import pathlib
import platform
from collections.abc import Iterable, Sequence

import jax

from azo.storage import files

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


def write_page(
    path: pathlib.Path, title: str, command: str, measured: str, lines: Sequence[str]
) -> None:
    """Writes a page with tables, the command that made them, and the machine."""
    machine = f"{platform.machine()}, {jax.devices()[0].device_kind}"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "mctx"))
    text = [
        f"# {title}",
        "",
        f"`{command}`",
        "",
        f"{measured}, {datetime.date.today()}, {machine}, Python {platform.python_version()},"
        f" {versions}.",
        "",
        *lines,
    ]
    files.write(path, ("\n".join(text) + "\n").encode(), makes_folder=True)
