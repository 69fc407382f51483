"""Speaks NBoard's protocol on standard input and output.

    azo nboard --engine.num-simulations 1000

This command is for NBoard and for tournaments; see docs/protocols.md. Messages go to standard
error.
"""

from collections.abc import Sequence

from azo.cli import command_line
from azo.engine import engine_factory
from azo.protocols import line_reader, nboard


def main(argv: Sequence[str]) -> int:
    """Answers lines until `quit` or the end of the input; returns 0."""
    kind = engine_factory.PlayConfig
    play = command_line.parse(kind, argv, prog="azo nboard", description=__doc__)
    with line_reader.standard_streams() as (lines, write):
        nboard.NBoardServer(engine_factory.make_engine(play), lines, write).run()
    return 0
