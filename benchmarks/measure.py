"""Timing that two programs can be compared by: what was run, where, how often, and how steadily.

What is measured: the wall-clock seconds of one call that returns JAX arrays, until they are ready.
The first call is timed apart, as compilation. Calls to compare take turns, so that a slow moment of
the machine meets all of them, and a ratio is taken within a turn before its median.

On a CPU call `pin_to_core` before JAX starts its backend: its thread pool then has one thread. A
program that has its core to itself uses as much processor time as wall-clock time; `Timing.share`
says how much it got, and `is_noisy` marks what was measured beside other work. Processor time on
one core is then the better clock: others who use the core lengthen it only by sharing the caches.
"""

import dataclasses
import os
import pathlib
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

import jax

MIN_SHARE = 0.97
MAX_SPREAD = 0.15
MIN_TURN_SECONDS = 0.2  # a call is repeated within its turn until this long has passed


@dataclasses.dataclass(frozen=True)
class Timing:
    """Repeated timings of one call."""

    compile_seconds: float  # first call, less the median of the later ones
    seconds: tuple[float, ...]  # wall clock of one call, in each turn
    processor_seconds: tuple[float, ...]  # the same by the time that this process ran

    @property
    def share(self) -> float:
        """Processor seconds for a second of wall clock, in the worst turn."""
        pairs = zip(self.processor_seconds, self.seconds, strict=True)
        return min(processor / wall for processor, wall in pairs)

    @property
    def spread(self) -> float:
        """Slowest minus fastest turn, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / statistics.median(self.seconds)

    @property
    def is_noisy(self) -> bool:
        return self.share < MIN_SHARE or self.spread > MAX_SPREAD


@dataclasses.dataclass(frozen=True)
class Range:
    """Median, smallest and largest of some numbers."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} to {self.high:.3g})"


def pin_to_core(core: int | None = None) -> tuple[int, float]:
    """Keeps this process on one core, by default the idlest that it may use. Linux only.

    Returns:
      The core, and the part of a sampled half second in which other work ran on it.

    Raises:
      ValueError: if the process may not use the core.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if core is not None and core not in allowed:
        raise ValueError(f"core {core}: this process may use {allowed}")
    busy = _busy_parts(0.5)
    core = min(allowed, key=busy.__getitem__) if core is None else core
    for thread in _threads():
        os.sched_setaffinity(thread, {core})
    return core, busy[core]


def thread_cores() -> set[int]:
    """Returns the cores that any thread of this process may use."""
    return set().union(*(os.sched_getaffinity(thread) for thread in _threads()))


def take_turns(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Timing]:
    """Times calls in turns: every call once, then every call again.

    Args:
      calls: functions without arguments that return JAX arrays; inputs are built beforehand.
      repeats: number of turns.
    """
    first = {name: _seconds(call, 1)[0] for name, call in calls.items()}
    counts = {
        name: max(1, round(MIN_TURN_SECONDS / _seconds(call, 1)[0])) for name, call in calls.items()
    }
    turns = [
        {name: _seconds(call, counts[name]) for name, call in calls.items()} for _ in range(repeats)
    ]
    timings = {}
    for name in calls:
        seconds, processor_seconds = zip(*(turn[name] for turn in turns), strict=True)
        compile_seconds = max(first[name] - statistics.median(seconds), 0.0)
        timings[name] = Timing(compile_seconds, seconds, processor_seconds)
    return timings


def rate(seconds: Sequence[float], num_items: float) -> Range:
    """Returns items a second, for calls that each do `num_items`."""
    return _range([num_items / one for one in seconds])


def speedup(seconds: Sequence[float], baseline: Sequence[float]) -> Range:
    """Returns how many times faster the same amount of work was than `baseline`, turn by turn."""
    return _range([other / mine for mine, other in zip(seconds, baseline, strict=True)])


def header(packages: Sequence[str] = ("jax", "jaxlib", "numpy")) -> list[str]:
    """Returns lines that say on what device, with which versions and at which commit this runs."""
    device = jax.devices()[0]
    name = _processor() if device.platform == "cpu" else device.device_kind
    versions = ", ".join(f"{package} {_version(package)}" for package in packages)
    return [
        f"Device: {device.platform}, {name}",
        f"Versions: Python {platform.python_version()}, {versions}",
        f"Commit: {_commit()}",
    ]


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a markdown table; the first column is text, the others are numbers."""
    rule = ["---"] + ["---:"] * (len(columns) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *rows))


def _seconds(call: Callable[[], Any], count: int) -> tuple[float, float]:
    """Returns seconds a call, by the wall clock and of this process on processors."""
    processor_start, start = time.process_time(), time.perf_counter()
    for _ in range(count):
        jax.block_until_ready(call())
    wall = time.perf_counter() - start
    return wall / count, (time.process_time() - processor_start) / count


def _range(numbers: Sequence[float]) -> Range:
    return Range(statistics.median(numbers), min(numbers), max(numbers))


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


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """Returns the short commit, marked if files differ from it; `unknown` outside a repository."""
    folder = pathlib.Path(__file__).parent
    git = ["git", "-C", str(folder)]
    try:
        done = [
            subprocess.run([*git, *arguments], capture_output=True, text=True, check=True).stdout
            for arguments in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done[0].strip() + (" with local changes" if done[1].strip() else "")
