"""Shared parts of the scripts: flags, timing in turns, pinning to cores, and tables.

A timing is the wall-clock seconds of one call that returns JAX arrays, until the arrays are ready.
Programs are compiled ahead. Calls that are compared take turns, so that a slow moment of the
machine affects all of them. A ratio is computed within a turn, and then its median over the turns.

On a CPU call `pin_to_cores` before JAX starts its backend, so that the thread pool has the same
number of threads. A program alone on one core uses as much processor time as wall-clock time.
`Timing.share` is the ratio of the two, and `is_noisy` marks timings beside other work. Processor
time on one core is then the better clock: other programs affect it only through the caches.
"""

import dataclasses
import functools
import math
import os
import pathlib
import platform
import statistics
import sys
import time
from collections.abc import Callable, Collection, Sequence
from importlib import metadata
from typing import Any

import jax
import pydantic

from azo.cli import command_line
from azo.process import machine

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
MAX_BUSY = 0.1  # share of a core used by other work above which the machine counts as loaded
MIN_SHARE = 0.97
MAX_SPREAD = 0.15
MIN_TURN_SECONDS = 0.2  # a call is repeated within its turn until this time has passed


@dataclasses.dataclass(frozen=True)
class Program:
    """A compiled program with its inputs."""

    run: Callable[..., Any]
    inputs: tuple[Any, ...]
    compile_seconds: float  # tracing included
    num_bytes: int  # of inputs, results and temporary arrays; 0 if the backend does not report it

    def call(self) -> Any:
        """Runs the program with its inputs."""
        return self.run(*self.inputs)


@dataclasses.dataclass(frozen=True)
class Timing:
    """Repeated timings of one call."""

    seconds: tuple[float, ...]  # wall clock of one call, in each turn
    processor_seconds: tuple[float, ...]  # processor time of the same calls
    has_one_core: bool  # the process was pinned to one core, and the device is that core

    @property
    def share(self) -> float:
        """Processor seconds per wall-clock second, in the worst turn."""
        pairs = zip(self.processor_seconds, self.seconds, strict=True)
        return min(processor / wall for processor, wall in pairs)

    @property
    def spread(self) -> float:
        """Slowest minus fastest turn, relative to the median."""
        return (max(self.seconds) - min(self.seconds)) / statistics.median(self.seconds)

    @property
    def is_noisy(self) -> bool:
        """Whether other work affected the timing."""
        is_shared = self.has_one_core and self.share < MIN_SHARE
        return is_shared or self.spread > MAX_SPREAD


@dataclasses.dataclass(frozen=True)
class Range:
    """Median, smallest and largest of a list of numbers."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.low)} to {short(self.high)})"


def pin_to_cores(count: int = 1, core: int | None = None) -> dict[int, float]:
    """Pins this process to cores, by default the idlest that it may use. Linux only.

    Args:
      count: number of cores; fewer if the process may not use so many.
      core: a core that must be among them.

    Returns:
      For each core the share of a sampled half second in which other work ran on it.

    Raises:
      ValueError: if the process may not use the core.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if core is not None and core not in allowed:
        raise ValueError(f"core {core}: this process may use {allowed}")
    busy = _busy_parts(0.5)
    chosen = sorted(allowed, key=lambda other: (other != core, busy[other]))[:count]
    keep_on_cores(chosen)
    return {core: busy[core] for core in sorted(chosen)}


def keep_on_cores(cores: Collection[int]) -> None:
    """Restricts all threads of this process to these cores."""
    for thread in _threads():
        os.sched_setaffinity(thread, cores)


def thread_cores() -> set[int]:
    """Returns the cores that any thread of this process may use."""
    return set().union(*(os.sched_getaffinity(thread) for thread in _threads()))


def compile_program(function: Callable[..., Any], *args: Any) -> Program:
    """Returns the function compiled for these inputs, not yet run."""
    start = time.perf_counter()
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    compiled = jitted.lower(*args).compile()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    num_bytes = (
        0
        if memory is None
        else (
            memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
        )
    )
    return Program(compiled, args, seconds, num_bytes)


def take_turns(
    calls: dict[str, Callable[[], Any]], repeats: int, *, limit_seconds: float = math.inf
) -> dict[str, Timing]:
    """Times calls in turns: each call once in each turn.

    Args:
      calls: functions without arguments that return JAX arrays; inputs are built beforehand.
      repeats: number of turns, after one turn for warming up.
      limit_seconds: calls that would take longer than this in all turns are left out.
    """
    first = {name: _seconds(call, 1)[0] for name, call in calls.items()}
    counts = {
        name: max(1, round(MIN_TURN_SECONDS / seconds))
        for name, seconds in first.items()
        if seconds * (repeats + 1) <= limit_seconds
    }
    turns = [
        {name: _seconds(calls[name], count) for name, count in counts.items()}
        for _ in range(repeats)
    ]
    has_one_core = jax.default_backend() == "cpu" and len(thread_cores()) == 1
    timings = {}
    for name in counts:
        seconds, processor_seconds = zip(*(turn[name] for turn in turns), strict=True)
        timings[name] = Timing(seconds, processor_seconds, has_one_core)
    return timings


