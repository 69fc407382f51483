"""Which kernels take the time of a step of self-play, and what share has the network?

    python -m benchmarks.profiling --folder runs/profile

One call of self-play is traced by JAX's profiler. The trace stays in the folder, for TensorBoard or
Perfetto. Kernels are attributed to the parts of a search by the scopes in the compiled program. On
a GPU the kernels of a CUDA graph have no separate names:
`XLA_FLAGS=--xla_gpu_enable_command_buffer=` turns graphs off.
"""

import collections
import functools
import pathlib
import re
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import pydantic

from azo.games import othello
from azo.learning import initial_games, selfplay
from azo.networks import initial_variables, network
from azo.search import improvement
from benchmarks import inputs, measure, networks

PARTS = ("evaluation", "descent", "rules", "proofs")  # scopes of a search
OTHER = "other"  # the root, storing of nodes, and backing up
UNKNOWN = "without a name"  # copies, and kernels of CUDA graphs
_NOT_KERNELS = ("while", "conditional", "call")  # a CPU's trace has them besides their contents
_MAX_NAME = 60  # characters of a scope in the table


class ProfilingConfig(measure.Settings):
    """Which kernels take the time of a step of self-play?"""

    folder: pathlib.Path = pathlib.Path("runs/profile")
    """Folder for the trace."""
    network: networks.Name = "5x128"
    """Blocks and channels of a tower, or features of a pattern network."""
    batch: pydantic.PositiveInt = 2048
    """Games side by side."""
    simulations: pydantic.PositiveInt = 64
    """Simulations per move."""
    num_plies: pydantic.PositiveInt = 1
    """Plies of the traced call."""
    top: pydantic.PositiveInt = 20
    """Kernels in the table."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.profiling", ProfilingConfig, report, argv)


def report(config: ProfilingConfig) -> list[str]:
    """Traces self-play and returns the lines of markdown."""
    program = _program(config)
    jax.block_until_ready(program.call())
    with jax.profiler.trace(config.folder):
        start = time.perf_counter()
        jax.block_until_ready(program.call())
        seconds = time.perf_counter() - start
    scopes = scopes_of_operations(program.run.as_text())
    times: collections.Counter[str] = collections.Counter()
    calls: collections.Counter[str] = collections.Counter()
    for name, duration in kernel_times(config.folder):
        times[name] += duration
        calls[name] += 1
    total = sum(times.values())
    by_part: collections.Counter[str] = collections.Counter()
    for name, duration in times.items():
        by_part[part(scopes[name]) if name in scopes else UNKNOWN] += duration
    parts = [
        (name, measure.short(1e3 * one), f"{one / total:.1%}")
        for name, one in by_part.most_common()
    ]
    kernels = [
        (
            name,
            f"{one / total:.1%}",
            f"{calls[name]:,}",
            measure.short(1e6 * one / calls[name]),
            scopes.get(name, UNKNOWN)[-_MAX_NAME:],
        )
        for name, one in times.most_common(config.top)
    ]
    return [
        f"{config.network}, {config.batch} games, {config.simulations} simulations, plies:"
        f" {config.num_plies}. The call took {measure.short(1e3 * seconds)} ms, all kernels"
        f' {measure.short(1e3 * total)} ms. The part "{OTHER}" has the root,'
        " the storing of nodes and the backup.",
        "",
        measure.markdown_table(("part", "ms", "share"), parts),
        "",
        measure.markdown_table(("kernel", "share", "calls", "us per call", "scope"), kernels),
        "",
    ]


def _program(config: ProfilingConfig) -> measure.Program:
    """Returns compiled self-play, as in training."""
    game, settings = othello.Othello(8), networks.network_settings(config.network)
    search = improvement.SearchConfig(num_simulations=config.simulations)
    plies = selfplay.SelfplayConfig(num_games=config.batch, num_plies=config.num_plies)
    network_key, games_key, key = jax.random.split(jax.random.key(config.seed), 3)
    begin = functools.partial(
        jax.jit(initial_games.spread_games, static_argnums=(0, 2)), game, games_key
    )

    def play(variables: network.Variables, key: jax.Array, games: Any) -> Any:
        see = network.folded_evaluator(game, settings, variables)
        return selfplay.play(game, see, key, games, search=search, config=plies)

    variables = initial_variables.init(game, settings, network_key)
    games = inputs.spread(begin, 64, config.batch, None)
    return measure.compile_program(play, variables, key, games)


def part(scope: str) -> str:
    """Returns the part of a search to which a scope belongs."""
    return next((name for name in reversed(scope.split("/")) if name in PARTS), OTHER)


def scopes_of_operations(text: str) -> dict[str, str]:
    """Returns the scope of each operation of a compiled program, by name."""
    pattern = r'^\s*(?:ROOT )?%?([\w.\-]+) = .*metadata=\{[^}]*op_name="([^"]*)"'
    return dict(re.findall(pattern, text, re.MULTILINE))


def kernel_times(folder: pathlib.Path) -> Iterator[tuple[str, float]]:
    """Yields the operation and the seconds of each kernel in the latest trace of a folder."""
    path = max(folder.rglob("*.xplane.pb"), key=lambda path: path.stat().st_mtime)
    planes = list(jax.profiler.ProfileData.from_file(str(path)).planes)
    on_device = [plane for plane in planes if plane.name.startswith("/device:")]
    for plane in on_device or planes:
        for line in plane.lines:
            # Lines besides the streams repeat their events, grouped by module and by step.
            if on_device and not line.name.startswith("Stream"):
                continue
            for event in line.events:
                stats = dict(event.stats)
                name = str(stats.get("hlo_op", event.name))
                if on_device or ("hlo_op" in stats and name.split(".")[0] not in _NOT_KERNELS):
                    yield name, event.duration_ns / 1e9


if __name__ == "__main__":
    sys.exit(main())
