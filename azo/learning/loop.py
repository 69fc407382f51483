"""The compiled iteration: one program from state to state.

    play T plies of B games -> label finished games -> insert into the replay -> optimiser steps

Where a generation's games come before its learning, an iteration is one half of this.

It runs under `shard_map` over the mesh axis `data`, also with one device. Each device plays its own
games into its own ring, without waiting for other devices. Gradients, batch statistics of the
normalisation and metrics are averaged over devices.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

from azo.games import othello, protocol
from azo.learning import (
    endings,
    generations,
    learner,
    ply_records,
    replay,
    resignation,
    run_state,
    selfplay,
    statistics,
    targets,
)
from azo.networks import network
from azo.settings import setting_types


def build(
    game: protocol.Game,
    config: run_state.RecipeConfig,
    mesh: Mesh,
    *,
    kind: generations.IterationKind = "play_and_learn",
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
        # JAX may have been told to forget its programs, so a second trace alone is no mistake.
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
    kind: generations.IterationKind
    num_devices: int

    def __call__(
        self, state: run_state.RunState, progress: jax.Array
    ) -> tuple[run_state.RunState, statistics.Metrics]:
        key = jax.random.fold_in(state.key, state.iteration)
        key = jax.random.fold_in(key, jax.lax.axis_index(run_state.AXIS))
        play_key, learn_key = jax.random.split(key)
        rows, sums, turns, losses = [], None, None, learner.unknown_losses()
        num_steps = state.learner.num_steps
        if self.kind != "learn":
            if self.config.endings.num_positions:
                rows = [self.solve(play_key, state)]
            else:
                state, turns = self.play(play_key, state)
                state, rows, sums = self.label(play_key, state, turns)
            buffer = state.replay
            if self.config.replay.window_iterations:
                buffer = replay.begin_window(buffer)
            for new_rows in rows:
                buffer = replay.insert(buffer, new_rows)
            state = dataclasses.replace(state, replay=buffer)
        new_losses, age, unique_share = self.inspect(learn_key, state, rows)
        if self.kind != "play":
            state, losses = self.learn(learn_key, state, progress)

        threshold, share = self.threshold(state)
        config = self.config.learner
        factor = learner.rate_factor(config, state.learner.num_steps, progress)
        has_learned = state.learner.num_steps > num_steps
        finite = statistics.check_finite(state.learner, losses, has_learned, turns)
        metrics = statistics.Metrics(
            # Whether all devices agree.
            finite=jax.tree.map(lambda x: self.total((~x).astype(jnp.int32)) == 0, finite),
            selfplay=sums,
            replay_size=self.total(state.replay.size[0]),
            others={
                # Means over the steps; NaN if nothing is learned.
                "learner/policy_loss": losses.policy,
                "learner/value_loss": losses.value,
                "learner/score_loss": losses.score,
                "learner/target_entropy": losses.policy_entropy,
                "learner/entropy": losses.entropy,
                "learner/gradient_norm": losses.gradient_norm,
                # Of new examples, before any step on them; NaN if there are none.
                "learner/new_policy_loss": new_losses.policy,
                "learner/new_value_loss": new_losses.value,
                "learner/learning_rate": config.learning_rate * factor,
                "replay/age": age,
                "replay/unique_share": unique_share,
                "resignation/threshold": threshold,
                "resignation/false_positive_share": share,
            },
        )
        return dataclasses.replace(state, iteration=state.iteration + 1), metrics

    def play(
        self, key: jax.Array, state: run_state.RunState
    ) -> tuple[run_state.RunState, ply_records.Turns]:
        """Plays the plies of an iteration with the actor's network."""
        game, config, played = self.game, self.config, self.config.selfplay
        variables, actor_version = state.variables(), state.iteration
        if state.actor_params is not None:
            variables, actor_version = state.actor_params, state.actor_version
        games, turns = selfplay.play(
            game,
            network.folded_evaluator(game, self.actor, variables, symmetry=config.search.symmetry),
            key,
            state.games,
            self.threshold(state)[0],
            search=config.search,
            config=played,
            resigning=config.resignation,
            adjudicate_empties=config.endings.adjudicate_empties,
            iteration=state.iteration,
            actor_version=actor_version,
        )
        state = dataclasses.replace(state, games=games)
        num_positions = played.num_games * played.num_plies
        return state.with_evaluations(num_positions * (config.search.num_simulations + 1)), turns

    def label(
        self, key: jax.Array, state: run_state.RunState, turns: ply_records.Turns
    ) -> tuple[run_state.RunState, list[replay.NewRows], statistics.SelfplayStatistics]:
        """Returns the rows of all games that have ended; other plies wait in the history."""
        game, config, share = self.game, self.config, self.config.search.score_share
        counts, lines = state.resignation_counts, None
        if turns.is_adjudicated is not None:
            turns, lines = selfplay.score_adjudicated(
                game,
                jax.random.fold_in(key, config.selfplay.num_plies),
                turns,
                max_empties=config.endings.adjudicate_empties,
                score_share=share,
            )
        plies = turns.plies
        if turns.resignation is not None:
            new = resignation.count(turns.resignation, plies.ply, plies.reward, plies.discount)
            assert counts is not None
            counts = resignation.update_counts(counts, self.total(new))

        finalised, history = ply_records.finalise(state.history, plies)
        window = finalised.plies
        value = targets.value_targets(
            config.targets, window.reward, window.discount, window.value.astype(jnp.float32)
        )
        rows = [replay.played_rows(finalised, value)]
        origin = plies.iteration[0, 0], plies.actor_version[0, 0]
        if turns.explored is not None:
            rows.append(replay.explored_rows(turns.explored, *origin))
        if lines is not None:
            rows.append(replay.exact_rows(game, lines, *origin, score_share=share))

        sums = self.total(statistics.gather(game, turns, finalised))
        state = dataclasses.replace(
            state,
            history=history,
            resignation_counts=counts,
            num_games=state.num_games + sums.num_games.astype(jnp.int32),
        )
        return state, rows, sums

    def solve(self, key: jax.Array, state: run_state.RunState) -> replay.NewRows:
        """Returns the rows of random endings, solved exactly."""
        game, config, share = self.game, self.config.endings, self.config.search.score_share
        assert isinstance(game, othello.Othello), game.name
        ending_key, solve_key = jax.random.split(key)
        num_endings = config.num_positions // self.num_devices
        position, is_valid = endings.random_endings(game, ending_key, num_endings, config)
        lines = endings.solve(game, solve_key, position, is_valid, max_empties=config.max_empties)
        origin = state.iteration, state.iteration
        return replay.exact_rows(game, lines, *origin, score_share=share)

    def inspect(
        self, key: jax.Array, state: run_state.RunState, rows: list[replay.NewRows]
    ) -> tuple[learner.Losses, jax.Array, jax.Array]:
        """Returns the losses of new examples, and age and share of distinct ones in a batch."""
        buffer = state.replay
        row_key = jax.random.fold_in(key, 0)
        num_added = sum((some.is_valid.sum(dtype=jnp.int32) for some in rows), jnp.int32(0))
        newest = jax.random.randint(row_key, (self.num_examples,), 0, jnp.maximum(num_added, 1))
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
        new_losses = jax.tree.map(lambda x: jnp.where(num_added > 0, x, jnp.nan), new_losses)

        row = replay.draw(buffer, row_key, self.num_examples, self.config.replay.window)
        age = (state.iteration - buffer.iteration[row]).astype(jnp.float32).mean()
        unique_share = (replay.duplicates(buffer.board[row]).max() + 1) / self.num_examples
        return self.over_devices(jax.lax.pmean, (new_losses, age, unique_share))

    def learn(
        self, key: jax.Array, state: run_state.RunState, progress: jax.Array
    ) -> tuple[run_state.RunState, learner.Losses]:
        """Takes the steps of an iteration, if the window has enough positions."""
        game, config, window = self.game, self.config, self.config.replay.window

        def take_steps(train_state: learner.TrainState) -> Any:
            buffer = replay.averaged(state.replay, config.targets)

            def sample(key: jax.Array) -> replay.Examples:
                return replay.take(buffer, replay.draw(buffer, key, self.num_examples, window))

            model = network.build(game, config.network)
            return learner.learn(
                game,
                model.clone(is_training=True, axis_name=self.axis_name),
                learner.make_optimiser(config.learner, config.network, progress),
                key,
                train_state,
                sample,
                config=config.learner,
                score_share=config.search.score_share,
                axis_name=self.axis_name,
            )

        def wait(train_state: learner.TrainState) -> Any:
            return train_state, learner.unknown_losses()

        in_window = replay.num_in_window(state.replay, window)[0]
        # All devices must agree, since gradients are averaged over them.
        fewest = self.over_devices(jax.lax.pmin, in_window)
        can_learn = (fewest > 0) & (self.total(in_window) >= config.replay.min_positions)
        train_state, losses = jax.lax.cond(can_learn, take_steps, wait, state.learner)
        return dataclasses.replace(state, learner=train_state), losses

    def threshold(self, state: run_state.RunState) -> tuple[jax.Array | None, jax.Array | None]:
        """Returns the threshold of resignation and its share of false positives, if any."""
        if state.resignation_counts is None:
            return None, None
        return resignation.threshold(state.resignation_counts, self.config.resignation)

    def total(self, x: Any) -> Any:
        """Returns the sum over all devices."""
        return self.over_devices(jax.lax.psum, x)

    def over_devices(self, reduce: Callable[[Any, str], Any], x: Any) -> Any:
        """Returns a sum, mean or minimum over all devices; of one device, its own value."""
        return x if self.axis_name is None else reduce(x, self.axis_name)

    @property
    def axis_name(self) -> str | None:
        """Axis of the mesh over which devices agree; None for one device, which sends nothing."""
        return run_state.AXIS if self.num_devices > 1 else None

    @property
    def num_examples(self) -> int:
        """Examples of a batch on this device."""
        return self.config.learner.batch_size // self.num_devices
