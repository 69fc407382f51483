"""Does the memory of a run that saves and evaluates stay the same?

    python -m benchmarks.run_soak --minutes 60

The script trains tic-tac-toe in a process of its own, which saves after every iteration and
evaluates after every fifth. A line a minute shows the iterations and the process's memory. Linux
only.
"""

import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import pydantic

from azo.cli import command_line
from azo.run import metrics
from benchmarks import web_soak


class RunSoakConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How long a run saves and evaluates."""

    minutes: pydantic.PositiveFloat = 60.0
    """Minutes, the start of the run included."""
    max_growth: pydantic.PositiveFloat = 0.02
    """Largest growth of the run's memory after the first sixth of the time."""
    report_seconds: pydantic.PositiveFloat = 60.0
    """Seconds between two lines."""


def main(argv: Sequence[str] | None = None) -> int:
    """Trains, prints the memory, and returns 1 if it grew by more than the limit."""
    argv = sys.argv[1:] if argv is None else argv
    config = command_line.parse(RunSoakConfig, argv, prog="run_soak", description=__doc__)
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "run"
        flags = [
            *("--run.folder", str(folder), "--run.num-iterations", "1000000"),
            *("--run.save-every", "1", "--evaluation.every", "5"),
        ]
        command = [sys.executable, "-m", "azo", "train", "--config", "tictactoe", *flags]
        start, memory = time.monotonic(), []
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
            try:
                while (elapsed := time.monotonic() - start) < 60 * config.minutes:
                    time.sleep(min(config.report_seconds, 60 * config.minutes - elapsed))
                    if run.poll() is not None:
                        raise ValueError(f"the run ended with exit code {run.returncode}")
                    memory.append(web_soak.memory_kilobytes(run.pid))
                    saves = len(metrics.read(folder, "iteration"))
                    minutes = (time.monotonic() - start) / 60
                    print(
                        f"{minutes:.1f} min: {saves} saves, {memory[-1] / 1024:.1f} MB", flush=True
                    )
            finally:
                run.kill()
    return web_soak.report_growth(memory, config.max_growth)


if __name__ == "__main__":
    sys.exit(main())
