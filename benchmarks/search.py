"""What does a search cost, without and with a network, compared with mctx?

    python -m benchmarks.search --batches 64 256 1024 --simulations 16 100 800

Three programs are timed:

* rules: the same number of plies and evaluations as the search, in a plain loop;
* tree: the whole search, with an evaluation that is a cheap hash of the position. Its time minus
  that of the rules is the cost of the tree;
* network: the whole search with a network, folded as in self-play; and the network alone.

The last two run with azo's loops, with those of mctx, and with the policies of `azo.compat.mctx`,
whose results are those of mctx, all with the same rules and evaluator. Two things besides the loops
make mctx slower than azo's own search. Its defaults rescale Q and give unvisited moves the lowest
value, so trees are deeper; `--same-trees` gives all the same rules. mctx also searches below
finished games; with `--before-ply 40` no game is near its end. Cells beyond the limits of time and
memory are skipped, with a note.

The last table compares azo with itself under the two settings of `search.backend`. Both have the
network and the same rules of selection, so they build the same trees but for the noise; neither
looks for the end of the game, which mctx cannot.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import jax
import jax.numpy as jnp
import mctx
import pydantic

from azo.compat import mctx as compat_mctx
from azo.games import othello, protocol
from azo.learning import initial_games
from azo.networks import initial_variables, network
from azo.search import improvement
from benchmarks import baselines, inputs, measure

# Targets by algorithm, games and simulations: cost of mctx's tree with its defaults, relative to
# azo's, in games at all plies.
AIMS = {("puct", 1024, 100): 20}
# The time of a search grows faster than its simulations: paths are longer, trees larger.
GROWTH = 1.5


class SearchBenchConfig(measure.Settings):
    """What does a search cost, without and with a network, compared with mctx?"""

    algorithm: Literal["puct", "gumbel"] = "puct"
    """Algorithm of the search; see `azo.search.improvement`."""
    batches: tuple[pydantic.PositiveInt, ...] = (64, 256, 1024, 8192)
    """Games side by side."""
    simulations: tuple[pydantic.PositiveInt, ...] = (16, 100, 800)
    """Simulations of a search."""
    size: int = pydantic.Field(8, ge=4, le=8)
    """Rows and columns of the board."""
    same_trees: bool = False
    """Let mctx select moves by azo's rules, so that trees are equal; otherwise by its defaults."""
    before_ply: inputs.BeforePly = None
    """Games are at plies before this one; by default at all plies of a game."""
    network: inputs.Size = "3x32"
    """Residual blocks and channels."""
    with_network: bool = True
    """Measure searches with a network too."""
    limit_seconds: pydantic.PositiveFloat = 60.0
    """A program that would take longer in all repetitions together is skipped."""
    limit_gigabytes: pydantic.PositiveFloat = 4.0
    """A program that would take more memory is skipped."""


@dataclasses.dataclass(frozen=True)
class Loop:
    """A program to time."""

    function: Callable  # takes variables, key and positions
    length: int  # simulations or evaluations of a game in one call


@dataclasses.dataclass(frozen=True)
class Cell:
    """Timings for one number of games and of simulations."""

    batch: int
    simulations: int
    timings: dict[str, measure.Timing]
    lengths: dict[str, int]  # of the loops
    skipped: dict[str, str]  # reason by name, for programs without a timing

    def microseconds(self, name: str) -> str:
        """Returns the time of one pass of a loop and one game, or the reason why there is none."""
        if name in self.skipped:
            return self.skipped[name]
        timing = self.timings[name]
        times = [1e6 * one / (self.batch * self.lengths[name]) for one in timing.seconds]
        return f"{measure.summary(times)}{' NOISY' if timing.is_noisy else ''}"

    def times_less(self, name: str, baseline: str, *, without: str | None = None) -> str:
        """Returns the time of `baseline` relative to that of `name`, each without a part."""
        needed = {name, baseline} | ({without} if without else set())
        if not needed <= self.timings.keys():
            return ""
        mine, other = self.timings[name].seconds, self.timings[baseline].seconds
        if without:
            part = self.timings[without].seconds
            mine, other = measure.less(mine, part), measure.less(other, part)
        return str(measure.speedup(mine, other))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.search", SearchBenchConfig, report, argv)


