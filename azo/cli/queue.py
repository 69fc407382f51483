"""Compares recipes by equal runs and matches.

    azo queue ablation
    taskset -c 1 azo queue ablation

QUEUE is the name of a shipped queue or the path of a TOML file. Each run consists of the commands
`azo train` and `azo evaluate`, and has a folder FOLDER/ARM/SEED with its result. The same command
in several terminals runs several jobs in parallel, each on the cores that `taskset` assigns.
Ctrl-C, SIGTERM or SIGHUP saves the current run and ends with exit code 0; the same command resumes
it. `--table` shows the results so far, as Markdown.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.process import interruption
from azo.queues import comparison, queue_runner, run_queue


class QueueFlags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Runs a queue of comparisons, or shows its results."""

    queue: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="QUEUE")]
    """Name of a shipped queue, or a TOML file; azo/queues/run_queue.py lists its settings."""
    folder: pathlib.Path | None = None
    """Folder of runs and results; by default runs/ and the name of the queue."""
    table: bool = False
    """Only print the Markdown table of the results so far."""


def main(argv: Sequence[str]) -> int:
    """Works off the queue or shows it; returns the exit code, 1 if a run has no result yet."""
    flags = command_line.parse(QueueFlags, argv, prog="azo queue", description=__doc__)
    folder = flags.folder or pathlib.Path("runs") / flags.queue.stem
    queue, jobs = run_queue.load(flags.queue, folder)
    results = queue_runner.read_results(jobs)
    if flags.table:
        print("\n".join(comparison.table(results, queue.arms, queue.seeds)))
        return 0
    with interruption.StopRequest() as stop:
        num_open = queue_runner.work_off(jobs, stop)
    if stop.is_made:
        print("stopped and saved; the same command resumes")
        return 0
    return 1 if num_open else 0
