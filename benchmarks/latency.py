"""How long does a move of one live game take?

    python -m benchmarks.latency

The engine searches positions from the middle of random games. In turns with it, the same number of
single positions is evaluated one after the other. One leaf a step is plain PUCT. Single evaluations
use self-play's network, and also the engine's version, in which weights are constants of the
program. The engine's version is three times as fast.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence

import jax
import numpy as np
import pydantic

from azo.games import notation, othello
from azo.learning import network
from azo.measure import players
from azo.play.engine_settings import EngineConfig, Limits
from azo.play.live_engine import Engine
from azo.play.network_evaluator import NetworkEvaluator
from azo.search import settings
from benchmarks import command, measure, positions


class LatencyConfig(command.Settings):
    """How long does a move take, compared with the same number of single evaluations?"""

    num_blocks: pydantic.PositiveInt = 5
    """Blocks of a network with random weights, on 8x8."""
    num_channels: pydantic.PositiveInt = 64
    """Channels of each block."""
    num_simulations: pydantic.PositiveInt = 400
    """Simulations a move, and evaluations of single positions."""
    num_positions: pydantic.PositiveInt = 20
    """Positions, after 10 to 30 random plies."""
    leaves_per_step: tuple[pydantic.PositiveInt, ...] = (1, 2, 4, 8, 16)
    """Batch sizes to measure."""

    @property
    def num_cores(self) -> int:
        """Number of cores, and of CPU devices."""
        return 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.latency", LatencyConfig, report, argv)


def report(config: LatencyConfig) -> list[str]:
    """Returns a table of milliseconds a move."""
    game = othello.Othello(8)
    shape = network.NetworkConfig(num_blocks=config.num_blocks, num_channels=config.num_channels)
    variables = network.init(game, shape, jax.random.key(config.seed))
    evaluator = NetworkEvaluator(
        game, players.NetworkPlayer(variables, game, shape, settings.SearchConfig())
    )
    rng, number = random.Random(config.seed), config.num_simulations
    boards = [
        positions.random_game(game, rng, 10 + rng.randrange(21)).board
        for _ in range(config.num_positions)
    ]
    programs: dict[str, Callable[[notation.Board], int]] = {
        f"{number} single evaluations": _one_by_one(_plain(game, shape, variables), number),
        "the same, weights as constants": _one_by_one(_constant(evaluator), number),
    }
    for size in config.leaves_per_step:
        engine = Engine(evaluator, EngineConfig(leaves_per_step=size, solve_empties=0))
        programs[f"{number} simulations, {size} leaves a step"] = _searched(engine, number)
    times: dict[str, list[float]] = {name: [] for name in programs}
    counts: dict[str, int] = {}
    for repeat in range(config.repeats + 1):
        for board in boards:
            for name, run in programs.items():
                start = time.perf_counter()
                counts[name] = run(board)
                if repeat:  # the first repetition warms up
                    times[name].append(time.perf_counter() - start)
    plain, constant = (np.array(times[name]) for name in list(programs)[:2])
    rows = [
        (
            name,
            f"{1000 * np.median(seconds):.0f}",
            str(counts[name]),
            _ratio(np.array(seconds) / plain),
            _ratio(np.array(seconds) / constant),
        )
        for name, seconds in times.items()
    ]
    heading = (
        f"{config.num_blocks} x {config.num_channels}, 8x8",
        "ms a move",
        "evaluations of the last position",
        "relative to single evaluations",
        "relative to single evaluations with constants",
    )
    return [measure.markdown_table(heading, rows)]


def _plain(
    game: othello.Othello, shape: network.NetworkConfig, variables: network.Variables
) -> Callable[[np.ndarray], jax.Array]:
    """Returns self-play's network: folded, compiled, with weights as arguments."""
    plain, folded = network.fold(network.build(game, shape), variables)

    @jax.jit
    def evaluate(folded: network.Variables, words: jax.Array) -> tuple[jax.Array, jax.Array]:
        evaluate_batch = network.evaluator(game, plain, folded)
        evaluation = evaluate_batch(jax.random.key(0), game.unpack(words))
        return evaluation.prior_logits, evaluation.value

    return lambda words: evaluate(folded, words)


def _constant(evaluator: NetworkEvaluator) -> Callable[[np.ndarray], jax.Array]:
    program = evaluator.compiled(1)
    return lambda words: program(words)


def _one_by_one(
    evaluate: Callable[[np.ndarray], jax.Array], number: int
) -> Callable[[notation.Board], int]:
    def run(board: notation.Board) -> int:
        sides = np.array([[board.player, board.opponent]], np.uint64)
        for _ in range(number):
            jax.device_get(evaluate(sides.view(np.uint32)))
        return number

    return run


def _searched(engine: Engine, number: int) -> Callable[[notation.Board], int]:
    def run(board: notation.Board) -> int:
        engine.config = engine.config  # an empty tree and an empty cache
        engine.new_game(board)
        return engine.think(Limits(number)).num_evaluations

    return run


def _ratio(ratios: np.ndarray) -> str:
    low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
