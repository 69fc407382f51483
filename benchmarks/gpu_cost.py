"""What should a search and a learning step cost on one H100 or H200, and how many games fit?

    python -m benchmarks.gpu_cost

Nothing runs on a GPU. Programs are lowered for CUDA, and `lowered` counts their kernels, bytes and
operations from the shapes. Assumptions:

* A kernel takes the longest of: its bytes at the published bandwidth, its products at the published
  peak, and `launch_microseconds`. Caches and overlapping kernels do not count.
* Element-wise operations run at the rate of 32-bit integers, half that of float32.
* The host needs `condition_microseconds` to read the condition of a branch, or of a loop that
  depends on data. On the way down a tree, the batch waits for its longest path in each simulation.
  These lengths are those of searches with random evaluations, run here. Proofs pass up as far.
* Memory: arguments and live arrays of the iteration, without fragmentation and workspaces.

So expected times are lower bounds of the program as written, except for the caches.
"""

import collections
import dataclasses
import functools
import math
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import othello
from azo.learning import learner, loop, network, placement, replay, run_state, starts
from azo.run import checks, shipped_files
from azo.run import config as run_config
from azo.search import improvement
from benchmarks import command, lowered, measure, memory, networks, positions, roofline, search

GAME = othello.Othello(8)
NetworkName = networks.Name  # a field below hides the module
PARTS = ("evaluation", "descent", "rules", "proofs")  # scopes of a search
OTHER = "other"  # the root, storing of nodes, and backing up
SELF_PLAY_GAMES = (2**16, 2**17)  # self-play needs more memory than learning


@dataclasses.dataclass(frozen=True)
class Device:
    """Published figures of a GPU."""

    name: str
    peaks: roofline.Peaks  # of dense bfloat16 products
    memory_bytes: float

    def flops_per_second(self, dtype: str) -> float:
        """Returns the peak of products of a type: TF32 has half of bfloat16, float32 67e12."""
        return {"bf16": 1, "f16": 1, "tf32": 1 / 2}.get(dtype, 67 / 990) * (
            self.peaks.flops_per_second
        )

    @property
    def vector_operations_per_second(self) -> float:
        """Returns the rate of 32-bit integer operations.

        The peak of float32 counts a multiplication and an addition in one instruction as two, and
        integers take twice as long.
        """
        return self.flops_per_second("f32") / 4


DEVICES = (
    Device("H200", roofline.Peaks("bfloat16", 990e12, 4.8e12), 141e9),
    Device("H100", roofline.Peaks("bfloat16", 990e12, 3.35e12), 80e9),
)


class GpuCostConfig(command.Settings):
    """What should a search and a learning step cost on a GPU, and how many games fit?"""

    networks: tuple[NetworkName, ...] = ("5x128", "patterns:16")
    """Blocks and channels of a tower, or features of a pattern network."""
    batches: tuple[pydantic.PositiveInt, ...] = (512, 2048, 8192, 16384)
    """Games side by side."""
    simulations: pydantic.PositiveInt = 64
    """Simulations a move."""
    config: str = "azo8-gpu"
    """Settings file of an 8x8 run, for learning and memory; the network is replaced."""
    launch_microseconds: pydantic.NonNegativeFloat = 2.0
    """Least time between two kernels. Assumed, not measured."""
    condition_microseconds: pydantic.NonNegativeFloat = 10.0
    """Time in which the host reads a condition, and the GPU waits. Assumed, not measured."""
    usable_share: float = pydantic.Field(0.75, gt=0, le=1)
    """Share of the memory that JAX takes, by default three quarters."""
    with_memory: bool = True
    """Count the largest batch that fits; takes a minute for each network."""


@dataclasses.dataclass(frozen=True)
class Cost:
    """Expected seconds of one run of a program on a device."""

    by_part: dict[str, float]
    by_limit: dict[str, float]  # launches, conditions, memory, products, or integers

    @property
    def seconds(self) -> float:
        """All parts together."""
        return sum(self.by_part.values())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.gpu_cost", GpuCostConfig, report, argv)


