"""Where the state of a run lies: the mesh of devices, and how a state is laid out over it."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from azo.games import protocol
from azo.learning import replay, run_state
from azo.networks import network


def make_mesh(num_devices: int) -> Mesh:
    """Returns the first devices of the default backend as a mesh with the axis `data`.

    Each of several processes gives an equal number, side by side.
    """
    number = num_devices // jax.process_count()
    processes = [jax.local_devices(process_index=i)[:number] for i in range(jax.process_count())]
    return Mesh(np.array(processes).reshape(-1), (run_state.AXIS,))


def shardings(config: run_state.RecipeConfig, mesh: Mesh) -> Any:
    """Returns the sharding of each field of a `RunState`, as a prefix of it."""
    return jax.tree.map(functools.partial(NamedSharding, mesh), run_state.partition(config))


def begin(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    mesh: Mesh,
    *,
    seed: int,
    start: network.Variables | None = None,
    teacher: network.Variables | None = None,
) -> run_state.RunState:
    """Returns the state before the first iteration, laid out over the mesh.

    Arguments as in `run_state.create`.
    """
    # From the host, since loaded networks may lie on one device of the mesh only.
    start, teacher = jax.device_get((start, teacher))
    # The program runs once, so compilation dominates: 7.3 s of a core, 1.6 s unoptimised.
    unoptimised = {"xla_backend_optimization_level": 0}
    create = functools.partial(run_state.create, game, config, seed=seed, num_devices=mesh.size)
    where = shardings(config, mesh)
    created = jax.jit(create, out_shardings=where, compiler_options=unoptimised)
    return created(start=start, teacher=teacher)


def redistribute(buffer: replay.ReplayBuffer, num_devices: int) -> replay.ReplayBuffer:
    """Returns the positions of all rings in rings for another number of devices.

    Positions are dealt in turn from the oldest to the newest, by their age within their ring. Rings
    fill alike, so this is nearly the order of entry. The total number of rows stays the same, so no
    position is lost.

    The buffer is that of a whole state, outside of `shard_map`; the number divides its rows.
    """
    num_rows = buffer.value.shape[0]
    old, new = num_rows // buffer.size.shape[0], num_rows // num_devices
    ring, place = jnp.divmod(jnp.arange(num_rows), old)
    age = (buffer.next_row[ring] - 1 - place) % old
    is_used = age < buffer.size[ring]
    in_order = jnp.argsort(jnp.where(is_used, -age, 1), stable=True)  # rows without position last
    row = in_order.reshape(new, num_devices).T.reshape(-1)

    def dealt(total: jax.Array) -> jax.Array:
        device = jnp.arange(num_devices).reshape(-1, *(1,) * total.ndim)
        return (total[None] + num_devices - 1 - device) // num_devices

    total = buffer.size.sum(axis=0)
    size = dealt(total)
    in_window = jnp.minimum(buffer.window_starts, buffer.size[:, None]).sum(axis=0)
    return replay.ReplayBuffer(
        **jax.tree.map(lambda x: x[row], replay.columns(buffer)),
        next_row=size % new,
        size=size,
        window_starts=size[:, None] - dealt(total - in_window),  # the newest ones are dealt last
    )
