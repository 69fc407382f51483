"""Which devices a run uses."""

import contextlib

import jax

from azo import config as configs


def prepare(config: configs.Config) -> int:
    """Returns how many devices to use; call it before anything else touches JAX.

    On the CPU JAX has as many devices as it is asked for, and one program keeps about one core
    busy for each; asking has no effect on accelerators.

    Raises:
      ValueError: There are fewer devices than `run.num_devices`, or batches do not split over them.
    """
    wanted = config.run.num_devices
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
    num_devices = wanted or available
    configs.check_devices(config, num_devices)
    return num_devices
