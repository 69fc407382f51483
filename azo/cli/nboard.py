"""Speaks NBoard's protocol on standard input and output.

    azo nboard --engine.num-simulations 1000

For NBoard and tournaments; see docs/front-ends.md. Messages go to standard error.
"""

import contextlib
import sys
from collections.abc import Sequence

from azo.cli import command_line
from azo.play import engine_factory, line_reader, nboard


def main(argv: Sequence[str]) -> int:
    """Answers lines until `quit` or the end of the input; returns 0."""
    kind = engine_factory.PlayConfig
    play = command_line.parse(kind, argv, prog="azo nboard", description=__doc__)
    write = line_reader.to_standard_output()
    with contextlib.redirect_stdout(sys.stderr):  # for output of libraries
        engine = engine_factory.load_engine(play)
        nboard.NBoardServer(engine, line_reader.of_standard_input(), write).run()
    return 0
