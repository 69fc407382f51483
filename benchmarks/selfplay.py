"""How fast is self-play, against the AlphaZero example of Pgx?

    python -m benchmarks.selfplay --cells 5x64:32 3x32:200 --batch 64

A ply is a Gumbel search, the move, and a new game where one ended, for a batch of 8x8 games. Games
are at all plies, as azo's are from the start and the example's in the long run. With
`--before-ply 40` no game is near its end (see `inputs.py`). All programs have the same network
with the same parameters, 16 considered moves at the root and no random openings:

* azo as in training: `selfplay.play`, with the normalisation folded into the convolutions;
* the example: environment and loops as in its `train.py`, and the network written plainly, with
  XLA's own convolution in float32 and batch normalisation at each evaluation;
* the example with azo's network, which separates the effect of the network from the rest;
* the example with azo's environment in place of Pgx's, `azo.compat.pgx`.

The example is left out if Pgx is not installed (it belongs to the extra `test`).
"""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import jax
import pydantic

from azo.games import othello
from azo.learning import initial_games, selfplay
from azo.networks import initial_variables, network
from azo.search import improvement
from benchmarks import baselines, inputs, measure

PLIES_A_GAME = 60
NETWORK = "only azo's network"
EXAMPLE, EXAMPLE_BY_AZO = "Pgx example", "Pgx example, azo's network"
EXAMPLE_WITH_RULES = "Pgx example, azo's environment"
# Targets by network and simulations: speed relative to the example.
AIMS = {"5x64:32": 1.1, "3x32:32": 2.0, "3x32:200": 2.5}


