"""The state of a run as one pytree: everything that later iterations depend on.

Games, history and replay are split over the devices of the mesh axis `data`. Everything else is the
same on every device. Saving, resuming and sharding need no special cases.
"""

import dataclasses
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import pydantic
from jax.sharding import PartitionSpec

from azo.games import protocol, summaries
from azo.learning import generations, initial_games, learner, replay, trajectories

# Classes by name, since a field named like its module would hide the module in the class body.
from azo.learning.learner import LearnerConfig, TrainState
from azo.learning.options import interface, registry
from azo.learning.options.endings import EndingsConfig
from azo.learning.options.resignation import ResignationConfig
from azo.learning.replay import ReplayBuffer, ReplayConfig
from azo.learning.selfplay import SelfplayConfig
from azo.learning.targets import TargetsConfig
from azo.learning.trajectories import GamesInProgress, Trajectory
from azo.networks import initial_variables
from azo.networks.network import NetworkConfig, Variables
from azo.search.improvement import SearchConfig

AXIS = "data"
_MILLION = 1_000_000


class RecipeConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Settings of the compiled iteration."""

    search: SearchConfig = SearchConfig()
    network: NetworkConfig = NetworkConfig()
    selfplay: SelfplayConfig = SelfplayConfig()
    resignation: ResignationConfig = ResignationConfig()
    endings: EndingsConfig = EndingsConfig()
    targets: TargetsConfig = TargetsConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = LearnerConfig()
    generation: generations.GenerationConfig = generations.GenerationConfig()
    gate: generations.GateConfig = generations.GateConfig()

    @property
    def has_own_actor(self) -> bool:
        """Whether the actor has its own network, from a gate or a teacher."""
        return self.gate.is_enabled or self.selfplay.teacher is not None


@flax.struct.dataclass
class RunState:
    """State of a run between iterations."""

    learner: TrainState
    actor_params: Variables | None  # actor's network with a gate or a teacher, else None
    games: GamesInProgress
    history: Trajectory  # [L, B], the latest plies
    replay: ReplayBuffer
    options: dict[str, Any]  # parts of options, by their names
    iteration: jax.Array  # [] int32, iterations done
    generation: jax.Array  # [] int32, number of the generation, counted from 0
    generation_games: jax.Array  # [] int32, games finished before this generation
    generation_steps: jax.Array  # [] int32, optimiser steps before this generation
    num_failures: jax.Array  # [] int32, failures at the gate in a row
    actor_version: jax.Array  # [] int32, iterations done when `actor_params` was fixed
    num_games: jax.Array  # [] int32, games finished
    evaluations: jax.Array  # [2] int32, network evaluations: millions and the rest
    key: jax.Array  # [] typed key, constant; iterations fold in their number

    __repr__ = summaries.short

    def variables(self) -> Variables:
        """Returns the learner's network: in its newest state."""
        return self.learner.variables()

    def actor(self) -> tuple[Variables, jax.Array]:
        """Returns the network that plays, and the iterations done when it was fixed, [] int32."""
        if self.actor_params is None:
            return self.variables(), self.iteration
        return self.actor_params, self.actor_version

    def num_evaluations(self) -> int:
        """Returns the network evaluations of self-play and gates so far, on the host."""
        millions, rest = (int(x) for x in self.evaluations)
        return millions * _MILLION + rest

    def with_evaluations(self, number: jax.Array | int) -> "RunState":
        """Returns the state with `number` more network evaluations, below 2**31."""
        rest = self.evaluations[1] + number
        evaluations = jnp.stack([self.evaluations[0] + rest // _MILLION, rest % _MILLION])
        return dataclasses.replace(self, evaluations=evaluations)


def create(
    game: protocol.Game,
    config: RecipeConfig,
    *,
    seed: int,
    num_devices: int,
    start: Variables | None = None,
    teacher: Variables | None = None,
) -> RunState:
    """Returns the state before the first iteration; jittable.

    Layers that the initial network `start` lacks are fresh, all if it is None. The `teacher` is the
    actor's network, if the settings have one.
    """
    network_key, games_key, run_key = jax.random.split(jax.random.key(seed), 3)
    variables = initial_variables.init(game, config.network, network_key)
    if start is not None:
        variables = {kind: layers | start[kind] for kind, layers in variables.items()}
    optimiser = learner.make_optimiser(config.learner, config.network)
    num_games = config.selfplay.num_games
    options = registry.active(game, config)
    games = initial_games.spread_games(game, games_key, num_games, options=options)
    parts = interface.begin_games(options, jax.random.fold_in(games_key, 0), num_games)
    actor_params = None
    if config.has_own_actor:
        actor_params = jax.tree.map(jnp.copy, variables) if teacher is None else teacher
    zero, fields = jnp.int32(0), interface.fields(options)
    return RunState(
        learner=learner.init(optimiser, variables),
        actor_params=actor_params,
        games=dataclasses.replace(games, options=parts),
        history=trajectories.empty_history(game, num_games, fields),
        replay=replay.empty_buffer(
            game, config.replay.capacity, num_devices=num_devices, fields=fields
        ),
        options=interface.parts({option.name: option.begin_run() for option in options}),
        iteration=zero,
        generation=zero,
        generation_games=zero,
        generation_steps=zero,
        num_failures=zero,
        actor_version=zero,
        num_games=zero,
        evaluations=jnp.zeros(2, jnp.int32),
        key=run_key,
    )


def partition(config: RecipeConfig) -> Any:
    """Returns the partition of each field over the mesh, as a prefix of a `RunState`."""
    everywhere: Any = PartitionSpec()
    games: Any = PartitionSpec(AXIS)
    fields = dict.fromkeys((field.name for field in dataclasses.fields(RunState)), everywhere)
    return RunState(
        **fields
        | {
            "actor_params": everywhere if config.has_own_actor else None,
            "games": games,
            "history": PartitionSpec(None, AXIS),
            "replay": games,
        }
    )
