"""Devices of a run."""

import contextlib

import jax

from azo.games import plurals
from azo.process import distributed, program_cache
from azo.training import checks, config


def prepare(settings: config.Config) -> int:
    """Returns the number of devices of a run, of all processes; call it before other uses of JAX.

    On the CPU, JAX creates as many devices as requested, and one program keeps about one core busy
    for each. On accelerators the request has no effect. ValueError if there are fewer devices than
    `run.num_devices`, or batches do not split over them.
    """
    program_cache.enable()
    num_devices = settings.run.num_devices
    if num_devices is not None:
        # An initialised backend keeps its number of devices.
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", num_devices)
    available = jax.local_device_count()
    if num_devices is not None and num_devices > available:
        kind = jax.devices()[0].platform
        there = f"there {'is' if available == 1 else 'are'}"
        raise ValueError(
            f"run.num_devices is {num_devices}, but {there}"
            f" {plurals.counted(available, f'{kind} device')}:"
            f" give --run.num-devices {available} or fewer"
        )
    of_processes = distributed.exchange(num_devices or available)
    if len({*of_processes}) > 1:
        raise ValueError(
            f"the processes have {', '.join(map(str, of_processes))} devices, but should have equal"
            f" numbers: give --run.num-devices {min(of_processes)}"
        )
    total = sum(of_processes)
    checks.check_devices(settings, total)
    return total
