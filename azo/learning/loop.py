"""The compiled iteration: self-play, replay and learning as one program, state in, state out.

    play T plies of B games  ->  label finished games  ->  fill the ring  ->  optimiser steps

or one half of that, where a generation's games come before its learning.

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

from azo.games import othello, protocol
from azo.learning import (
    duplicates,
    endings,
    generations,
    leaf_evaluator,
    learner,
    network,
    pending_plies,
    replay,
    resignation,
    run_state,
    selfplay,
    statistics,
    targets,
)


@flax.struct.dataclass
class Metrics:
    """What an iteration reports, each a scalar unless it says otherwise."""

    losses: learner.Losses  # means over the steps; NaN where nothing is learned
    new_losses: learner.Losses  # of positions just added, before any step on them; NaN if none
    played: statistics.SelfplayStatistics | None  # over devices, unless nothing is played
    replay_size: jax.Array  # int32, positions in the ring
    replay_age: jax.Array  # float32, mean iterations version the examples of a batch were played
    unique_share: jax.Array  # float32, distinct positions among the examples of a batch
    learning_rate: jax.Array  # float32, of the next step
    threshold: jax.Array | None  # float32, of resignation, if games may be resigned
    false_positive_share: jax.Array | None  # float32, of games resigned by it that could be won


def make_mesh(num_devices: int) -> Mesh:
    """Returns the first devices of the default backend as a mesh with the axis `data`.

    Of several processes each gives as many, and they lie side by side.
    """
    num_processes = jax.process_count()
    chosen = [
        jax.local_devices(process_index=process)[: num_devices // num_processes]
        for process in range(num_processes)
    ]
    return Mesh(np.array(chosen).reshape(-1), (run_state.AXIS,))


def shardings(config: run_state.RecipeConfig, mesh: Mesh) -> Any:
    """Returns where each part of a `RunState` lies, as a prefix of it."""
    return jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        run_state.partition(config),
        is_leaf=lambda x: isinstance(x, PartitionSpec),
    )


def begin(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    mesh: Mesh,
    *,
    seed: int,
    total_steps: int,
    start: network.Variables | None = None,
    teacher: network.Variables | None = None,
) -> run_state.RunState:
    """Returns the state before the first iteration, laid out over the mesh.

    Arguments as in `state.create`.
    """

    def create(
        start: network.Variables | None, teacher: network.Variables | None
    ) -> run_state.RunState:
        return run_state.create(
            game,
            config,
            seed=seed,
            total_steps=total_steps,
            num_devices=mesh.size,
            start=start,
            teacher=teacher,
        )

    # From the host, version what was loaded may lie on one device of the mesh alone.
    start, teacher = jax.device_get((start, teacher))
    # It runs once, so the time goes into compiling it: 7.3 s of a core, 1.6 s unoptimised.
    unoptimised = {"xla_backend_optimization_level": 0}
    out_shardings = shardings(config, mesh)
    return jax.jit(create, out_shardings=out_shardings, compiler_options=unoptimised)(
        start, teacher
    )


def fill(
    config: run_state.RecipeConfig, mesh: Mesh, state: run_state.RunState, lines: endings.ExactLines
) -> run_state.RunState:
    """Returns the state with solved positions in the replay: `lines` `[K, M]`, `M` over devices."""

    def add(state: run_state.RunState, lines: endings.ExactLines) -> run_state.RunState:
        now = state.iteration
        ring = replay.add_exact(state.replay, lines, iteration=now, actor_version=now)
        return dataclasses.replace(state, replay=ring)

    where = run_state.partition(config)
    by_ply: Any = PartitionSpec(None, run_state.AXIS)
    fields = dict.fromkeys((field.name for field in dataclasses.fields(lines)), by_ply)
    of_lines = endings.ExactLines(**fields | {"end": PartitionSpec(run_state.AXIS)})
    sharded = jax.shard_map(
        add, mesh=mesh, in_specs=(where, of_lines), out_specs=where, check_vma=False
    )
    # From the host: what was made on one device.
    return jax.jit(sharded, donate_argnums=0)(state, jax.device_get(lines))


def build(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    mesh: Mesh,
    *,
    total_steps: int,
    kind: generations.IterationKind = "play_and_learn",
    player: network.NetworkConfig | None = None,
) -> Any:
    """Returns `iteration(state) -> (state, metrics)`, jitted: one call that donates its state.

    Args:
      game: the rules.
      config: the settings; batches must divide over the devices of the mesh.
      mesh: from `make_mesh`.
      total_steps: optimiser steps of the whole run, for the learning rate's schedule.
      kind: whether it plays, learns, or both.
      player: shape of the network that plays, if not that of the one that learns.
    """
    traces = itertools.count(1)

    def iterate(state: run_state.RunState) -> tuple[run_state.RunState, Metrics]:
        assert next(traces) == 1, "traced again: the state has changed in shape, type or place"
        shared_key = jax.random.fold_in(state.key, state.iteration)
        key = jax.random.fold_in(shared_key, jax.lax.axis_index(run_state.AXIS))
        play_key, learn_key = jax.random.split(key)
        played, num_added = None, jnp.int32(0)
        if kind != "learn":
            if config.endings.num_positions:
                state, num_added = _solve(game, config, play_key, state, mesh.size)
            else:
                state, played, num_added = _play(
                    game, config, player or config.network, play_key, shared_key, state
                )
        state, metrics = _learn(
            game,
            config,
            learn_key,
            state,
            num_added,
            total_steps=total_steps,
            num_devices=mesh.size,
            is_learning=kind != "play",
        )
        state = dataclasses.replace(state, iteration=state.iteration + 1)
        return state, dataclasses.replace(metrics, played=played)

    where = run_state.partition(config)
    sharded = jax.shard_map(
        iterate, mesh=mesh, in_specs=(where,), out_specs=(where, PartitionSpec()), check_vma=False
    )
    return jax.jit(sharded, donate_argnums=0)


def _play(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    player: network.NetworkConfig,
    key: jax.Array,
    shared_key: jax.Array,
    state: run_state.RunState,
) -> tuple[run_state.RunState, statistics.SelfplayStatistics, jax.Array]:
    """Plays, and adds what is decided to the ring; also returns how many positions that is."""
    variables, version = state.variables(), state.iteration
    if state.actor_params is not None:
        variables, version = state.actor_params, state.actor_version
    evaluate = leaf_evaluator.evaluator(game, player, variables, config.search)
    threshold = None
    if state.counts is not None:
        threshold, _ = resignation.threshold(state.counts, config.resignation)
    games, played = selfplay.play(
        game,
        evaluate,
        key,
        shared_key,
        state.games,
        threshold,
        search=config.search,
        config=config.selfplay,
        resigning=config.resignation,
        adjudicate_empties=config.endings.adjudicate_empties,
        iteration=state.iteration,
        actor_version=version,
    )
    counts = state.counts
    if counts is not None:
        counts = resignation.update_counts(counts, _total(played.counts), config.resignation)

    finalised, history = pending_plies.finalise(
        game, state.history, played.plies, played.adjudicated
    )
    plies = finalised.plies
    value = targets.value_targets(
        config.targets, plies.reward, plies.discount, plies.value.astype(jnp.float32)
    )
    ring = state.replay
    if config.replay.window_iterations:
        ring = replay.begin_window(ring)
    ring = replay.add_played(game, ring, finalised, value)
    num_added = (finalised.is_ready & plies.is_example).sum(dtype=jnp.int32)
    if played.explored is not None:
        ring = replay.add_explored(
            ring, played.explored, iteration=state.iteration, actor_version=version
        )
        num_added += played.explored.is_valid.sum(dtype=jnp.int32)
    if played.adjudicated is not None:
        lines = played.adjudicated.lines
        ring = replay.add_exact(ring, lines, iteration=state.iteration, actor_version=version)
        num_added += lines.is_valid.sum(dtype=jnp.int32)

    sums = _total(statistics.gather(game, played, finalised))
    state = dataclasses.replace(
        state,
        games=games,
        history=history,
        replay=ring,
        counts=counts,
        num_games=state.num_games + sums.games.num_games.astype(jnp.int32),
    )
    num_evaluations = config.selfplay.num_games * played.predictions.num_evaluations.sum()
    return state.with_evaluations(num_evaluations), sums, num_added


def _solve(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    key: jax.Array,
    state: run_state.RunState,
    num_devices: int,
) -> tuple[run_state.RunState, jax.Array]:
    """Solves random endings into the ring; also returns how many positions that is."""
    assert isinstance(game, othello.Othello), game.name
    ending_key, solve_key = jax.random.split(key)
    num_endings = config.endings.num_positions // num_devices
    position, is_found = endings.random_endings(game, ending_key, num_endings, config.endings)
    lines = endings.solve(
        game, solve_key, position, is_found, max_empties=config.endings.max_empties
    )
    ring = state.replay
    if config.replay.window_iterations:
        ring = replay.begin_window(ring)
    ring = replay.add_exact(ring, lines, iteration=state.iteration, actor_version=state.iteration)
    return dataclasses.replace(state, replay=ring), lines.is_valid.sum(dtype=jnp.int32)


def _learn(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    key: jax.Array,
    state: run_state.RunState,
    num_added: jax.Array,
    *,
    total_steps: int,
    num_devices: int,
    is_learning: bool,
) -> tuple[run_state.RunState, Metrics]:
    """Takes the steps of an iteration, unless there is too little to learn from."""
    model = network.build(game, config.network)
    num_examples = config.learner.batch_size // num_devices
    window = config.replay.window
    row_key = jax.random.fold_in(key, 0)

    newest = jax.random.randint(row_key, (num_examples,), 0, jnp.maximum(num_added, 1))
    row = (state.replay.next_row[0] - 1 - newest) % state.replay.value.shape[0]
    examples = replay.take(game, state.replay, row)
    new_losses = learner.evaluate_loss(
        game, model, state.variables(), examples, config=config.learner
    )
    new_losses = jax.tree.map(lambda x: jnp.where(num_added > 0, x, jnp.nan), new_losses)

    row = replay.draw(state.replay, row_key, num_examples, window)
    age = (state.iteration - state.replay.iteration[row]).astype(jnp.float32).mean()
    every = jnp.ones(num_examples, bool)
    count = duplicates.groups(state.replay.board[row], every).count
    unique_share = (1 / count).mean()

    def learn(train_state: learner.TrainState) -> tuple[learner.TrainState, learner.Losses]:
        ring = replay.averaged(game, state.replay, config.targets)

        def sample(key: jax.Array) -> replay.Examples:
            return replay.take(game, ring, replay.draw(ring, key, num_examples, window))

        return learner.learn(
            game,
            model.clone(is_training=True, axis_name=run_state.AXIS),
            learner.make_optimiser(config.learner, total_steps),
            key,
            train_state,
            sample,
            config=config.learner,
            axis_name=run_state.AXIS,
        )

    train_state, losses = _wait(state.learner)
    if is_learning:
        in_window = replay.num_in_window(state.replay, window)[0]
        # The same everywhere, so the devices agree on whether to meet in `learn`.
        can_learn = jax.lax.pmin(in_window, run_state.AXIS) > 0
        can_learn &= _total(in_window) >= config.replay.min_positions
        train_state, losses = jax.lax.cond(can_learn, learn, _wait, state.learner)

    threshold = share = None
    if state.counts is not None:
        threshold, share = resignation.threshold(state.counts, config.resignation)
    learning_rate = learner.learning_rate(config.learner, total_steps)
    new_losses, age, unique_share = jax.lax.pmean((new_losses, age, unique_share), run_state.AXIS)
    return dataclasses.replace(state, learner=train_state), Metrics(
        losses=losses,
        new_losses=new_losses,
        played=None,
        replay_size=_total(state.replay.size[0]),
        replay_age=age,
        unique_share=unique_share,
        learning_rate=jnp.asarray(learning_rate(train_state.num_steps)),
        threshold=threshold,
        false_positive_share=share,
    )


def _wait(train_state: learner.TrainState) -> tuple[learner.TrainState, learner.Losses]:
    return train_state, learner.unknown_losses()


def _total(x: Any) -> Any:
    """Returns the sum over all devices."""
    return jax.lax.psum(x, run_state.AXIS)
