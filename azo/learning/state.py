"""The whole state of a run as one pytree: all that later iterations depend on.

Games, history and replay are split over the devices of the mesh axis `data`; all else is the same
on every device. Saving, resuming and sharding need no special cases.
"""

import dataclasses
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import pydantic
from jax.sharding import PartitionSpec

from azo.games import protocol
from azo.learning import generations
from azo.learning import learner as learners
from azo.learning import network as networks
from azo.learning import replay as replays
from azo.learning import selfplay as selfplays
from azo.search import policy

AXIS = "data"


class RecipeConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The settings of the compiled iteration."""

    search: policy.SearchConfig = policy.SearchConfig()
    network: networks.NetworkConfig = networks.NetworkConfig()
    selfplay: selfplays.SelfplayConfig = selfplays.SelfplayConfig()
    replay: replays.ReplayConfig = replays.ReplayConfig()
    learner: learners.LearnerConfig = learners.LearnerConfig()
    gate: generations.GateConfig = generations.GateConfig()


@flax.struct.dataclass
class RunState:
    """State in, state out."""

    learner: learners.Learner
    best: networks.Variables | None  # what self-play uses if gating is on, else None
    games: selfplays.Games
    history: replays.History
    replay: replays.Replay
    iteration: jax.Array  # [] int32, iterations done
    generation: jax.Array  # [] int32, promotions so far
    num_games: jax.Array  # [] int32, games finished
    key: jax.Array  # [] typed key, constant: iterations fold their number in

    def variables(self) -> networks.Variables:
        """Returns the network's variables as the learner has them."""
        return {"params": self.learner.params, "batch_stats": self.learner.batch_stats}

    def promoted(self) -> "RunState":
        """Returns the state of the next generation, with the learner's network as the best."""
        # A copy: the iteration donates the learner's own.
        best = jax.tree.map(jnp.copy, self.variables())
        return dataclasses.replace(self, best=best, generation=self.generation + 1)


def create(
    game: protocol.Game, config: RecipeConfig, *, seed: int, total_steps: int, num_devices: int
) -> RunState:
    """Returns the state before the first iteration; jittable.

    Args:
      game: the rules.
      config: the settings.
      seed: of all that is random in the run.
      total_steps: optimiser steps of the whole run, for the learning rate's schedule.
      num_devices: over how many devices games and replay are split.
    """
    network_key, games_key, run_key = jax.random.split(jax.random.key(seed), 3)
    variables = networks.init(game, config.network, network_key)
    optimiser = learners.make_optimiser(config.learner, total_steps)
    params = variables["params"]
    num_games = config.selfplay.num_games
    ring = replays.empty_ring(game, config.replay.capacity)
    zeros = jnp.zeros(num_devices, jnp.int32)
    return RunState(
        learner=learners.Learner(
            params=params,
            batch_stats=variables.get("batch_stats", {}),
            optimiser_state=optimiser.init(params),
            num_steps=jnp.int32(0),
        ),
        best=variables if config.gate.is_enabled else None,
        games=selfplays.begin(game, games_key, num_games),
        history=replays.empty_history(game, num_games),
        replay=dataclasses.replace(ring, next_row=zeros, size=zeros),
        iteration=jnp.int32(0),
        generation=jnp.int32(0),
        num_games=jnp.int32(0),
        key=run_key,
    )


def partition(config: RecipeConfig) -> Any:
    """Returns how the axes of each part lie over the mesh, as a prefix of a `RunState`."""
    everywhere: Any = PartitionSpec()
    games: Any = PartitionSpec(AXIS)
    plies: Any = PartitionSpec(None, AXIS)
    return RunState(
        learner=everywhere,
        best=everywhere if config.gate.is_enabled else None,
        games=games,
        history=plies,
        replay=games,
        iteration=everywhere,
        generation=everywhere,
        num_games=everywhere,
        key=everywhere,
    )
