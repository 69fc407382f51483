"""Solves endgames exactly.

    azo solve ffo.obf --max-empties 20 --skip-larger

FILE has one position a line, as OBF or CSV, also as `.gz`; boards of all sizes are accepted. A line
is printed for each position: its line in the file, empty squares, score, best move, nodes, time and
`exact`. Scores in the file are compared with the results. With `--json`, each position is one JSON
object.
"""

from collections.abc import Sequence

import rich.console

from azo.cli import command_line
from azo.lab import endgame_file


def main(argv: Sequence[str]) -> int:
    """Solves a file; returns 0, or 1 if an exact score differs from that of the file."""
    kind = endgame_file.SolveConfig
    settings = command_line.parse(kind, argv, prog="azo solve", description=__doc__)
    console = rich.console.Console(highlight=False, emoji=False, soft_wrap=True)
    return endgame_file.solve_file(settings, console)
