"""How long does a move take, when one game is searched at a time?

    python -m benchmarks.latency

Positions from the middle of random games are searched by the engine, next to as many evaluations of
single positions one after the other, in turns. One leaf a step is plain PUCT.
"""

import random
import sys
import time
from collections.abc import Sequence

import jax
import numpy as np
import pydantic

from azo.games import othello
from azo.learning import network
from azo.measure import players
from azo.play.engine import Engine
from azo.play.oracle import Oracle
from azo.play.settings import EngineConfig, Limits
from azo.search import settings
from benchmarks import command, measure, positions


class LatencyConfig(command.Settings):
    """How long a move takes, next to the same number of single evaluations."""

    num_blocks: pydantic.PositiveInt = 5
    """Of a network with random weights, on 8x8."""
    num_channels: pydantic.PositiveInt = 64
    """Of each block."""
    num_simulations: pydantic.PositiveInt = 400
    """A move, and evaluations of single positions."""
    num_positions: pydantic.PositiveInt = 20
    """After 10 to 30 random plies."""
    leaves_per_step: tuple[pydantic.PositiveInt, ...] = (1, 4, 8, 16, 32)
    """Sizes of batches to try."""

    @property
    def num_cores(self) -> int:
        return 2


def main(argv: Sequence[str] | None = None) -> int:
    return command.run("benchmarks.latency", LatencyConfig, report, argv)


def report(config: LatencyConfig) -> list[str]:
    """Returns a table of milliseconds a move."""
    game = othello.Othello(8)
    shape = network.NetworkConfig(num_blocks=config.num_blocks, num_channels=config.num_channels)
    variables = network.init(game, shape, jax.random.key(config.seed))
    oracle = Oracle(game, players.TrainedNetwork(variables, shape, settings.SearchConfig()))
    rng = random.Random(config.seed)
    boards = [
        positions.random_game(game, rng, 10 + rng.randrange(21)).board
        for _ in range(config.num_positions)
    ]
    engines = {
        size: Engine(oracle, EngineConfig(leaves_per_step=size, solve_empties=0))
        for size in config.leaves_per_step
    }
    seconds: dict[int, list[float]] = {size: [] for size in (0, *engines)}
    evaluations: dict[int, list[int]] = {size: [] for size in engines}
    for repeat in range(config.repeats + 1):
        for board in boards:
            player, opponent = (
                np.array([side], np.uint64) for side in (board.player, board.opponent)
            )
            start = time.perf_counter()
            for _ in range(config.num_simulations):
                np.asarray(oracle.ask(player, opponent, symmetry="none", batch_size=1))
            seconds[0].append(time.perf_counter() - start)
            for size, engine in engines.items():
                engine.config = engine.config  # an empty tree and an empty cache
                engine.new_game(board)
                start = time.perf_counter()
                thought = engine.think(Limits(config.num_simulations))
                seconds[size].append(time.perf_counter() - start)
                evaluations[size].append(thought.num_evaluations)
        if repeat == 0:
            for times in (*seconds.values(), *evaluations.values()):
                times.clear()  # the first turn warms up
    single = np.array(seconds[0])
    rows = [(f"{config.num_simulations} single evaluations", _ms(single), "", "")]
    for size in engines:
        ratio = np.array(seconds[size]) / single
        low, middle, high = np.quantile(ratio, (0.1, 0.5, 0.9))
        rows.append(
            (
                f"{config.num_simulations} simulations, {size} leaves a step",
                _ms(np.array(seconds[size])),
                f"{np.mean(evaluations[size]):.0f}",
                f"{middle:.2f} ({low:.2f} to {high:.2f})",
            )
        )
    name = f"{config.num_blocks} x {config.num_channels}, 8x8"
    return [measure.markdown_table((name, "ms a move", "evaluations", "ratio"), rows)]


def _ms(seconds: np.ndarray) -> str:
    return f"{1000 * np.median(seconds):.0f}"


if __name__ == "__main__":
    sys.exit(main())
