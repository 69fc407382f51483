"""The compiled iteration: self-play, replay and learning as one program, state in, state out.

    play T plies of B games  ->  label finished games  ->  fill the ring  ->  optimiser steps

It runs under `shard_map` over the mesh axis `data`, with one device too: each device plays its own
games into its own ring, without waiting for others at every step of a search; only gradients, the
statistics of the normalisation and the metrics are averaged.
"""

import dataclasses
import itertools
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from azo.games import protocol
from azo.learning import learner as learners
from azo.learning import network as networks
from azo.learning import replay as replays
from azo.learning import selfplay
from azo.learning import state as states


@flax.struct.dataclass
class Metrics:
    """What an iteration reports, each a scalar."""

    losses: learners.Losses  # means over the steps; NaN before learning begins
    played: "Played"
    replay_size: jax.Array  # int32, positions in the ring
    learning_rate: jax.Array  # float32, of the next step


def make_mesh(num_devices: int) -> Mesh:
    """Returns the first devices of the default backend as a mesh with the axis `data`.

    Of several processes each gives as many, and they lie side by side.
    """
    num_processes = jax.process_count()
    chosen = [
        jax.local_devices(process_index=process)[: num_devices // num_processes]
        for process in range(num_processes)
    ]
    return Mesh(np.array(chosen).reshape(-1), (states.AXIS,))


def shardings(config: states.RecipeConfig, mesh: Mesh) -> Any:
    """Returns where each part of a `RunState` lies, as a prefix of it."""
    return jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        states.partition(config),
        is_leaf=lambda x: isinstance(x, PartitionSpec),
    )


def begin(
    game: protocol.Game, config: states.RecipeConfig, mesh: Mesh, *, seed: int, total_steps: int
) -> states.RunState:
    """Returns the state before the first iteration, laid out over the mesh."""

    def create() -> states.RunState:
        return states.create(
            game, config, seed=seed, total_steps=total_steps, num_devices=mesh.size
        )

    return jax.jit(create, out_shardings=shardings(config, mesh))()


def build(game: protocol.Game, config: states.RecipeConfig, mesh: Mesh, *, total_steps: int) -> Any:
    """Returns `iteration(state) -> (state, metrics)`, jitted: one call that donates its state.

    Args:
      game: the rules.
      config: the settings; batches must divide over the devices of the mesh.
      mesh: from `make_mesh`.
      total_steps: optimiser steps of the whole run, for the learning rate's schedule.
    """
    playing = networks.build(game, config.network)
    training = playing.clone(is_training=True, axis_name=states.AXIS)
    optimiser = learners.make_optimiser(config.learner, total_steps)
    learning_rate = learners.learning_rate(config.learner, total_steps)

    traces = itertools.count(1)

    def iterate(state: states.RunState) -> tuple[states.RunState, Metrics]:
        assert next(traces) == 1, "traced again: the state has changed in shape, type or place"
        key = jax.random.fold_in(state.key, state.iteration)
        key = jax.random.fold_in(key, jax.lax.axis_index(states.AXIS))
        play_key, learn_key = jax.random.split(key)

        best = state.variables() if state.best is None else state.best
        folded = networks.fold(playing, best)
        evaluate = networks.evaluator(
            game, *folded, use_random_symmetry=config.search.random_symmetry
        )
        games, plies = selfplay.play(
            game,
            evaluate,
            play_key,
            state.games,
            search=config.search,
            config=config.selfplay,
        )
        replay, history = replays.add(state.replay, state.history, plies)
        replay_size = _total(replay.size[0])

        def learn(learner: learners.Learner) -> tuple[learners.Learner, learners.Losses]:
            return learners.learn(
                game,
                training,
                optimiser,
                learn_key,
                learner,
                replay,
                config=config.learner,
                num_examples=config.learner.batch_size // mesh.size,
                axis_name=states.AXIS,
            )

        # The same everywhere, so the devices agree on whether to meet in `learn`.
        can_learn = jax.lax.pmin(replay.size[0], states.AXIS) > 0
        can_learn &= replay_size >= config.replay.min_positions
        learner, losses = jax.lax.cond(can_learn, learn, _wait, state.learner)

        played = _played(plies)
        state = dataclasses.replace(
            state,
            learner=learner,
            games=games,
            history=history,
            replay=replay,
            iteration=state.iteration + 1,
            num_games=state.num_games + played.num_games,
        )
        return state, Metrics(
            losses=losses,
            played=played,
            replay_size=replay_size,
            learning_rate=jnp.asarray(learning_rate(learner.num_steps)),
        )

    where = states.partition(config)
    sharded = jax.shard_map(
        iterate, mesh=mesh, in_specs=(where,), out_specs=(where, PartitionSpec()), check_vma=False
    )
    return jax.jit(sharded, donate_argnums=0)


@flax.struct.dataclass
class Played:
    """What self-play reports of an iteration, each a scalar."""

    num_games: jax.Array  # int32, games that ended
    mean_plies: jax.Array  # float32, their length
    first_player_score: jax.Array  # float32 in [0, 1], of the player who began them, draws half
    policy_entropy: jax.Array  # float32, nats, mean of the searched policies of all plies


def _wait(learner: learners.Learner) -> tuple[learners.Learner, learners.Losses]:
    unknown = jnp.float32(jnp.nan)
    return learner, learners.Losses(unknown, unknown, unknown, unknown)


def _played(plies: selfplay.Plies) -> Played:
    is_end = plies.discount == 0
    num_games = _total(is_end.sum(dtype=jnp.int32))
    first_player_reward = jnp.where(plies.ply % 2 == 0, plies.reward, -plies.reward)
    policy = selfplay.restore(plies.policy)
    entropy = jax.scipy.special.entr(policy).sum(axis=-1).mean()

    def mean_at_end(x: jax.Array) -> jax.Array:
        return _total(jnp.where(is_end, x, 0).sum()) / num_games

    return Played(
        num_games=num_games,
        mean_plies=mean_at_end(plies.ply + 1),
        first_player_score=0.5 + 0.5 * mean_at_end(first_player_reward),
        policy_entropy=jax.lax.pmean(entropy, states.AXIS),
    )


def _total(x: jax.Array) -> jax.Array:
    """Returns the sum over all devices."""
    return jax.lax.psum(x, states.AXIS)
