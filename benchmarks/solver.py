"""How many positions and nodes per second do the solvers process?

    python -m benchmarks.solver --empties 6 8 10 12 --batch 4096

Positions are from games of random moves that have just reached a number of empty squares and are
not over. Each device has its own share and its own lanes; on the CPU a device is a core. A node of
the batched solver is a position that the search enters or whose value it takes. Positions for move
ordering and the last disc of a board do not count. The host solver solves some of the same
positions one by one, on one core; its nodes are the positions it visits.
"""

import functools
import sys
from collections.abc import Sequence

import jax
import numpy as np
import pydantic
from jax.sharding import NamedSharding, PartitionSpec

from azo.games import bitboard, othello
from azo.learning.options import endings
from azo.solver.device import batched
from azo.solver.host import endgame
from benchmarks import measure


class SolverBenchConfig(measure.Settings):
    """How many positions and nodes per second do the solvers process?"""

    empties: tuple[pydantic.PositiveInt, ...] = (6, 8, 10, 12)
    """Numbers of empty squares, one row each."""
    batch: pydantic.PositiveInt = 4096
    """Positions of one call, over all devices."""
    num_lanes: pydantic.PositiveInt = 256
    """Searches side by side, on each device."""
    num_devices: pydantic.PositiveInt = 2
    """Devices that share the batch; on the CPU as many cores."""
    host_empties: tuple[pydantic.PositiveInt, ...] = (10,)
    """Numbers of empty squares of the rows for the host solver."""
    host_batch: pydantic.PositiveInt = 256
    """Positions of these rows."""
    size: int = pydantic.Field(default=8, ge=4, le=8)
    """Rows and columns of the board."""
    is_reversed: bool = False
    """Reversed Othello."""
    limit_seconds: pydantic.PositiveFloat = 300.0
    """Rows that would take longer in all repetitions are left out."""

    @property
    def num_cores(self) -> int:
        """Number of cores, and of CPU devices."""
        return self.num_devices


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.solver", SolverBenchConfig, report, argv)


def report(config: SolverBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    rows = [_row(config, empties) for empties in config.empties]
    rows += [_host_row(config, empties) for empties in config.host_empties]
    columns = (
        "empties",
        "positions/s",
        "million nodes/s",
        "the same by processor time, one core",
        "nodes per position, mean",
        "largest",
        "unsolved",
        "compile seconds",
        "share of a core",
    )
    return [
        f"{config.batch} positions over {len(_devices(config))} devices, {config.num_lanes} lanes"
        f" each, {config.repeats} repetitions: median (smallest to largest).",
        "",
        measure.markdown_table(columns, rows),
        "",
    ]


def positions(game: othello.Othello, num_empties: int, batch: int, seed: int) -> othello.Position:
    """Returns positions `[batch]` of unfinished random games with `num_empties` empty squares."""

    @jax.jit
    def play(key: jax.Array) -> tuple[othello.Position, jax.Array]:
        bounds = endings.EndingsConfig.model_construct(  # also more than a run may solve
            min_empties=num_empties, max_empties=num_empties
        )
        return endings.random_endings(game, key, 2 * batch, bounds)

    position, is_fit = play(jax.random.key(seed))
    chosen = np.flatnonzero(is_fit)[:batch]
    if len(chosen) < batch:
        raise ValueError(f"only {len(chosen)} of {2 * batch} games reach {num_empties} empties")
    return jax.tree.map(lambda words: words[chosen], position)


def _row(config: SolverBenchConfig, num_empties: int) -> tuple[str, ...]:
    game = othello.Othello(config.size, config.is_reversed)
    name = f"{num_empties}, every move"
    where = PartitionSpec("data")
    mesh = jax.make_mesh(
        (len(_devices(config)),),
        ("data",),
        (jax.sharding.AxisType.Auto,),
        devices=_devices(config),
    )
    sharded = jax.shard_map(
        functools.partial(
            batched.solve,
            game,
            max_empties=num_empties,
            num_lanes=config.num_lanes,
        ),
        mesh=mesh,
        in_specs=where,
        out_specs=where,
        check_vma=False,
    )
    position = positions(game, num_empties, config.batch, config.seed)
    position = jax.device_put(position, NamedSharding(mesh, where))
    program = measure.compile_program(sharded, position)
    solution = jax.device_get(program.call())
    timings = measure.take_turns(
        {name: program.call}, config.repeats, limit_seconds=config.limit_seconds
    )
    if name not in timings:
        return (name, f"over {config.limit_seconds:.0f} s", *[""] * 7)
    seconds, processor_seconds = timings[name].seconds, timings[name].processor_seconds
    num_nodes = solution.nodes.sum(dtype=np.int64)
    return (
        name,
        str(measure.rate(seconds, config.batch)),
        str(measure.rate(seconds, num_nodes / 1e6)),
        str(measure.rate(processor_seconds, num_nodes / 1e6)),
        measure.short(num_nodes / config.batch),
        measure.short(solution.nodes.max()),
        str((~solution.is_solved).sum()),
        f"{program.compile_seconds:.1f}",
        f"{timings[name].share / len(_devices(config)):.2f}",
    )


def _host_row(config: SolverBenchConfig, num_empties: int) -> tuple[str, ...]:
    game = othello.Othello(config.size, config.is_reversed)
    count = min(config.host_batch, config.batch)
    position = positions(game, num_empties, config.batch, config.seed)
    sides = (bitboard.to_ints(side) for side in (position.player, position.opponent))
    boards = list(zip(*sides, strict=True))[:count]
    solver = endgame.Solver(config.size, is_reversed=config.is_reversed)

    def solve() -> list[int]:
        return [solver.solve(*sides).num_nodes for sides in boards]

    nodes, name = solve(), f"{num_empties}, score, {count} by the host"
    timing = measure.take_turns({name: solve}, config.repeats)[name]
    return (
        name,
        str(measure.rate(timing.seconds, count)),
        str(measure.rate(timing.seconds, sum(nodes) / 1e6)),
        str(measure.rate(timing.processor_seconds, sum(nodes) / 1e6)),
        measure.short(sum(nodes) / count),
        measure.short(max(nodes)),
        "0",
        "",
        f"{timing.share:.2f}",
    )


def _devices(config: SolverBenchConfig) -> list[jax.Device]:
    return jax.devices()[: config.num_devices]


if __name__ == "__main__":
    sys.exit(main())
