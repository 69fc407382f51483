"""Speaks the Go Text Protocol for Othello on standard input and output: `python -m azo.gtp`.

For Quarry and tournaments; see docs/front-ends.md. Messages go to standard error.
"""

import contextlib
import importlib.metadata
import sys
from collections.abc import Sequence

from azo import config, live
from azo.play import gtp, lines
from azo.play.engine import Engine


class GtpConfig(live.PlayConfig):
    """Speaks the Go Text Protocol for Othello on standard input and output."""


def main(argv: Sequence[str]) -> int:
    """Answers commands until `quit` or the end of the input; returns 0."""
    play = config.parse_flags(GtpConfig, argv, prog="python -m azo.gtp")
    write = lines.to_standard_output()
    with contextlib.redirect_stdout(sys.stderr):  # whatever a library may print
        engine = live.load_engine(play)

        def load(size: int) -> Engine:
            if size == engine.game.size:
                return engine
            other = {"network": None, "size": size, "reversed": engine.game.is_reversed}
            no_book = {"book": None, "learn": False}  # it is for the first game alone
            return live.load_engine(play.model_copy(update=other | no_book))

        front_end = gtp.Gtp(
            engine,
            lines.of_standard_input(),
            write,
            version=_version(),
            full=play.engine,
            load=load,
        )
        front_end.run()
    return 0


def _version() -> str:
    try:
        return importlib.metadata.version("azo")
    except importlib.metadata.PackageNotFoundError:  # run from its source, not installed
        return "(source)"


if __name__ == "__main__":
    sys.exit(config.run_main(main))
