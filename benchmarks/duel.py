"""Which settings of the engine play better, and what do several leaves a step cost in strength?

    python -m benchmarks.duel --first.leaves-per-step 8 --second.leaves-per-step 1

Two settings of the engine play a match with the same network, from paired random openings. With one
leaf a step the search is plain PUCT.
"""

import pathlib
import random
import sys
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pydantic
import tyro

from azo.measure import arena
from azo.play import engine_factory
from azo.play.engine_settings import NUM_LEVELS, EngineConfig, at_level
from azo.play.live_engine import Engine
from azo.play.live_game import LiveGame
from azo.solver.host import endgame
from benchmarks import command, positions

_NO_SOLVER = EngineConfig(solve_empties=0, exact_empties=0)


class DuelConfig(command.Settings):
    """A match between two settings of the engine."""

    first: EngineConfig = _NO_SOLVER
    """First player; the score is the first player's."""
    second: EngineConfig = _NO_SOLVER
    """Second player."""
    first_level: int = NUM_LEVELS
    """Level of the first player; lower levels weaken its settings."""
    second_level: int = NUM_LEVELS
    """Level of the second player."""
    network: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder of a run or an exported network; by default the shipped network for 8x8."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 200
    """Number of games, in pairs from the same random opening with colours swapped."""
    opening_plies: pydantic.NonNegativeInt = 8
    """Random plies at the start of each game."""
    solved_empties: pydantic.NonNegativeInt = 12
    """Number of empty squares at which a game ends with its exact result."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.duel", DuelConfig, report, argv)


def report(config: DuelConfig) -> list[str]:
    """Returns the result of a match."""
    evaluator = engine_factory.load_evaluator(engine_factory.NetworkChoice(network=config.network))
    both = at_level(config.first, config.first_level), at_level(config.second, config.second_level)
    pair = [Engine(evaluator, each, seed=config.seed) for each in both]
    solver = endgame.Solver(evaluator.game.size, is_reversed=evaluator.game.is_reversed)
    rng = random.Random(config.seed)
    results = []
    for number in range(config.num_games):
        if number % 2 == 0:
            opening = positions.random_game(evaluator.game, rng, config.opening_plies)
        black, white = pair if number % 2 == 0 else pair[::-1]
        result = _play(black, white, opening, solver, config.solved_empties)
        results.append(result if number % 2 == 0 else -result)
        if number % 20 == 19:
            print(_match_result(results), file=sys.stderr, flush=True)
    first, second = map(_changes, both)
    return [f"{first} against {second}: {_match_result(results)}"]


def _play(
    black: Engine, white: Engine, opening: LiveGame, solver: endgame.Solver, solved_empties: int
) -> int:
    """Returns black's result."""
    for engine in (black, white):
        engine.new_game(actions=opening.actions)
    while not black.is_over and black.num_empties > solved_empties:
        mover = black if black.board.is_black_to_move else white
        action = mover.think().action
        black.play(action)
        white.play(action)
    score = solver.solve(black.board.player, black.board.opponent).score
    sign = 1 if black.board.is_black_to_move else -1
    return int(np.sign(black.utility(score))) * sign


def _match_result(results: Sequence[int]) -> arena.MatchResult:
    return arena.MatchResult(results.count(1), results.count(0), results.count(-1))


def _changes(config: EngineConfig) -> str:
    """Returns the settings that differ from the defaults."""
    defaults = EngineConfig().model_dump()
    return ", ".join(f"{k} {v}" for k, v in config.model_dump().items() if v != defaults[k])


if __name__ == "__main__":
    sys.exit(main())
