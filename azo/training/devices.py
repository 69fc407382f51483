"""Devices of a run, and agreement between its processes.

A run is one process with its devices, or with `--distributed` several processes on one host or on
many, which run the same program on the devices of all. Only the first process prints, writes files
and plays matches. `broadcast_from_first` and `any_process` wait for the other processes, so every
process has to call them in the same order.
"""

import contextlib
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from azo.training import checks, config

PROGRAMS: dict[Any, Any] = {}  # the latest ones of runs of this process, see `keep_program`
_MOST_PROGRAMS = 4
_SECONDS_TO_KEEP = 0.2  # programs that took longer to compile are kept on disk


def prepare(settings: config.Config) -> int:
    """Returns the number of devices of a run, over all processes; call it before other uses of JAX.

    On the CPU, JAX creates as many devices as requested, and one program keeps about one core busy
    for each. On accelerators the request has no effect. ValueError if there are fewer devices than
    `run.num_devices`, batches do not split over them, or no other processes are found.
    """
    if settings.distributed and not jax.distributed.is_initialized():
        _join()
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
    total = (num_devices or available) * jax.process_count()
    checks.check_devices(settings, total)
    return total


def keep_programs() -> None:
    """Lets JAX keep compiled programs in the user's cache, unless a folder is set."""
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(pathlib.Path(base) / "azo" / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS_TO_KEEP)


def keep_program(key: Any, program: Any) -> None:
    """Keeps a program, by what it depends on, in place of the oldest one."""
    PROGRAMS[key] = program
    if len(PROGRAMS) > _MOST_PROGRAMS:
        del PROGRAMS[next(iter(PROGRAMS))]


def is_first() -> bool:
    """Returns whether this is the process that prints and writes files."""
    return jax.process_index() == 0


def broadcast_from_first(numbers: list[int]) -> list[int]:
    """Returns the first process's numbers in every process; all lists have the same length."""
    return [int(x) for x in multihost_utils.broadcast_one_to_all(np.array(numbers, np.int32))]


def gather(tree: Any) -> Any:
    """Returns arrays on the host, whole, in every process."""
    return multihost_utils.process_allgather(tree, tiled=True)


def any_process(condition: bool) -> bool:
    """Returns in every process whether the condition holds in at least one of them."""
    return bool(multihost_utils.process_allgather(np.array(condition)).any())


@contextlib.contextmanager
def first_succeeds(message: str) -> Iterator[None]:
    """Raises ValueError with a message in every process if the first process fails in the block.

    The first process raises its own error. Every process has to enter the block.
    """
    error: Exception | None = None
    try:
        yield
    except Exception as failure:
        error = failure
    (has_failed,) = broadcast_from_first([int(error is not None)])
    if error is not None:
        raise error
    if has_failed:
        raise ValueError(message)


def _join() -> None:
    """Connects to the other processes; outside clusters, by environment variables."""
    # JAX's preemption service would intercept SIGTERM, at which a run saves and stops.
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            num_processes=_environment("JAX_NUM_PROCESSES"),
            process_id=_environment("JAX_PROCESS_ID"),
        )
    except ValueError as error:
        raise ValueError(
            f"--distributed: no cluster found ({error}). Start with srun, mpirun, a Kubernetes job"
            " or on a TPU pod, or set JAX_COORDINATOR_ADDRESS (host:port of the first process),"
            " JAX_NUM_PROCESSES and JAX_PROCESS_ID"
        ) from None


def _environment(name: str) -> int | None:
    return int(os.environ[name]) if name in os.environ else None
