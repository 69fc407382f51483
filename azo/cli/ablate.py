"""Compares recipes by equal runs and matches.

    azo ablate ablation --num-workers 2

QUEUE is the name of a shipped queue or the path of a TOML file. Each run has its share of the
cores and consists of the commands `azo train` and `azo evaluate`. A finished run adds one line to
FOLDER/results.jsonl. Ctrl-C, SIGTERM or SIGHUP saves the current runs and ends with exit code 0;
the same command resumes them. `--table` shows the results so far.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line, markdown_tables
from azo.games import setting_types
from azo.lab import comparison, queue_runner, run_queue
from azo.storage import locks
from azo.training import interruption


class AblateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Runs a queue of comparisons, or shows its results."""

    queue: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="QUEUE")]
    """Name of a shipped queue, or a TOML file; azo/lab/run_queue.py lists its settings."""
    folder: pathlib.Path | None = None
    """Folder of runs and results; by default runs/ and the name of the queue."""
    num_workers: setting_types.Processes = 2
    """Runs at a time, which share the cores."""
    table: bool = False
    """Only print the Markdown table of the results so far."""


def main(argv: Sequence[str]) -> int:
    """Works off the queue or shows it; returns the exit code, 1 if a job failed."""
    flags = command_line.parse(AblateConfig, argv, prog="azo ablate", description=__doc__)
    folder = flags.folder or pathlib.Path("runs") / flags.queue.stem
    queue, jobs = run_queue.load(flags.queue, folder)
    path = folder / queue_runner.RESULTS
    if flags.table:
        results = queue_runner.read_results(path, jobs)
        markdown_tables.print_lines(comparison.table(results, queue.arms, queue.seeds))
        return 0
    with locks.lock_folder(folder), interruption.StopRequest() as stop:
        results = queue_runner.read_results(path, jobs)
        waiting = [job for job in jobs if (job.arm.name, job.seed) not in results]
        num_failed = queue_runner.work_off(
            waiting, path, results, num_workers=flags.num_workers, stop=stop
        )
    if stop.is_made:
        print("stopped and saved; the same command resumes")
        return 0
    return 1 if num_failed else 0
