"""Trains a network by self-play.

    azo train --config quickstart --run.seed 1 --search.num-simulations 100

`--config` takes the name of a shipped settings file or the path of a TOML file, and flags override
it; without it, the settings are those of `quickstart`. Ctrl-C, SIGTERM and SIGHUP end the run after
the current iteration, save it and give exit code 0; the same command resumes it. With
`--distributed`, several processes train together, and the first one prints and saves:
docs/scaling.md.
"""

from collections.abc import Sequence

from azo.cli import command_line
from azo.run import config, curriculum, interruption


def main(argv: Sequence[str]) -> int:
    """Trains until the last iteration or a request to stop; returns the exit code."""
    settings = load(argv)
    with interruption.StopRequest() as stop:
        curriculum.train(settings, stop)
    return 0


def load(argv: Sequence[str]) -> config.Config:
    """Returns the settings of a run, from a settings file and flags; see `command_line.parse`."""
    return command_line.parse(
        config.Config,
        argv,
        prog="azo train",
        description=__doc__,
        load_file=lambda path: config.load_file(path or config.DEFAULT_CONFIG),
    )
