"""Shared parts of the scripts: flags, pinning to cores, and the lines above the tables."""

import functools
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import pydantic

from azo.cli import command_line
from benchmarks import measure

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
MAX_BUSY = 0.1  # share of a core used by other work above which the machine counts as loaded


class Settings(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of every script."""

    repeats: pydantic.PositiveInt = 3
    """Repetitions; each times every program once."""
    core: int | None = None
    """Core to run on; by default the idlest core. With an accelerator the host is not pinned."""
    seed: pydantic.NonNegativeInt = 0
    """Seed of positions, networks and moves."""

    @property
    def num_cores(self) -> int:
        """Number of cores, and of CPU devices, without an accelerator."""
        return 1


def run(
    module: str,
    kind: type[Settings],
    report: Callable[[Any], list[str]],
    argv: Sequence[str] | None,
) -> int:
    """Runs a script and returns its exit code: 2, after one line, if the flags are wrong.

    Args:
      module: name of the script, such as `benchmarks.rules`.
      kind: settings of the script; the docstring is the help text.
      report: function that measures and returns lines of markdown.
      argv: flags; by default those of the command line.
    """
    return command_line.run_main(functools.partial(_run, module, kind, report), argv)


def _run(module: str, kind: type[Settings], report: Callable, argv: Sequence[str]) -> int:
    bench = command_line.parse(kind, argv, prog=f"python -m {module}")
    allowed = os.sched_getaffinity(0)
    try:
        busy = measure.pin_to_cores(bench.num_cores, bench.core)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    jax.config.update("jax_num_cpu_devices", bench.num_cores)
    is_pinned = jax.default_backend() == "cpu"
    if not is_pinned:
        measure.keep_on_cores(allowed)  # compilation for an accelerator uses them all
    lines = report(bench)
    settings = bench.model_dump_json().replace(f"{REPOSITORY}/", "")
    heading = [*measure.header(), f"Settings: {settings}"]
    if is_pinned:
        cores = sorted(measure.thread_cores())
        heading.append(f"Cores: all threads on {', '.join(map(str, cores))}")
        loaded = {core: part for core, part in busy.items() if part > MAX_BUSY}
        heading += [
            f"LOADED MACHINE: other work used {part:.0%} of core {core} just before"
            for core, part in loaded.items()
        ]
    print("\n".join(f"* {line}" for line in heading) + "\n")
    print("\n".join(lines))
    return 0
