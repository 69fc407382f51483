"""Trains a network by self-play.

    azo train --config quickstart --run.seed 1 --search.num-simulations 100

`--config` takes the name of a shipped settings file or the path of a TOML file, and flags override
it; without it, the settings are those of `quickstart`. Ctrl-C and SIGTERM end the run after the
current iteration and save it; the same command resumes it. With `--distributed`, several processes
train together, and the first one prints and saves: docs/scaling.md.
"""

from collections.abc import Sequence

from azo.cli import command_line
from azo.run import curriculum, interruption


def main(argv: Sequence[str]) -> int:
    """Trains until the last iteration or a request to stop; returns the exit code."""
    settings = command_line.load(argv, description=__doc__)
    with interruption.StopRequest() as stop:
        curriculum.train(settings, stop)
    return 0
