"""Where the state of a run lies: the mesh of devices, and the first state laid out over it."""

import functools
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from azo.games import protocol
from azo.learning import network, run_state


def make_mesh(num_devices: int) -> Mesh:
    """Returns the first devices of the default backend as a mesh with the axis `data`.

    Each of several processes gives an equal number, side by side.
    """
    num_processes = jax.process_count()
    chosen = [
        jax.local_devices(process_index=process)[: num_devices // num_processes]
        for process in range(num_processes)
    ]
    return Mesh(np.array(chosen).reshape(-1), (run_state.AXIS,))


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
    create = functools.partial(
        run_state.create,
        game,
        config,
        seed=seed,
        num_devices=mesh.size,
    )
    return jax.jit(create, out_shardings=shardings(config, mesh), compiler_options=unoptimised)(
        start=start, teacher=teacher
    )