def summary(numbers: Sequence[float]) -> Range:
    """Returns the median, smallest and largest."""
    return Range(statistics.median(numbers), min(numbers), max(numbers))


def rate(seconds: Sequence[float], num_items: float) -> Range:
    """Returns items per second, for calls that process `num_items` each.

    It is infinite in turns without a positive time, see `less`.
    """
    return summary([num_items / one if one > 0 else math.inf for one in seconds])


def speedup(seconds: Sequence[float], baseline: Sequence[float]) -> Range:
    """Returns the speed relative to `baseline` for the same work, turn by turn.

    It is infinite in turns where one of the times is not positive, see `less`.
    """
    pairs = zip(seconds, baseline, strict=True)
    return summary([other / mine if min(mine, other) > 0 else math.inf for mine, other in pairs])


def less(seconds: Sequence[float], part: Sequence[float]) -> tuple[float, ...]:
    """Returns the time of each turn minus that of a part.

    Beside other work the part may take longer than the whole. The difference is then not positive,
    and rates that follow from it cannot be measured.
    """
    return tuple(whole - one for whole, one in zip(seconds, part, strict=True))


def short(number: float) -> str:
    """Returns a number with three significant digits: 0.123, 12.3, 12,300."""
    if math.isinf(number):
        return "not measurable"
    return f"{number:.3g}" if abs(number) < 999.5 else f"{float(f'{number:.3g}'):,.0f}"


def header(packages: Sequence[str] = ("jax", "jaxlib", "mctx", "pgx")) -> list[str]:
    """Returns lines with the device, the versions and the commit."""
    device = jax.devices()[0]
    name = machine.processor() if device.platform == "cpu" else device.device_kind
    versions = ", ".join(f"{package} {_version(package)}" for package in packages)
    return [
        f"Device: {device.platform}, {name}",
        f"Versions: Python {platform.python_version()}, {versions}",
        f"Commit: {machine.commit()}",
    ]


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a markdown table; the first column is text, the others are numbers."""
    rule = ["---"] + ["---:"] * (len(columns) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows))


def _seconds(call: Callable[[], Any], count: int) -> tuple[float, float]:
    """Returns the wall-clock seconds and the processor seconds of a call."""
    processor_start, start = time.process_time(), time.perf_counter()
    for _ in range(count):
        jax.block_until_ready(call())
    wall = time.perf_counter() - start
    return wall / count, (time.process_time() - processor_start) / count


def _threads() -> list[int]:
    return [int(path.name) for path in pathlib.Path("/proc/self/task").iterdir()]


def _busy_parts(seconds: float) -> dict[int, float]:
    """Returns for each core the part of the next `seconds` in which it did something."""
    before = _core_ticks()
    time.sleep(seconds)
    after = _core_ticks()
    return {
        core: 1.0 - (after[core][0] - idle) / max(after[core][1] - total, 1)
        for core, (idle, total) in before.items()
    }


def _core_ticks() -> dict[int, tuple[int, int]]:
    """Returns the idle and all clock ticks of each core since the machine started (proc(5))."""
    ticks = {}
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            counts = [int(number) for number in numbers[:8]]
            ticks[int(name[3:])] = counts[3] + counts[4], sum(counts)  # idle, waiting for a disk
    return ticks


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


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
        busy = pin_to_cores(bench.num_cores, bench.core)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    jax.config.update("jax_num_cpu_devices", bench.num_cores)
    is_pinned = jax.default_backend() == "cpu"
    if not is_pinned:
        keep_on_cores(allowed)  # compilation for an accelerator uses them all
    lines = report(bench)
    settings = bench.model_dump_json().replace(f"{REPOSITORY}/", "")
    heading = [*header(), f"Settings: {settings}"]
    if is_pinned:
        cores = sorted(thread_cores())
        heading.append(f"Cores: all threads on {', '.join(map(str, cores))}")
        loaded = {core: part for core, part in busy.items() if part > MAX_BUSY}
        heading += [
            f"LOADED MACHINE: other work used {part:.0%} of core {core} just before"
            for core, part in loaded.items()
        ]
    print("\n".join(f"* {line}" for line in heading) + "\n")
    print("\n".join(lines))
    return 0
