"""Which devices a run uses, and what its processes agree on.

A run is one process with its devices, or with `--distributed` several processes, on one host or on
many, that all run the same program on the devices of all. The first process alone prints, writes
and plays matches; `told_by_first` and `asked_by_any` keep the others in step. Every process has to
call what waits for the others, in the same order.
"""

import contextlib
import os

import jax
import numpy as np
from jax.experimental import multihost_utils

from azo.run import checks, config


def prepare(settings: config.Config) -> int:
    """Returns how many devices to use, over all processes; call it before JAX is used otherwise.

    On the CPU JAX has as many devices as it is asked for, and one program keeps about one core
    busy for each; asking has no effect on accelerators.

    Raises:
      ValueError: There are fewer devices than `run.num_devices`, batches do not split over them, or
        there are no other processes to be found.
    """
    if settings.distributed and not jax.distributed.is_initialized():
        _join()
    wanted = settings.run.num_devices
    if wanted is not None:
        # Once the backend is up, it stays with as many devices as it has.
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", wanted)
    available = jax.local_device_count()
    if wanted is not None and wanted > available:
        kind = jax.devices()[0].platform
        raise ValueError(
            f"run.num_devices is {wanted}, but there are {available} {kind} devices:"
            f" give --run.num-devices {available} or fewer"
        )
    num_devices = (wanted or available) * jax.process_count()
    checks.check_devices(settings, num_devices)
    return num_devices


def is_first() -> bool:
    """Returns whether this process prints and writes."""
    return jax.process_index() == 0


def told_by_first(numbers: list[int]) -> list[int]:
    """Returns in every process the numbers of the first; the lists must be equally long."""
    return [int(x) for x in multihost_utils.broadcast_one_to_all(np.array(numbers, np.int32))]


def asked_by_any(is_asked: bool) -> bool:
    """Returns in every process whether any of them asks."""
    return bool(multihost_utils.process_allgather(np.array(is_asked)).any())


def _join() -> None:
    """Meets the other processes: JAX knows the common clusters, elsewhere three variables tell."""
    # Its preemption service would take SIGTERM, at which a run saves and stops.
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
