"""Which settings of the engine play better, and what do several leaves a step cost in strength?

    python -m benchmarks.duel --first.leaves-per-step 8 --second.leaves-per-step 1

Two settings of the engine play a match with the same network, from paired random openings. With one
leaf a step the search is plain PUCT. `--opponent` names a player without a network in place of the
second engine, and the games that the engine does not win go to standard error:

    python -m benchmarks.duel --opponent greedy --solved-empties 0 --first.solve-empties 20 \
      --first.exact-empties 8
"""

import functools
import pathlib
import random
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import jax
import numpy as np
import pydantic
import tyro

from azo.games import notation, othello, replaying
from azo.measure import arena, players
from azo.play import engine_factory
from azo.play.engine_settings import NUM_LEVELS, EngineConfig, at_level
from azo.play.live_engine import Engine
from azo.play.live_game import LiveGame
from azo.solver.host import endgame
from benchmarks import command, positions

Choice = Callable[[LiveGame], int]  # returns the move to play

_NO_SOLVER = EngineConfig(solve_empties=0, exact_empties=0)


class DuelConfig(command.Settings):
    """A match between two settings of the engine."""

    first: EngineConfig = _NO_SOLVER
    """First player; the score is the first player's."""
    second: EngineConfig = _NO_SOLVER
    """Second player."""
    opponent: str | None = None
    """Second player in place of an engine: random, greedy, iagno:LEVEL, alphabeta:DEPTH or
    patterns:DEPTH."""
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
    first, second = (
        at_level(config.first, config.first_level),
        at_level(config.second, config.second_level),
    )
    pair = [functools.partial(_think, Engine(evaluator, first, seed=config.seed))]
    if config.opponent is None:
        pair.append(functools.partial(_think, Engine(evaluator, second, seed=config.seed)))
    else:
        rules = othello.rules_of(evaluator.game)
        pair.append(_player(config.opponent, rules, config.seed))
    solver = endgame.Solver(evaluator.game.size, is_reversed=evaluator.game.is_reversed)
    rng = random.Random(config.seed)
    results = []
    for number in range(config.num_games):
        if number % 2 == 0:
            opening = positions.random_game(evaluator.game, rng, config.opening_plies)
        sign = 1 if number % 2 == 0 else -1
        played = play(*pair[::sign], opening, config.solved_empties)
        results.append(sign * black_result(played, solver))
        if config.opponent is not None and results[-1] < 1:
            text = notation.transcript(played.actions, evaluator.game.size)
            print(results[-1], text, file=sys.stderr, flush=True)
        if number % 20 == 19:
            print(_match_result(results), file=sys.stderr, flush=True)
    names = _changes(first), config.opponent or _changes(second)
    return [f"{names[0]} against {names[1]}: {_match_result(results)}"]


def play(black: Choice, white: Choice, opening: LiveGame, solved_empties: int) -> LiveGame:
    """Returns the game after an opening, up to its end or to a number of empty squares."""
    played = LiveGame(opening.game)
    played.new_game(actions=opening.actions)
    while not played.is_over and played.num_empties > solved_empties:
        played.play((black if played.board.is_black_to_move else white)(played))
    return played


def black_result(played: LiveGame, solver: endgame.Solver) -> int:
    """Returns black's result under perfect play from a game's last position."""
    score = solver.solve(played.board.player, played.board.opponent).score
    return int(played.result(score)) * (1 if played.board.is_black_to_move else -1)


def _think(engine: Engine, played: LiveGame) -> int:
    engine.new_game(actions=played.actions)
    return engine.think().action


def _player(name: str, game: othello.Othello, seed: int) -> Choice:
    """Returns the moves of a player of `azo.measure.players` that needs no network."""
    player = jax.jit(players.parse(name, game, _load_nothing))

    def choose(played: LiveGame) -> int:
        ply = len(played.actions)
        position = jax.tree.map(lambda x: x[None], replaying.position_of(played.board))
        key = jax.random.fold_in(jax.random.key(seed), hash(played.actions) & 0x7FFFFFFF)
        return int(player(key, position, np.int32(ply))[0])

    return choose


def _load_nothing(path: str) -> players.NetworkPlayer:
    raise ValueError(
        f"opponent {path!r}: should be random, greedy, iagno:LEVEL, alphabeta:DEPTH or"
        " patterns:DEPTH"
    )


def _match_result(results: Sequence[int]) -> arena.MatchResult:
    return arena.MatchResult(results.count(1), results.count(0), results.count(-1))


def _changes(config: EngineConfig) -> str:
    """Returns the settings that differ from the defaults."""
    defaults = EngineConfig().model_dump()
    return ", ".join(f"{k} {v}" for k, v in config.model_dump().items() if v != defaults[k])


if __name__ == "__main__":
    sys.exit(main())
