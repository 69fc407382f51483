"""How near are the engine's moves and values to the known scores of positions?

    python -m benchmarks.engine_accuracy edax_full_20.obf.gz edax_hard_30.obf.gz

The engine of `azo gtp` searches each position, by default without the solver at the root: only
leaves of the tree with few empty squares are solved. docs/puzzles.md explains the sets and the
columns. Here the disc error is that of the search. `azo evaluate --exact` measures the batched
search.
"""

import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pydantic
import tyro

from azo.games import bitboard, notation, othello
from azo.measure import accuracy, position_sets
from azo.play import engine_factory
from azo.play.engine_settings import EngineConfig
from azo.play.live_engine import Engine
from azo.run import score_comparison
from benchmarks import command


class AccuracyBenchConfig(command.Settings):
    """How near are the engine's moves and values to the known scores of positions?"""

    sets: Annotated[tuple[str, ...], tyro.conf.Positional]
    """FILE, random:EMPTIES or line, as for `azo evaluate --exact`."""
    network: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder of a run or an exported network; by default the shipped network for the size."""
    size: int = 8
    """Rows and columns of the board."""
    limit: pydantic.PositiveInt = 1000
    """Positions a set, drawn by the seed."""
    engine: EngineConfig = EngineConfig(num_simulations=800, solve_empties=0, probe_nodes=0)
    """Settings of the engine."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.engine_accuracy", AccuracyBenchConfig, report, argv)


def report(config: AccuracyBenchConfig) -> list[str]:
    """Searches all positions; returns lines of markdown."""
    choice = engine_factory.NetworkChoice(network=config.network, size=config.size)
    engine = Engine(engine_factory.load_evaluator(choice), config.engine, seed=config.seed)
    game = othello.rules_of(engine.game)
    lines = [accuracy.HEADING, accuracy.RULE]
    sets = score_comparison.sets(game, config.sets, config.limit, 0, config.seed)
    for name, positions, _ in sets:
        measured = accuracy.measure(game, positions, assess(engine, positions))
        who = f"engine, {config.engine.num_simulations} simulations"
        lines.append(accuracy.row(name, who, len(positions), measured))
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def assess(engine: Engine, positions: position_sets.PositionSet) -> accuracy.Assessment:
    """Returns the values, moves and scores of the engine for a set of positions."""
    value, action, score = [], [], []
    sides = positions.position.player, positions.position.opponent
    for player, opponent in zip(*map(bitboard.to_ints, sides), strict=True):
        engine.new_game(notation.Board(player, opponent, is_black_to_move=True))
        found = engine.think()
        value.append(found.value)
        action.append(found.action)
        score.append(found.discs)
    return accuracy.Assessment(
        value=np.array(value, np.float32),
        action=np.array(action, np.int32),
        score=np.array(score, np.float32),
    )


if __name__ == "__main__":
    sys.exit(main())
