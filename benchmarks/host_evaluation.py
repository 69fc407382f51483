"""How long does the host take to evaluate a position with a pattern network?

    python -m benchmarks.host_evaluation --networks patterns:1 patterns:16

This is the evaluation of live games, `azo.play.pattern_evaluator`, on 8x8 and in processor time.
Tables hold random numbers. Positions are those of random games at all plies, in random order, so
rows lie scattered in memory as in a search. With one feature there are no layers.
"""

import random
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import jax
import numpy as np
import pydantic

from azo.games import othello
from azo.learning import network, network_config
from azo.play import pattern_evaluator
from benchmarks import command, measure, positions

_MICRO = 1e6


class HostEvaluationBenchConfig(command.Settings):
    """How long does the host take to evaluate a position with a pattern network?"""

    networks: tuple[Annotated[str, pydantic.Field(pattern=r"^patterns:\d+(:counts)?$")], ...] = (
        "patterns:1",
        "patterns:16",
        "patterns:16:counts",
    )
    """Features of the networks, 1 is linear; with or without counts of moves."""
    batches: tuple[pydantic.PositiveInt, ...] = (1, 4, 256)
    """Positions of a request."""
    games: pydantic.PositiveInt = 128
    """Random games whose positions are evaluated."""
    repeats: pydantic.PositiveInt = 5
    """Repetitions; each times every program once."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.host_evaluation", HostEvaluationBenchConfig, report, argv)


def report(config: HostEvaluationBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    game = othello.Othello(8)
    boards = _boards(game, config)
    calls = {}
    for name in config.networks:
        _, num_features, *counts = name.split(":")
        evaluator = _evaluator(game, int(num_features), bool(counts), config.seed)
        for batch in config.batches:
            calls[name, batch] = _call(evaluator, boards, batch)
    timings = measure.take_turns(
        {f"{name} x {batch}": call for (name, batch), call in calls.items()}, config.repeats
    )

    def per_position(name: str, batch: int) -> str:
        seconds = timings[f"{name} x {batch}"].processor_seconds
        return str(measure.summary([_MICRO * one / len(boards) for one in seconds]))

    rows = [
        [name, *(per_position(name, batch) for batch in config.batches)] for name in config.networks
    ]
    columns = ("network", *(f"us a position, {batch} a request" for batch in config.batches))
    return [
        f"8x8, {len(boards)} positions, {config.repeats} repetitions, processor time: median"
        " (smallest to largest).",
        "",
        measure.markdown_table(columns, rows),
        "",
    ]


def _boards(game: othello.Othello, config: HostEvaluationBenchConfig) -> np.ndarray:
    """Returns `[M, 2]` uint64, discs of both sides in all positions of random games, shuffled."""
    rng = random.Random(config.seed)
    boards = []
    for _ in range(config.games):
        boards += positions.random_game(game, rng, game.size**2 - 8).boards
    rng.shuffle(boards)
    return np.array([(board.player, board.opponent) for board in boards], np.uint64)


def _evaluator(
    game: othello.Othello, num_features: int, has_move_counts: bool, seed: int
) -> pattern_evaluator.PatternEvaluator:
    changes = {"num_features": num_features, "has_move_counts": has_move_counts}
    changes |= {"hidden_units": ()} if num_features == 1 else {}
    shape = network_config.PatternsConfig.model_validate(changes)
    settings = network.NetworkConfig(kind="patterns", patterns=shape)
    params = jax.device_get(network.init(game, settings, jax.random.key(seed))["params"])
    rng = np.random.default_rng(seed)
    params = jax.tree.map(lambda x: x + rng.normal(0, 0.01, x.shape).astype(x.dtype), params)
    return pattern_evaluator.PatternEvaluator(game, shape, params)


def _call(
    evaluator: pattern_evaluator.PatternEvaluator, boards: np.ndarray, batch: int
) -> Callable[[], None]:
    requests = [boards[i : i + batch].T.copy() for i in range(0, len(boards), batch)]

    def evaluate() -> None:
        for player, opponent in requests:
            evaluator.request(player, opponent, batch_size=batch)

    return evaluate


if __name__ == "__main__":
    sys.exit(main())