def report(config: GpuCostConfig) -> list[str]:
    """Returns the lines of markdown."""
    passes = longest_paths(config)
    lines = [
        f"Expected, not measured: searches of {config.simulations} simulations on 8x8, in"
        f" microseconds a simulation and game. A kernel takes at least"
        f" {config.launch_microseconds:g} us and a condition {config.condition_microseconds:g} us."
        " Passes of the loop down a tree, by games: "
        + ", ".join(f"{batch}: {number:.1f}" for batch, number in passes.items())
        + ".",
        "",
    ]
    rows = []
    for name in config.networks:
        for batch in config.batches:
            program = search_program(config, name, batch, passes[batch])
            rows += [
                _search_row(config, f"{device.name}, {name}, {batch}", batch, program, device)
                for device in DEVICES
            ]
    columns = ("device, network, games", *PARTS, OTHER, "all", "simulations/s", "largest limit")
    lines += [measure.markdown_table(columns, sorted(rows, key=lambda row: row[0][:4])), ""]
    lines += _network_lines(config)
    lines += _learning_lines(config)
    return lines + (_memory_lines(config) if config.with_memory else [])


def longest_paths(config: GpuCostConfig) -> dict[int, float]:
    """Returns the mean over simulations of the longest path of a batch, in moves below the root."""
    settings = improvement.SearchConfig(num_simulations=config.simulations)
    begin = functools.partial(
        jax.jit(starts.spread_games, static_argnums=(0, 2)), GAME, jax.random.key(config.seed)
    )
    games = positions.spread(begin, 64, max(config.batches), None)

    def parents(key: jax.Array, position: othello.Position) -> jax.Array:
        evaluate = functools.partial(search.hashed_evaluation, GAME)
        return improvement.search(GAME, evaluate, key, position, config=settings).tree.parent

    parent = np.asarray(jax.jit(parents)(jax.random.key(config.seed), games.position))
    depth = np.zeros(parent.shape, int)
    row = np.arange(len(parent))
    for node in range(1, parent.shape[1]):
        is_used = parent[:, node] >= 0
        depth[:, node] = np.where(is_used, depth[row, parent[:, node]] + 1, 0)
    below_root = np.maximum(depth[:, 1:] - 1, 0)
    return {batch: float(below_root[:batch].max(axis=0).mean()) for batch in config.batches}


def search_program(
    config: GpuCostConfig, name: str, batch: int, path_length: float
) -> lowered.Program:
    """Returns the search of a batch of games with a network, as lowered for CUDA."""
    settings = networks.network_settings(name)
    search_config = improvement.SearchConfig(num_simulations=config.simulations)

    def run(variables: network.Variables, key: jax.Array, position: othello.Position) -> Any:
        evaluate = network.folded_evaluator(GAME, settings, variables)
        result = improvement.search(GAME, evaluate, key, position, config=search_config)
        return result.action, result.policy, result.value

    position = jax.eval_shape(functools.partial(GAME.start, batch))
    module = lowered.lower(run, _variables(settings), _key(), position)
    return lowered.read(module, {"descent": path_length, "proofs": path_length})


def cost(config: GpuCostConfig, program: lowered.Program, device: Device) -> Cost:
    """Returns the expected cost of a program."""
    by_part: collections.Counter[str] = collections.Counter()
    by_limit: collections.Counter[str] = collections.Counter()
    for kernel in program.kernels:
        if kernel.kind == "condition":
            limits = {"conditions": config.condition_microseconds / 1e6}
        else:
            limits = {
                "launches": config.launch_microseconds / 1e6,
                "memory": kernel.num_bytes / device.peaks.bytes_per_second,
                "products": kernel.flops / device.flops_per_second(kernel.dtype),
            }
        limit = max(limits, key=lambda name: limits[name])
        by_part[part(kernel.scope)] += kernel.calls * limits[limit]
        by_limit[limit] += kernel.calls * limits[limit]
    vector: collections.Counter[str] = collections.Counter()
    for scope, number in program.vector_operations.items():
        vector[part(scope)] += number / device.vector_operations_per_second
    for name, seconds in vector.items():
        more = max(seconds - by_part[name], 0.0)
        by_part[name] += more
        by_limit["integers"] += more
    return Cost(dict(by_part), dict(by_limit))


