"""The compiled iteration: one program from state to state.

    play T plies of B games -> label finished games -> insert into the replay -> optimiser steps

An iteration may also be the first three, or the last one. Options, see `options.interface`, take
part in each of them.

It runs under `shard_map` over the mesh axis `data`, also with one device. Each device plays its own
games into its own ring, without waiting for other devices. Gradients, metrics and running averages
of the normalisation are averaged over devices; so are the statistics of each batch unless
`learner.batch_statistics` is "device".
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

from azo.games import protocol
from azo.learning import learner, replay, run_state, selfplay, statistics, targets, trajectories
from azo.learning.options import interface, registry
from azo.networks import network
from azo.settings import setting_types

Kind = Literal["play_and_learn", "play", "learn"]


def build(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    mesh: Mesh,
    *,
    kind: Kind = "play_and_learn",
    actor: network.NetworkConfig | None = None,
) -> Any:
    """Returns `iteration(state, progress, numbers={}) -> (state, statistics.Metrics)`, jitted.

    It donates its state. `progress` is the share of the run that is done before it, a float32 from
    0 to 1 on which the learning rate depends. `numbers` of the settings, by full names, are
    arguments of the program in place of constants, see `setting_types.split_numbers`. Batches must
    divide over the devices of the mesh. The actor's network has the shape `actor`; None for that of
    the learner's.
    """
    traced: list[tuple[Any, ...]] = []

    def iterate(
        state: run_state.RunState, progress: jax.Array, numbers: setting_types.Numbers
    ) -> tuple[run_state.RunState, statistics.Metrics]:
        # JAX may have been told to forget its programs, so a second trace is not always a mistake.
        types = tuple(jax.typeof(leaf) for leaf in jax.tree.leaves((state, progress, numbers)))
        assert types == (traced or [types])[0], "traced again: types have changed"
        traced.append(types)
        settings = setting_types.with_numbers(config, numbers)
        iteration = _Iteration(game, settings, actor or config.network, kind, mesh.size)
        return iteration(state, progress)

    specs = run_state.partition(config)
    sharded = jax.shard_map(
        iterate,
        mesh=mesh,
        in_specs=(specs, PartitionSpec(), PartitionSpec()),
        out_specs=(specs, PartitionSpec()),
        check_vma=False,
    )

    def iteration(state: run_state.RunState, progress: Any, numbers: Any = None) -> Any:
        return sharded(state, progress, numbers or {})

    return jax.jit(iteration, donate_argnums=0)


@dataclasses.dataclass(frozen=True)
class _Iteration:
    """One iteration on one device of the mesh."""

    game: protocol.Game
    config: run_state.RecipeConfig
    actor: network.NetworkConfig
    kind: Kind
    num_devices: int

    def __call__(
        self, state: run_state.RunState, progress: jax.Array
    ) -> tuple[run_state.RunState, statistics.Metrics]:
        key = jax.random.fold_in(state.key, state.iteration)
        key = jax.random.fold_in(key, jax.lax.axis_index(run_state.AXIS))
        play_key, learn_key = jax.random.split(key)
        num_steps, num_new = state.learner.num_steps, jnp.int32(0)
        sums, losses = None, learner.unknown_losses(self.extra_losses)
        if self.kind != "learn":
            if self.source is None:
                state, played, records = self.play(play_key, state)
                state, rows, sums = self.label(state, played, records)
            else:
                rows = [self.source.rows(play_key, state.iteration, self.num_devices)]
            state, num_new = self.insert(state, rows)
        seen = self.inspect(learn_key, state, num_new)
        if self.kind != "play":
            state, losses = self.learn(learn_key, state, progress)

        has_learned = state.learner.num_steps > num_steps
        metrics = statistics.Metrics(
            finite=self.check_finite(state, losses, has_learned, sums),
            selfplay=sums,
            replay_size=self.total(state.replay.size[0]),
            others=seen | self.describe(state, progress, losses),
        )
        return dataclasses.replace(state, iteration=state.iteration + 1), metrics

    def play(
        self, key: jax.Array, state: run_state.RunState
    ) -> tuple[run_state.RunState, trajectories.Trajectory, dict[str, Any]]:
        """Plays the plies of an iteration with the actor's network."""
        game, config = self.game, self.config
        variables, actor_version = state.actor()
        games, trajectory, records = selfplay.play(
            game,
            network.folded_evaluator(game, self.actor, variables, symmetry=config.search.symmetry),
            key,
            state.games,
            state.options,
            search=config.search,
            config=config.selfplay,
            options=self.options,
            iteration=state.iteration,
            actor_version=actor_version,
        )
        num_positions = config.selfplay.num_games * config.selfplay.num_plies
        state = dataclasses.replace(state, games=games)
        state = state.with_evaluations(num_positions * (config.search.num_simulations + 1))
        return state, trajectory, records

    def label(
        self, state: run_state.RunState, played: trajectories.Trajectory, records: dict[str, Any]
    ) -> tuple[run_state.RunState, list[replay.NewRows], statistics.SelfplayStatistics]:
        """Returns the rows of all games that have ended; other plies wait in the history."""
        trajectory, labels, history = targets.label(self.config.targets, state.history, played)
        rows = [replay.labelled_rows(trajectory, labels)]
        parts = dict(state.options)
        for option in self.options:
            name, record = option.name, records.get(option.name)
            if (more := option.rows(played, record)) is not None:
                rows.append(more)
            if name in parts:
                parts[name] = option.next_state(parts[name], played, record, self.total)
        sums = self.total(statistics.gather(played, records["search"], trajectory, labels))
        state = dataclasses.replace(
            state,
            history=history,
            options=parts,
            num_games=state.num_games + sums.num_games.astype(jnp.int32),
        )
        return state, rows, sums

    def insert(
        self, state: run_state.RunState, rows: list[replay.NewRows]
    ) -> tuple[run_state.RunState, jax.Array]:
        """Inserts rows into the replay; returns their number on this device too, [] int32."""
        buffer = replay.begin_iteration(state.replay, self.config.replay)
        for new_rows in rows:
            buffer = replay.insert(buffer, new_rows)
        num_new = sum((new_rows.is_valid.sum(dtype=jnp.int32) for new_rows in rows), jnp.int32(0))
        return dataclasses.replace(state, replay=buffer), num_new

    def inspect(
        self, key: jax.Array, state: run_state.RunState, num_new: jax.Array
    ) -> dict[str, jax.Array]:
        """Returns metrics of the newest examples, and of a batch as it would be drawn now."""
        buffer = state.replay
        row_key = jax.random.fold_in(key, 0)
        newest = jax.random.randint(row_key, (self.num_examples,), 0, jnp.maximum(num_new, 1))
        row = (buffer.next_row[0] - 1 - newest) % buffer.value.shape[0]
        variables = state.variables()
        _, (new_losses, _) = learner.loss(
            self.game,
            network.build(self.game, self.config.network),
            variables["params"],
            variables["batch_stats"],
            row_key,  # for augmentation
            replay.take(buffer, row),
            config=self.config.learner.model_copy(update={"augment": False}),
            score_share=self.config.search.score_share,
        )
        new_losses = jax.tree.map(lambda x: jnp.where(num_new > 0, x, jnp.nan), new_losses)

        draw = replay.sampler(self.config.replay)
        row = draw(buffer, row_key, self.num_examples, self.config.replay.window)
        age = (state.iteration - buffer.iteration[row]).astype(jnp.float32).mean()
        unique_share = (replay.groups(buffer.board[row]).max() + 1) / self.num_examples
        means = self.over_devices(jax.lax.pmean, (new_losses, age, unique_share))
        new_losses, age, unique_share = means
        return {
            # Before any step on them; NaN if there are none.
            "learner/new_policy_loss": new_losses.policy,
            "learner/new_value_loss": new_losses.value,
            "replay/age": age,
            "replay/unique_share": unique_share,
        }

    def learn(
        self, key: jax.Array, state: run_state.RunState, progress: jax.Array
    ) -> tuple[run_state.RunState, learner.Losses]:
        """Takes the steps of an iteration, if the window has enough positions."""
        game, config, window = self.game, self.config, self.config.replay.window

        def take_steps(train_state: learner.TrainState) -> Any:
            buffer, draw = state.replay, replay.sampler(config.replay)
            for option in self.options:
                buffer = option.before_learning(buffer)

            def sample(key: jax.Array) -> replay.Examples:
                return replay.take(buffer, draw(buffer, key, self.num_examples, window))

            model = network.build(game, config.network)
            is_global = config.learner.batch_statistics == "global"
            return learner.learn(
                game,
                model.clone(is_training=True, axis_name=self.axis_name if is_global else None),
                learner.make_optimiser(config.learner, config.network, progress),
                key,
                train_state,
                sample,
                config=config.learner,
                score_share=config.search.score_share,
                axis_name=self.axis_name,
                extra_losses=self.extra_losses,
            )

        def wait(train_state: learner.TrainState) -> Any:
            return train_state, learner.unknown_losses(self.extra_losses)

        in_window = replay.num_in_window(state.replay, window)[0]
        # All devices must agree, since gradients are averaged over them.
        fewest = self.over_devices(jax.lax.pmin, in_window)
        can_learn = (fewest > 0) & (self.total(in_window) >= config.replay.min_positions)
        train_state, losses = jax.lax.cond(can_learn, take_steps, wait, state.learner)
        return dataclasses.replace(state, learner=train_state), losses

    def check_finite(
        self,
        state: run_state.RunState,
        losses: learner.Losses,
        has_learned: jax.Array,
        sums: statistics.SelfplayStatistics | None,
    ) -> dict[str, jax.Array]:
        """Returns which numbers are finite on all devices, each [] bool."""
        here = statistics.check_finite(state.learner, losses, has_learned)
        finite = jax.tree.map(lambda x: self.total((~x).astype(jnp.int32)) == 0, here)
        searched = jnp.bool_(True) if sums is None else sums.not_finite == 0
        return finite | {"search values": searched}

    def describe(
        self, state: run_state.RunState, progress: jax.Array, losses: learner.Losses
    ) -> dict[str, jax.Array]:
        """Returns metrics of the learner, and those of options."""
        config = self.config.learner
        factor = learner.rate_factor(config, state.learner.num_steps, progress)
        metrics = {
            # Means over the steps; NaN if nothing is learned.
            "learner/policy_loss": losses.policy,
            "learner/value_loss": losses.value,
            "learner/score_loss": losses.score,
            "learner/target_entropy": losses.policy_entropy,
            "learner/entropy": losses.entropy,
            "learner/gradient_norm": losses.gradient_norm,
            "learner/learning_rate": config.learning_rate * factor,
        }
        metrics |= {f"learner/{name}_loss": x for name, x in losses.extra.items()}
        for option in self.options:
            metrics |= option.metrics(state.options.get(option.name))
        return metrics

    def total(self, x: Any) -> Any:
        """Returns the sum over all devices."""
        return self.over_devices(jax.lax.psum, x)

    def over_devices(self, reduce: Callable[[Any, str], Any], x: Any) -> Any:
        """Returns a sum, mean or minimum over all devices; of one device, its own value."""
        return x if self.axis_name is None else reduce(x, self.axis_name)

    @functools.cached_property
    def options(self) -> interface.Options:
        """Options that the settings switch on."""
        return registry.active(self.game, self.config)

    @functools.cached_property
    def extra_losses(self) -> dict[str, learner.ExtraLoss]:
        """Terms that options add to the loss, by the names of the options."""
        have = [x for x in self.options if type(x).loss is not interface.Option.loss]
        return {option.name: option.loss for option in have}

    @functools.cached_property
    def source(self) -> interface.ExampleSource | None:
        """What gives examples in place of self-play, if anything does."""
        return registry.source(self.game, self.config)

    @property
    def axis_name(self) -> str | None:
        """Axis of the mesh over which devices agree; None for one device, which sends nothing."""
        return run_state.AXIS if self.num_devices > 1 else None

    @property
    def num_examples(self) -> int:
        """Examples of a batch on this device."""
        return self.config.learner.batch_size // self.num_devices
