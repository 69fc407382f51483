"""What made a figure: the commit of azo and the machine."""

import os
import pathlib
import platform
import subprocess

import jax

from azo.run import shipped_files

_SOURCE = pathlib.Path(__file__).resolve().parents[2]


def commit() -> str:
    """Returns the short commit of the source, marked if files differ from it; else the version."""
    git = ["git", "-C", str(_SOURCE)]
    texts = []
    for arguments in (
        ["rev-parse", "--show-toplevel"],
        ["rev-parse", "--short", "HEAD"],
        ["status", "--porcelain"],
    ):
        try:
            done = subprocess.run([*git, *arguments], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return f"azo {shipped_files.version()}"
        texts.append(done.stdout.strip())
    folder, head, changes = texts
    if pathlib.Path(folder) != _SOURCE:  # an installation inside of another repository
        return f"azo {shipped_files.version()}"
    return head + (" with local changes" if changes else "")


def processor() -> str:
    """Returns the model of the processor, and the number of cores that this process may use."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    name = next(names, platform.processor() or platform.machine())
    allowed = getattr(os, "sched_getaffinity", None)  # of Linux
    count = len(allowed(0)) if allowed else os.cpu_count() or 1
    return f"{name}, {count} {'core' if count == 1 else 'cores'}"


def fields(num_devices: int) -> dict[str, str]:
    """Returns commit and machine of a run by their names in the metrics."""
    return {
        "start/commit": commit(),
        "start/processor": processor(),
        "start/devices": f"{num_devices} x {jax.devices()[0].device_kind}",
    }
