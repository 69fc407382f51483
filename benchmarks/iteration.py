"""How long does a whole iteration take, and its parts?

    python -m benchmarks.iteration --config configs/azo8.toml

The compiled iteration runs as in training, on the number of devices in its settings (on a CPU each
has a core). It is timed twice: with a replay full of copies of the start position, so that it
learns, and with an empty replay, so that it does not. The difference is the time of learning. The
network alone is timed as well: it evaluates the games of all devices once for each simulation and
each root.
"""

import dataclasses
import functools
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from azo.games import protocol, registry
from azo.learning import iteration, replay, run_state, sharding
from azo.networks import network
from azo.training import config, devices
from benchmarks import inputs, measure


class IterationBenchConfig(measure.Settings):
    """How long does a whole iteration take, and its parts?"""

    config: pathlib.Path = config.DEFAULT_CONFIG
    """Settings of the run, a TOML file."""

    @property
    def num_cores(self) -> int:
        """Number of devices of the run."""
        return config.load_file(self.config).run.num_devices or 1


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.iteration", IterationBenchConfig, report, argv)


def report(bench: IterationBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    settings = config.load_file(bench.config)
    mesh = sharding.make_mesh(devices.prepare(settings))
    game = registry.make(settings.game)
    programs = _programs(settings, game, mesh, bench.seed)
    timings = measure.take_turns(
        {name: program.call for name, program in programs.items()}, bench.repeats
    )
    num_games = int(programs["playing"].call()[1].selfplay.num_games)
    return [
        f"{game.name}, settings of {bench.config.name}, devices: {mesh.size}, {bench.repeats}"
        " repetitions: median (smallest to largest). Compiled in"
        f" {programs['whole'].compile_seconds:.0f} s.",
        "",
        measure.markdown_table(
            ("part", "seconds", "share of the whole", "speed"),
            _rows(settings, mesh, timings, num_games),
        ),
        "",
    ]


def _rows(
    settings: config.Config, mesh: Mesh, timings: dict[str, measure.Timing], num_games: int
) -> list[tuple[str, ...]]:
    whole, playing = timings["whole"].seconds, timings["playing"].seconds
    search, learner = settings.search, settings.learner
    num_plies = settings.selfplay.num_games * settings.selfplay.num_plies
    evaluations = settings.selfplay.num_plies * (search.num_simulations + 1)
    repeated = evaluations / _times_alone(settings, mesh)

    def row(name: str, seconds: Sequence[float], *items: tuple[float, str]) -> tuple[str, ...]:
        share = measure.speedup(whole, seconds)  # of the whole
        speeds = [f"{measure.rate(seconds, count)} {unit}" for count, unit in items]
        return name, str(measure.summary(seconds)), str(share), "; ".join(speeds)

    is_noisy = any(timing.is_noisy for timing in timings.values())
    return [
        row(
            f"whole iteration{' NOISY' if is_noisy else ''}",
            whole,
            (num_plies * search.num_simulations, "simulations/s"),
            (3600 * num_games, "games per hour"),
        ),
        row(
            "self-play and replay",
            playing,
            (num_plies * search.num_simulations, "simulations/s"),
            (3600 * num_games, "games per hour"),
        ),
        row(
            "only the network, within self-play",
            [repeated * seconds for seconds in timings["network"].seconds],
        ),
        row(
            "learning, the difference",
            measure.less(whole, playing),
            (learner.num_steps, "steps/s"),
            (learner.num_steps * learner.batch_size, "examples/s"),
        ),
    ]


def _programs(
    settings: config.Config, game: protocol.Game, mesh: Mesh, seed: int
) -> dict[str, measure.Program]:
    """Returns the programs to time."""
    capacity = settings.replay.capacity
    # Learning then begins exactly when the ring is full.
    replay_config = settings.replay.model_copy(update={"min_positions": capacity})
    recipe = settings.model_copy(update={"replay": replay_config})
    empty = sharding.begin(game, recipe, mesh, seed=seed)

    def filled(state: run_state.RunState) -> run_state.RunState:
        full = _full_of_starts(game, state.replay, capacity // mesh.size)
        return dataclasses.replace(jax.tree.map(jnp.copy, state), replay=full)

    where = sharding.shardings(recipe, mesh)
    full = jax.jit(filled, out_shardings=where)(empty)
    iterate = iteration.build(game, recipe, mesh)
    copied = jax.jit(lambda state: jax.tree.map(jnp.copy, state), out_shardings=where)
    progress = np.float32(0)
    whole = measure.compile_program(iterate, full, progress)
    # The iteration donates its state, so it is given a copy.
    whole = dataclasses.replace(
        whole, run=functools.partial(_run_copied, whole.run, copied, progress), inputs=(full,)
    )

    model = network.build(game, settings.network)
    folded, variables = network.fold(model, empty.variables())
    key = jax.random.key(seed)

    def evaluate(variables: network.Variables, position: protocol.Position) -> jax.Array:
        see = network.evaluator(game, folded, variables, symmetry=settings.search.symmetry)
        return inputs.evaluate_repeatedly(see, key, position, _times_alone(settings, mesh))

    everywhere, games = PartitionSpec(), PartitionSpec(run_state.AXIS)
    sharded = jax.shard_map(
        evaluate, mesh=mesh, in_specs=(everywhere, games), out_specs=games, check_vma=False
    )
    return {
        "whole": whole,
        "playing": dataclasses.replace(whole, inputs=(empty,)),
        "network": measure.compile_program(sharded, variables, empty.games.position),
    }


def _run_copied(
    run: Callable[..., Any],
    copied: Callable[[run_state.RunState], run_state.RunState],
    progress: np.float32,
    state: run_state.RunState,
) -> Any:
    return run(copied(state), progress)


def _times_alone(settings: config.Config, mesh: Mesh) -> int:
    return inputs.num_repeats(settings.selfplay.num_games // mesh.size)


def _full_of_starts(
    game: protocol.Game, ring: replay.ReplayBuffer, capacity: int
) -> replay.ReplayBuffer:
    """Returns the ring with the start position in every row."""
    return dataclasses.replace(
        ring,
        board=jnp.broadcast_to(game.pack(game.start(1)), ring.board.shape),
        policy=jnp.full_like(ring.policy, 255),
        size=jnp.full_like(ring.size, capacity),
        window_starts=jnp.full_like(ring.window_starts, capacity),
    )


if __name__ == "__main__":
    sys.exit(main())
