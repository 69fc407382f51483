"""Origin of a network, and of a figure.

The origin of a network is what it learned from besides the rules of its game.

A run that begins with fresh weights and plays its own games adds nothing. A run that begins with
another network, or learns from the games of another one, adds that network and its whole origin.
`azo supervise` adds the recorded games that it read. So the origin has all runs of the chain, and a
network is from the rules alone if none of them read recorded games.

The origin of a figure is the commit of azo and the machine.
"""

import os
import pathlib
import platform
import subprocess
from typing import Literal

import jax
import pydantic

from azo.storage import files
from azo.training import shipped_files

_SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Source(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One thing that a network learned from."""

    kind: Literal["network", "teacher", "recorded games", "unknown"]
    """A network that gave its weights; one that played the games; games from files; or a network of
    unknown origin."""
    name: str
    """Folder of the network, or the files."""


Origin = tuple[Source, ...]


def is_from_rules_alone(origin: Origin) -> bool:
    """Returns whether no recorded games, and no network of unknown origin, are in an origin."""
    return all(source.kind in ("network", "teacher") for source in origin)


def describe(origin: Origin) -> str:
    """Returns an origin in words, such as "learned from the rules alone"."""
    verdict = "learned from the rules alone"
    if not is_from_rules_alone(origin):
        verdict = "not from the rules alone, as far as recorded"
        if any(source.kind == "recorded games" for source in origin):
            verdict = "learned from recorded games"
    chain = files.printable("; ".join(f"{source.kind}: {source.name}" for source in origin))
    return f"{verdict} ({chain})" if chain else verdict


def commit() -> str:
    """Returns the short commit of the source, marked if files differ from it; else the version."""
    version = f"azo {shipped_files.version()}"
    if not (_SOURCE / ".git").exists():  # an installation, perhaps inside of another repository
        return version
    git = ["git", "-C", str(_SOURCE), "describe", "--always", "--exclude=*"]
    try:
        done = subprocess.run(
            [*git, "--dirty= with local changes"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return version
    return done.stdout.strip()


def num_cores() -> int:
    """Returns the number of cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # of Linux
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def processor() -> str:
    """Returns the model of the processor, and the number of cores that this process may use."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    name = next(names, platform.processor() or platform.machine())
    return f"{name}, {num_cores()} {'core' if num_cores() == 1 else 'cores'}"


def fields(num_devices: int) -> dict[str, str]:
    """Returns commit and machine of a run by their names in the metrics."""
    return {
        "start/commit": commit(),
        "start/processor": processor(),
        "start/devices": f"{num_devices} x {jax.devices()[0].device_kind}",
    }
