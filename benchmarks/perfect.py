"""Does the engine play white perfectly on 6x6? White wins by 4 discs with perfect play.

    python -m benchmarks.perfect --engine.num-simulations 400 --engine.solve-empties 0

Black plays at random for a number of plies that differs between games, and then with the same
engine as white. Two things are measured. First, positions at which black begins to play well and
which the solver proves to be won for white: how many of them does white win? Second, white's moves
with few empty squares: how many keep the exact result, and how many the exact score?
"""

import dataclasses
import functools
import pathlib
import random
import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
import pydantic
import tyro

from azo.games import notation
from azo.play import engine_factory
from azo.play.engine_settings import EngineConfig
from azo.play.live_engine import Engine
from azo.solver.host import endgame
from benchmarks import command, measure


class PerfectBenchConfig(command.Settings):
    """Does the engine play white perfectly on 6x6?"""

    network: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder of a run or an exported network; by default the shipped network for 6x6."""
    engine: EngineConfig = EngineConfig()
    """Settings of the engine."""
    num_games: pydantic.PositiveInt = 200
    """Number of games."""
    max_random_plies: pydantic.NonNegativeInt = 24
    """Black plays at random in the first 0 to this many plies of a game."""
    max_move_empties: pydantic.PositiveInt = 16
    """Maximum number of empty squares at which white's moves are compared with the solver."""
    max_start_empties: pydantic.PositiveInt = 20
    """Maximum number of empty squares at which the first position of good play is solved."""


@dataclasses.dataclass(frozen=True)
class _Game:
    boards: tuple[notation.Board, ...]
    num_legal: tuple[int, ...]  # legal moves of each board
    start: int  # the first ply at which black plays well
    result: int  # for white


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.perfect", PerfectBenchConfig, report, argv)


def report(config: PerfectBenchConfig) -> list[str]:
    """Plays, solves, and returns lines of markdown."""
    choice = engine_factory.NetworkChoice(network=config.network, size=6)
    engine = Engine(engine_factory.load_evaluator(choice), config.engine, seed=config.seed)
    rng = random.Random(config.seed)
    num_random = np.arange(config.num_games) * (config.max_random_plies + 1) // config.num_games
    games = [_play(engine, rng, int(number)) for number in num_random]
    score = _scores(engine)
    starts, moves = [], []
    for game in games:
        if game.start < len(game.boards) - 1:
            board = game.boards[game.start]
            if _num_empties(engine, board) <= config.max_start_empties:
                starts.append((-np.sign(score(board)), game.result))
        for ply in range(1, len(game.boards) - 1):
            before, after = game.boards[ply : ply + 2]
            is_judged = _num_empties(engine, before) <= config.max_move_empties
            if not before.is_black_to_move and is_judged and game.num_legal[ply] > 1:
                moves.append((score(before), -score(after)))
    outcomes, kept = np.array(starts).reshape(-1, 2), np.array(moves).reshape(-1, 2)
    won = outcomes[outcomes[:, 0] > 0]
    results = [game.result for game in games]
    rows = [
        ("white won/drawn/lost", "/".join(str(results.count(x)) for x in (1, 0, -1))),
        ("solved positions at which black began to play well", str(len(outcomes))),
        ("proven wins for white among them; won by white", f"{len(won)}, {(won[:, 1] > 0).sum()}"),
        (f"white's moves with at most {config.max_move_empties} empty squares", str(len(kept))),
        ("of them kept the exact result", str((np.sign(kept[:, 0]) == np.sign(kept[:, 1])).sum())),
        ("of them kept the exact score", str((kept[:, 0] == kept[:, 1]).sum())),
    ]
    title = (
        f"{config.engine.num_simulations} simulations, solved from {config.engine.solve_empties}"
    )
    return [measure.markdown_table((title, "count"), rows)]


def _play(engine: Engine, rng: random.Random, num_random: int) -> _Game:
    """Plays a game; black's moves of the first `num_random` plies are random."""
    engine.new_game()
    num_legal = []
    while not engine.is_over:
        legal = engine.legal_actions
        num_legal.append(len(legal))
        is_random = engine.board.is_black_to_move and len(engine.actions) < num_random
        engine.play(rng.choice(legal) if is_random else engine.think().action)
    boards = engine.boards
    start = num_random + num_random % 2  # black moves at even plies
    utility = -engine.utility(engine.final_score())
    return _Game(boards, tuple(num_legal), start, (utility > 0) - (utility < 0))


def _num_empties(engine: Engine, board: notation.Board) -> int:
    return engine.game.size**2 - (board.black | board.white).bit_count()


def _scores(engine: Engine) -> Callable[[notation.Board], int]:
    """Returns a function that gives the exact utility of a position for the side to move."""
    solver = endgame.Solver(engine.game.size, is_reversed=engine.game.is_reversed)
    solve = functools.cache(lambda *sides: engine.utility(solver.solve(*sides).score))
    return lambda board: solve(board.player, board.opponent)


if __name__ == "__main__":
    sys.exit(main())