def work(program: lowered.Program, name: str) -> roofline.Work:
    """Returns the operations of products and the bytes of one part in one run."""
    kernels = [kernel for kernel in program.kernels if part(kernel.scope) == name]
    return roofline.Work(
        flops=sum(kernel.calls * kernel.flops for kernel in kernels),
        num_bytes=sum(kernel.calls * kernel.num_bytes for kernel in kernels),
    )


def part(scope: str) -> str:
    """Returns the part of a search to which a scope belongs."""
    return next((name for name in reversed(scope.split("/")) if name in PARTS), OTHER)


def _key() -> Any:
    return jax.eval_shape(lambda: jax.random.key(0))


def _variables(settings: network.NetworkConfig) -> Any:
    return jax.eval_shape(functools.partial(network.init, GAME, settings), _key())


def _search_row(
    config: GpuCostConfig, title: str, batch: int, program: lowered.Program, device: Device
) -> tuple[str, ...]:
    expected = cost(config, program, device)
    num = batch * config.simulations
    parts = [measure.short(1e6 * expected.by_part.get(one, 0.0) / num) for one in (*PARTS, OTHER)]
    return (
        title,
        *parts,
        measure.short(1e6 * expected.seconds / num),
        measure.short(num / expected.seconds),
        _largest(expected),
    )


def _largest(expected: Cost) -> str:
    """Returns the limit on which most of the time depends, with its share."""
    limit = max(expected.by_limit, key=lambda name: expected.by_limit[name])
    return f"{limit} {expected.by_limit[limit] / expected.seconds:.0%}"


def _network_lines(config: GpuCostConfig) -> list[str]:
    """Returns what an evaluation needs, and how far its two limits are apart."""
    batch = max(config.batches)
    rows = []
    for name in config.networks:
        settings = networks.network_settings(name)

        def run(variables: network.Variables, key: jax.Array, position: Any, settings=settings):
            with jax.named_scope("evaluation"):
                return network.folded_evaluator(GAME, settings, variables)(key, position)

        position = jax.eval_shape(functools.partial(GAME.start, batch))
        program = lowered.read(lowered.lower(run, _variables(settings), _key(), position))
        needs = work(program, "evaluation")
        for device in DEVICES:
            seconds = (
                needs.flops / device.peaks.flops_per_second,
                needs.num_bytes / device.peaks.bytes_per_second,
            )
            rows.append(
                (
                    f"{device.name}, {name}",
                    measure.short(needs.flops / batch / 1e6),
                    measure.short(needs.num_bytes / batch / 1e3),
                    *(measure.short(1e6 * one / batch) for one in seconds),
                    measure.short(1e6 * cost(config, program, device).seconds / batch),
                )
            )
    columns = (
        "an evaluation", "MFLOP", "KB", "us by products", "us by memory", "us, kernel by kernel",
    )  # fmt: skip
    return [f"{batch} positions at a time:", "", measure.markdown_table(columns, rows), ""]


def _recipe(config: GpuCostConfig, name: str) -> run_config.Config:
    recipe = run_config.load_file(shipped_files.CONFIGS / f"{config.config}.toml")
    return recipe.model_copy(update={"network": networks.network_settings(name)})


def _learning_lines(config: GpuCostConfig) -> list[str]:
    rows = []
    for name in config.networks:
        recipe = _recipe(config, name)
        program = learning_program(recipe)
        for device in DEVICES:
            expected = cost(config, program, device)
            rows.append(
                (
                    f"{device.name}, {name}, {recipe.learner.batch_size}",
                    measure.short(work(program, OTHER).flops / 1e9),
                    measure.short(1e3 * expected.seconds),
                    _largest(expected),
                )
            )
    columns = ("a learning step: device, network, examples", "GFLOP", "ms", "largest limit")
    return [measure.markdown_table(columns, rows), ""]


