"""Devices of a run, and its compiled programs."""

import contextlib
import os
import pathlib
from typing import Any

import jax

from azo.training import checks, config, program_cache

PROGRAMS: dict[Any, Any] = {}  # the latest ones of runs of this process, see `keep_program`
_MOST_PROGRAMS = 4
_SECONDS_TO_KEEP = 0.2  # programs that took longer to compile are kept on disk


def prepare(settings: config.Config) -> int:
    """Returns the number of devices of a run; call it before other uses of JAX.

    On the CPU, JAX creates as many devices as requested, and one program keeps about one core busy
    for each. On accelerators the request has no effect. ValueError if there are fewer devices than
    `run.num_devices`, or batches do not split over them.
    """
    keep_programs()
    num_devices = settings.run.num_devices
    if num_devices is not None:
        # An initialised backend keeps its number of devices.
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", num_devices)
    available = jax.local_device_count()
    if num_devices is not None and num_devices > available:
        kind = jax.devices()[0].platform
        raise ValueError(
            f"run.num_devices is {num_devices}, but there are {available} {kind} devices:"
            f" give --run.num-devices {available} or fewer"
        )
    checks.check_devices(settings, num_devices or available)
    return num_devices or available


def keep_programs() -> None:
    """Lets JAX keep compiled programs in the user's cache, unless a folder is set.

    Damaged ones are replaced; see `program_cache`.
    """
    program_cache.replace_damaged_entries()
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(pathlib.Path(base) / "azo" / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS_TO_KEEP)


def keep_program(key: Any, program: Any) -> None:
    """Keeps a program, by what it depends on, in place of the oldest one."""
    PROGRAMS[key] = program
    if len(PROGRAMS) > _MOST_PROGRAMS:
        del PROGRAMS[next(iter(PROGRAMS))]
