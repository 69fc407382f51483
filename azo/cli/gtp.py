"""Speaks the Go Text Protocol (GTP) on standard input and output.

    azo gtp --level 5

This command is for Quarry and for tournaments; see docs/protocols.md. Messages go to standard
error.
"""

from collections.abc import Sequence

from azo.cli import command_line
from azo.engine import engine_factory
from azo.engine.live_engine import Engine
from azo.protocols import gtp, line_reader


def main(argv: Sequence[str]) -> int:
    """Answers commands until `quit` or the end of the input; returns 0."""
    kind = engine_factory.PlayConfig
    play = command_line.parse(kind, argv, prog="azo gtp", description=__doc__)
    with line_reader.standard_streams() as (lines, write):
        engine = engine_factory.make_engine(play)

        def load(size: int) -> Engine:
            if size == engine.game.size:
                return engine
            other = {"network": None, "size": size, "reversed": engine.game.is_reversed}
            other |= {"book": None}  # it is only for the first game
            return engine_factory.make_engine(play.model_copy(update=other))

        gtp.GtpServer(engine, lines, write, load).run()
    return 0