def learning_program(recipe: run_config.Config) -> lowered.Program:
    """Returns one learning step, from examples to new parameters, as lowered for CUDA."""
    settings = recipe.learner.model_copy(update={"num_steps": 1})
    batch, optimiser = settings.batch_size, learner.make_optimiser(settings, recipe.network)
    model = network.build(GAME, recipe.network).clone(is_training=True)

    def learn(state: learner.TrainState, key: jax.Array, examples: replay.Examples) -> Any:
        return learner.learn(
            GAME, model, optimiser, key, state, lambda _: examples, config=settings
        )

    examples = replay.Examples(
        board=jax.ShapeDtypeStruct((batch, GAME.packed_words), jnp.uint32),
        policy=jax.ShapeDtypeStruct((batch, GAME.num_actions), jnp.float32),
        value=jax.ShapeDtypeStruct((batch,), jnp.float32),
        score=jax.ShapeDtypeStruct((batch,), jnp.int8),
    )
    variables = _variables(recipe.network)
    state = jax.eval_shape(lambda first: learner.init(optimiser, first, settings), variables)
    return lowered.read(lowered.lower(learn, state, _key(), examples))


def _memory_lines(config: GpuCostConfig) -> list[str]:
    rows = []
    for name in config.networks:
        peaks = [iteration_bytes(config, name, games) for games in SELF_PLAY_GAMES]
        by_game = (peaks[1] - peaks[0]) / (SELF_PLAY_GAMES[1] - SELF_PLAY_GAMES[0])
        fixed = peaks[0] - by_game * SELF_PLAY_GAMES[0]
        state = jax.eval_shape(_create(_recipe(config, name)))
        size = memory.num_bytes
        fits = [
            f"{math.floor((config.usable_share * device.memory_bytes - fixed) / by_game):,}"
            for device in reversed(DEVICES)
        ]
        rows.append(
            (
                name,
                f"{size(state.learner) / 1e6:,.1f}",
                measure.short(
                    memory.azo_bytes(GAME, config.simulations)[1] * (config.simulations + 1) / 1e3
                ),
                measure.short(by_game / 1e3),
                *fits,
            )
        )
    columns = (
        "memory", "MB parameters and optimiser", "KB a game, tree", "KB a game, all",
        *(f"games in {device.memory_bytes / 1e9:.0f} GB" for device in reversed(DEVICES)),
    )  # fmt: skip
    return [
        f"The iteration of `{config.config}` with {config.simulations} simulations, in"
        f" {config.usable_share:.0%} of the memory. The replay holds what an iteration can add.",
        "",
        measure.markdown_table(columns, rows),
        "",
    ]


def _create(recipe: run_config.Config) -> Any:
    return functools.partial(run_state.create, GAME, recipe, seed=0, num_devices=1)


def iteration_bytes(config: GpuCostConfig, name: str, games: int) -> float:
    """Returns the largest number of bytes in memory during an iteration of `games`."""
    recipe = _recipe(config, name)
    plays = recipe.selfplay.model_copy(update={"num_games": games})
    searches = recipe.search.model_copy(update={"num_simulations": config.simulations})
    recipe = recipe.model_copy(update={"selfplay": plays, "search": searches})
    capacity = max(recipe.replay.capacity, checks.most_played(recipe, GAME))
    ring = recipe.replay.model_copy(update={"capacity": capacity})
    recipe = recipe.model_copy(update={"replay": ring})
    iterate = loop.build(GAME, recipe, placement.make_mesh(1))
    progress = jax.ShapeDtypeStruct((), jnp.float32)
    return lowered.read(
        lowered.lower(iterate, jax.eval_shape(_create(recipe)), progress)
    ).peak_bytes


if __name__ == "__main__":
    sys.exit(main())
