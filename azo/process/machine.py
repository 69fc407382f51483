"""The machine and the commit of azo, which every published figure names."""

import os
import pathlib
import platform
import subprocess

from azo.settings import shipped_files

_SOURCE = pathlib.Path(__file__).resolve().parents[2]


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


def fields(num_devices: int, device_kind: str) -> dict[str, str]:
    """Returns commit and machine of a run by their names in the metrics."""
    return {
        "start/commit": commit(),
        "start/processor": processor(),
        "start/devices": f"{num_devices} x {device_kind}",
    }
