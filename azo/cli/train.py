"""Learns a game: `azo train --config configs/NAME.toml [--section.setting value]`.

Each iteration is one compiled call on the device; the host prints, evaluates and saves. With
`--distributed` several processes train together, and the first one prints and writes for all.
Ctrl-C and SIGTERM end the run after the current iteration, saved; the same command resumes it.
"""

import sys
from collections.abc import Sequence

from azo.cli import command_line
from azo.run import curriculum, interruption


def main(argv: Sequence[str]) -> int:
    """Trains until the last iteration or a request to stop; returns the exit code."""
    settings = command_line.load(argv)
    with interruption.StopRequest() as stop:
        curriculum.train(settings, stop)
    return 0


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