class SelfplayBenchConfig(measure.Settings):
    """How fast is self-play, against the AlphaZero example of Pgx?"""

    cells: tuple[Annotated[str, pydantic.Field(pattern=r"^\d+x\d+:\d+$")], ...] = tuple(AIMS)
    """Residual blocks, channels and simulations, such as 5x64:32."""
    batch: pydantic.PositiveInt = 64
    """Games side by side."""
    num_plies: pydantic.PositiveInt = 2
    """Plies of one call."""
    before_ply: inputs.BeforePly = None
    """Games are at plies before this one; by default at all plies of a game."""
    repeats: pydantic.PositiveInt = 5
    """Repetitions; each times every program once."""
    with_pgx: bool = True
    """Compare with the example of Pgx, if it is installed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.selfplay", SelfplayBenchConfig, report, argv)


def report(config: SelfplayBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    speeds, ratios, shares = [], [], []
    for cell in config.cells:
        timings = _measure_cell(config, cell)
        azo = timings["azo"]
        speeds += [
            _speed_row(config, cell, name, timing)
            for name, timing in timings.items()
            if name != NETWORK
        ]
        for name in (EXAMPLE, EXAMPLE_BY_AZO, EXAMPLE_WITH_RULES):
            if name in timings:
                ratio = measure.speedup(azo.seconds, timings[name].seconds)
                aim = f"at least {AIMS[cell]}" if name == EXAMPLE and cell in AIMS else ""
                ratios.append((f"{_title(cell)}, against {name}", str(ratio), aim))
        shares.append((_title(cell), str(_network_share(config, cell, timings))))

    lines = [
        f"{config.batch} games at"
        f" {f'plies before {config.before_ply}' if config.before_ply else 'all plies'},"
        f" {config.num_plies} plies per call, {config.repeats} repetitions: median (smallest to"
        f" largest). A game counts as {PLIES_A_GAME} plies.",
        "",
        measure.markdown_table(
            ("self-play", "ms per ply of the batch", "simulations per second", "games per hour"),
            speeds,
        ),
        "",
    ]
    if ratios:
        columns = ("times faster: azo", "by wall clock", "aim")
        lines += [measure.markdown_table(columns, ratios), ""]
    else:
        lines += ["Pgx was left out: switched off, or not installed (extra `test`).", ""]
    columns = ("azo", "network's share of the time")
    lines += [measure.markdown_table(columns, shares), ""]
    return lines


def _title(cell: str) -> str:
    model, simulations = cell.split(":")
    return f"{model}, {simulations} simulations"


def _speed_row(
    config: SelfplayBenchConfig, cell: str, name: str, timing: measure.Timing
) -> tuple[str, ...]:
    milliseconds = measure.summary([1e3 * one / config.num_plies for one in timing.seconds])
    num_plies = config.batch * config.num_plies
    simulations = int(cell.split(":")[1])
    return (
        f"{name}, {_title(cell)}{' NOISY' if timing.is_noisy else ''}",
        str(milliseconds),
        str(measure.rate(timing.seconds, num_plies * simulations)),
        str(measure.rate(timing.seconds, num_plies * 3600 / PLIES_A_GAME)),
    )


def _network_share(
    config: SelfplayBenchConfig, cell: str, timings: dict[str, measure.Timing]
) -> measure.Range:
    """Returns the network's share of the time of azo's self-play."""
    simulations = int(cell.split(":")[1])
    evaluations = config.num_plies * (simulations + 1)  # of the batch, the roots' included
    repeated = evaluations / inputs.num_repeats(config.batch)
    alone = [repeated * one for one in timings[NETWORK].seconds]
    return measure.speedup(timings["azo"].seconds, alone)


def _measure_cell(config: SelfplayBenchConfig, cell: str) -> dict[str, measure.Timing]:
    """Returns timings by program."""
    size, simulations = cell.split(":")
    begin_key, play_key, network_key = jax.random.split(jax.random.key(config.seed), 3)
    game = othello.Othello(8)
    network_config = inputs.config(size)
    model = network.build(game, network_config)
    variables = jax.jit(functools.partial(initial_variables.init, game, network_config))(
        network_key
    )
    begin = functools.partial(
        jax.jit(initial_games.spread_games, static_argnums=(0, 2)), game, begin_key
    )
    games = inputs.spread(begin, 64, config.batch, config.before_ply)

    def azo(variables, key, games):
        return selfplay.play(
            game,
            network.evaluator(game, *network.fold(model, variables)),
            key,
            games,
            search=improvement.SearchConfig(num_simulations=int(simulations)),
            config=selfplay.SelfplayConfig(num_games=config.batch, num_plies=config.num_plies),
        )

    folded, folded_variables = network.fold(model, variables)

    def alone(variables, key, position):
        evaluate = network.evaluator(game, folded, variables)
        times = inputs.num_repeats(config.batch)
        return inputs.evaluate_repeatedly(evaluate, key, position, times)

    arguments = folded_variables, play_key, games.position
    programs = {
        "azo": measure.compile_program(azo, variables, play_key, games),
        NETWORK: measure.compile_program(alone, *arguments),
    }
    if config.with_pgx and baselines.has_pgx():
        from azo.compat import pgx  # imports Pgx, see `baselines`

        def plain_network(variables):
            return functools.partial(inputs.evaluate_plainly, variables)

        def azo_network(variables):
            return functools.partial(folded.apply, network.fold(model, variables)[1])

        env = baselines.pgx_othello()
        for name, env_of, network_of in (
            (EXAMPLE, env, plain_network),
            (EXAMPLE_BY_AZO, env, azo_network),
            (EXAMPLE_WITH_RULES, pgx.make("othello"), plain_network),
        ):
            pgx_begin = jax.jit(functools.partial(baselines.pgx_begin, env_of), static_argnums=1)
            begin = functools.partial(pgx_begin, begin_key)
            state = inputs.spread(begin, 64, config.batch, config.before_ply)
            play = functools.partial(_example, config, env_of, network_of, int(simulations))
            programs[name] = measure.compile_program(play, variables, play_key, state)
    calls = {name: program.call for name, program in programs.items()}
    return measure.take_turns(calls, config.repeats)


def _example(
    config: SelfplayBenchConfig, env, network_of: Callable, simulations: int, variables, key, state
):
    return baselines.pgx_play(
        env,
        network_of(variables),
        key,
        state,
        num_simulations=simulations,
        num_plies=config.num_plies,
    )


if __name__ == "__main__":
    sys.exit(main())
