"""Devices of a run."""

import contextlib
import importlib.util
from importlib import metadata

import jax

from azo.games import othello, plurals, protocol
from azo.process import distributed, kernels, program_cache
from azo.training import checks, config


def has_plugin() -> bool:
    """Returns whether JAX has a plugin for GPUs or TPUs, which may be absent themselves."""
    plugins = metadata.entry_points(group="jax_plugins")
    return bool(plugins) or importlib.util.find_spec("libtpu") is not None


def has_accelerator(num_devices: int | None) -> bool:
    """Returns whether JAX computes on a GPU or TPU.

    JAX starts for the answer if a plugin is installed; on a CPU it then has `num_devices` devices.
    """
    if not has_plugin():
        return False
    _request_cpu_devices(num_devices)
    try:
        return jax.default_backend() != "cpu"
    except RuntimeError:  # the run tells what is wrong
        return False


def prepare(settings: config.Config) -> int:
    """Returns the number of devices of a run, of all processes; call it before other uses of JAX.

    On the CPU, JAX creates as many devices as requested, and one program keeps about one core busy
    for each. On accelerators the request has no effect. ValueError if there are fewer devices than
    `run.num_devices`, or batches do not split over them.
    """
    program_cache.enable()
    num_devices = settings.run.num_devices
    _request_cpu_devices(num_devices)
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


def _request_cpu_devices(num_devices: int | None) -> None:
    if num_devices is not None:
        # An initialised backend keeps its number of devices.
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", num_devices)


def check_kernels(settings: config.Config, game: protocol.Game) -> str:
    """Lets the searches of a run use their kernels if a GPU is there and they agree with loops.

    Returns a line if they do not agree, in one of the processes.
    """
    search = settings.search
    is_possible = jax.default_backend() == "gpu" and search.backend == "azo"
    if not is_possible or search.kernels != "auto":
        return ""
    from azo.search.kernels import check  # imports Pallas, which takes a second
    from azo.solver.device import kernel_check

    difference = check.difference(game, search)
    if not difference and isinstance(game, othello.Othello):
        difference = kernel_check.difference(game)
    difference = next(filter(None, distributed.exchange(difference)), "")
    if not difference:
        kernels.trust()
        return ""
    return f"search.kernels: {difference}, so the run uses XLA's loops, which are slower"