def report(config: SearchBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    cells = _measure_cells(config)
    lines = [
        f"Board {config.size}x{config.size}, {config.algorithm}, mctx with"
        f" {'the same selection rules' if config.same_trees else 'its defaults'}, games at"
        f" {f'plies before {config.before_ply}' if config.before_ply else 'all plies'},"
        f" {config.repeats} repetitions: median (smallest to largest), microseconds per simulation"
        f" and game. Programs over {config.limit_seconds:g} s in all repetitions, or over"
        f" {config.limit_gigabytes:g} GB, are skipped.",
        "",
        measure.markdown_table(
            (
                "tree: games x simulations",
                "only the rules",
                "azo, whole",
                "mctx, whole",
                "times faster, whole",
                "times faster, without the rules",
                "aim",
                "azo.compat.mctx, whole",
                "times faster than mctx",
            ),
            [_tree_row(config, cell) for cell in cells],
        ),
        "",
    ]
    if config.with_network:
        columns = (
            f"network {config.network}: games x simulations",
            "only the network",
            "azo, whole",
            "mctx, whole",
            "times faster, whole",
            "azo.compat.mctx, whole",
            "times faster than mctx",
        )
        lines += [measure.markdown_table(columns, [_network_row(cell) for cell in cells]), ""]
        columns = (
            f"network {config.network}, without proofs: games x simulations",
            'backend "azo"',
            'backend "mctx"',
            "times faster",
        )
        lines += [measure.markdown_table(columns, [_backend_row(cell) for cell in cells]), ""]
    return lines


def _tree_row(config: SearchBenchConfig, cell: Cell) -> tuple[str, ...]:
    is_stock = not config.same_trees and config.before_ply is None
    aim = AIMS.get((config.algorithm, cell.batch, cell.simulations)) if is_stock else None
    return (
        f"{cell.batch} x {cell.simulations}",
        *(cell.microseconds(name) for name in ("rules", "azo tree", "mctx tree")),
        cell.times_less("azo tree", "mctx tree"),
        cell.times_less("azo tree", "mctx tree", without="rules"),
        f"at least {aim}" if aim else "",
        cell.microseconds("compat tree"),
        cell.times_less("compat tree", "mctx tree"),
    )


def _network_row(cell: Cell) -> tuple[str, ...]:
    return (
        f"{cell.batch} x {cell.simulations}",
        *(cell.microseconds(name) for name in ("network", "azo network", "mctx network")),
        cell.times_less("azo network", "mctx network"),
        cell.microseconds("compat network"),
        cell.times_less("compat network", "mctx network"),
    )


def _backend_row(cell: Cell) -> tuple[str, ...]:
    return (
        f"{cell.batch} x {cell.simulations}",
        *(cell.microseconds(f"backend {name}") for name in ("azo", "mctx")),
        cell.times_less("backend azo", "backend mctx"),
    )


def _measure_cells(config: SearchBenchConfig) -> list[Cell]:
    begin_key, search_key, network_key = jax.random.split(jax.random.key(config.seed), 3)
    game = othello.Othello(config.size)
    network_config = inputs.config(config.network)
    variables = jax.jit(functools.partial(initial_variables.init, game, network_config))(
        network_key
    )
    folded, variables = network.fold(network.build(game, network_config), variables)
    measured: dict[str, dict[tuple[int, int], float]] = {}
    cells = []
    for batch in config.batches:
        begin = functools.partial(
            jax.jit(initial_games.spread_games, static_argnums=(0, 2)), game, begin_key
        )
        games = inputs.spread(begin, config.size**2, batch, config.before_ply)
        for simulations in config.simulations:
            loops = _loops(config, game, folded, batch, simulations)
            arguments = (variables, search_key, games.position)
            cell = _measure_cell(config, loops, arguments, batch, simulations, measured)
            for name, timing in cell.timings.items():
                size = batch, loops[name].length
                measured.setdefault(name, {})[size] = max(timing.seconds)
            cells.append(cell)
    return cells


def _loops(
    config: SearchBenchConfig,
    game: protocol.Game,
    model: network.Network,
    batch: int,
    simulations: int,
) -> dict[str, Loop]:
    settings = improvement.SearchConfig(algorithm=config.algorithm, num_simulations=simulations)
    backends = {
        name: settings.model_copy(update={"backend": name, "has_proofs": False})
        for name in ("azo", "mctx")
    }

    def hashed(variables):
        del variables
        return functools.partial(hashed_evaluation, game)

    def learned(variables):
        return network.evaluator(game, model, variables)

    def azo(evaluator, variables, key, position, settings=settings):
        output = improvement.search(game, evaluator(variables), key, position, config=settings)
        return output.action, output.policy

    def with_policies(policies, evaluator, variables, key, position):
        output = baselines.mctx_search(
            game,
            evaluator(variables),
            key,
            position,
            config=settings,
            same_trees=config.same_trees,
            policies=policies,
        )
        return output.action, output.action_weights

    of_mctx = functools.partial(with_policies, mctx)
    compat = functools.partial(with_policies, compat_mctx)

    def rules(variables, key, position):
        return plies_alone(game, hashed(variables), key, position, simulations)

    times = inputs.num_repeats(batch)

    def network_alone(variables, key, position):
        return inputs.evaluate_repeatedly(learned(variables), key, position, times)

    programs = {
        "rules": Loop(rules, simulations),
        "azo tree": Loop(functools.partial(azo, hashed), simulations),
        "mctx tree": Loop(functools.partial(of_mctx, hashed), simulations),
        "compat tree": Loop(functools.partial(compat, hashed), simulations),
    }
    if config.with_network:
        programs |= {
            "network": Loop(network_alone, times),
            "azo network": Loop(functools.partial(azo, learned), simulations),
            "mctx network": Loop(functools.partial(of_mctx, learned), simulations),
            "compat network": Loop(functools.partial(compat, learned), simulations),
        }
        for name, chosen in backends.items():
            by_backend = functools.partial(azo, learned, settings=chosen)
            programs[f"backend {name}"] = Loop(by_backend, simulations)
    return programs


def hashed_evaluation(
    game: protocol.Game, key: jax.Array | None, position: protocol.Position
) -> improvement.Evaluation:
    """Evaluates positions by a few bit operations: logits in [-2, 2), values in [-1, 1)."""
    del key
    words = game.pack(position)
    mixed = jnp.zeros_like(words[..., 0])
    for word in range(game.packed_words):
        mixed = (mixed ^ words[..., word]) * jnp.uint32(0x9E3779B1)
        mixed = mixed ^ (mixed >> 15)
    odd = 2 * jnp.arange(game.num_actions, dtype=jnp.uint32) + 1
    per_action = mixed[..., None] * (odd * jnp.uint32(0x85EBCA6B))[None]
    return improvement.Evaluation(
        prior_logits=(per_action >> 8).astype(jnp.float32) / 2**22 - 2,
        value=(mixed >> 8).astype(jnp.float32) / 2**23 - 1,
    )


def plies_alone(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    position: protocol.Position,
    num_plies: int,
) -> jax.Array:
    """Plays and evaluates without a tree; returns `[B]` float32, a sum of all outputs.

    Actions may be illegal: the cost of a ply does not depend on it.
    """

    def ply(index: jax.Array, state: tuple) -> tuple:
        position, total = state
        action = game.pack(position)[..., 0] % game.num_actions
        step = game.step(position, action.astype(jnp.int32))
        leaf = evaluate(jax.random.fold_in(key, index), step.position)
        total += leaf.prior_logits.sum(axis=-1) + leaf.value + step.reward + step.discount
        return step.position, total

    start = position, jnp.zeros(game.is_over(position).shape)
    return jax.lax.fori_loop(0, num_plies, ply, start)[1]


def _measure_cell(
    config: SearchBenchConfig,
    loops: dict[str, Loop],
    arguments: tuple,
    batch: int,
    simulations: int,
    measured: dict[str, dict[tuple[int, int], float]],
) -> Cell:
    too_long = f"over {config.limit_seconds:g} s"
    skipped: dict[str, str] = {}
    programs = {}
    for name, loop in loops.items():
        expected = expected_seconds(measured.get(name, {}), batch, loop.length)
        if expected * (config.repeats + 1) > config.limit_seconds:
            skipped[name] = too_long
            continue
        program = measure.compile_program(loop.function, *arguments)
        gigabytes = program.num_bytes / 1e9
        if gigabytes > config.limit_gigabytes:
            skipped[name] = f"{gigabytes:.1f} GB"
        else:
            programs[name] = program
    timings = measure.take_turns(
        {name: program.call for name, program in programs.items()},
        config.repeats,
        limit_seconds=config.limit_seconds,
    )
    skipped |= dict.fromkeys(programs.keys() - timings.keys(), too_long)
    lengths = {name: loop.length for name, loop in loops.items()}
    return Cell(batch, simulations, timings, lengths, skipped)


def expected_seconds(measured: dict[tuple[int, int], float], batch: int, length: int) -> float:
    """Returns the expected seconds of a loop, from the largest smaller one; 0 if there is none.

    Args:
      measured: seconds by number of games and length of the loop.
      batch: number of games.
      length: passes of the loop.
    """
    smaller = [size for size in measured if size[0] <= batch and size[1] <= length]
    if not smaller:
        return 0.0
    nearest = max(smaller, key=lambda size: size[0] * size[1])
    return measured[nearest] * batch / nearest[0] * (length / nearest[1]) ** GROWTH


if __name__ == "__main__":
    sys.exit(main())
