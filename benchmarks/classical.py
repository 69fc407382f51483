"""How long does a move of `patterns:DEPTH` take, and how good is its static evaluation?

    python -m benchmarks.classical --depths 2 4 6 8 10
    python -m benchmarks.classical --depths --files edax_d16_midgame.csv.gz regab_20.csv.gz

Times are those of positions of games of `patterns:2` against itself from random openings. Files are
OBF or CSV with scores.
"""

import pathlib
import random
import sys
import time
from collections.abc import Sequence

import numpy as np
import pydantic
from scipy import stats

from azo.formats import obf
from azo.games import notation, othello
from azo.measure import classical
from azo.measure.pattern_search import evaluation, shipped
from azo.solver.host import kernels, last_squares
from benchmarks import command, measure

_EIGHT = othello.Othello(8)
_OPENING_PLIES = 8
_EMPTIES = range(16, 49)

Position = tuple[np.uint64, np.uint64]


class ClassicalBenchConfig(command.Settings):
    """How long does a move of patterns:DEPTH take, and how good is its static evaluation?"""

    depths: tuple[pydantic.PositiveInt, ...] = (2, 4, 6, 8, 10)
    """Depths to time."""
    num_positions: pydantic.PositiveInt = 200
    """Positions to time, with 16 to 48 empty squares."""
    files: tuple[pathlib.Path, ...] = ()
    """Files of positions with scores."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command.run("benchmarks.classical", ClassicalBenchConfig, report, argv)


def report(config: ClassicalBenchConfig) -> list[str]:
    """Returns the tables as lines of markdown."""
    lines = []
    if config.depths:
        positions = game_positions(config.num_positions, config.seed)
        rows = [[str(depth), *timing(positions, depth)] for depth in config.depths]
        columns = ("depth", "median, ms", "95th percentile, ms", "mean of nodes")
        lines += ["Processor time a move.", "", measure.markdown_table(columns, rows)]
    if config.files:
        columns = ("file", "positions", "rank correlation", "mean error, discs")
        rows = [[path.name, *accuracy(obf.read(path))] for path in config.files]
        lines += ["Static evaluation.", "", measure.markdown_table(columns, rows)]
    return lines


def game_positions(num: int, seed: int) -> list[Position]:
    """Returns positions of games of `patterns:2` against itself."""
    rules = last_squares.make_rules(8, is_reversed=False)
    rng, program = random.Random(seed), classical.patterns(2, _EIGHT)
    positions: list[Position] = []
    while len(positions) < num:
        P, O = np.uint64(0x0000000810000000), np.uint64(0x0000001008000000)
        for ply in range(60):
            legal = int(kernels.legal_moves(P, O, rules.on_board))
            if not legal:
                P, O = O, P
                continue
            if 64 - (int(P) | int(O)).bit_count() in _EMPTIES:
                positions.append((P, O))
            if ply < _OPENING_PLIES:
                square = rng.choice([i for i in range(64) if legal >> i & 1])
            else:
                square = program.choose(np.array([P]), np.array([O]), np.zeros(1, np.int64))[0][0]
            player, opponent = kernels.play(P, O, np.uint64(square))
            P, O = np.uint64(player), np.uint64(opponent)
    return positions[:num]


def timing(positions: Sequence[Position], depth: int) -> list[str]:
    """Returns median and 95th percentile of milliseconds a move, and the mean of nodes."""
    program, seed = classical.patterns(depth, _EIGHT), np.zeros(1, np.int64)
    times, nodes = [], []
    for P, O in positions:
        player, opponent = np.array([P]), np.array([O])
        start = time.process_time()
        _, visited = program.choose(player, opponent, seed)
        times.append(1000 * (time.process_time() - start))
        nodes.append(visited[0])
    middle, high = np.quantile(times, [0.5, 0.95])
    return [f"{middle:.2f}", f"{high:.2f}", f"{np.mean(nodes):,.0f}"]


def accuracy(problems: Sequence[obf.Problem]) -> list[str]:
    """Returns the number of positions, Spearman's correlation with the scores, the mean error."""
    values, scores = [], []
    for problem in problems:
        score = problem.best_score()
        if score is not None:
            values.append(static_value(problem.board))
            scores.append(score)
    error = np.abs(np.subtract(values, scores)).mean()
    return [f"{len(values)}", f"{stats.spearmanr(values, scores)[0]:.3f}", f"{error:.2f}"]


def static_value(board: notation.Board) -> float:
    """Returns the evaluation of a position without search, in discs; after a forced pass."""
    rules = last_squares.make_rules(8, is_reversed=False)
    P, O, sign = np.uint64(board.player), np.uint64(board.opponent), 1
    if not kernels.legal_moves(P, O, rules.on_board):
        P, O, sign = O, P, -1
    legal = np.uint64(kernels.legal_moves(P, O, rules.on_board))
    if not legal:
        return float(sign * last_squares.final_score(P, O, rules))
    value = evaluation.evaluate(P, O, legal, shipped.load_weights(), rules)
    return sign * value / evaluation.UNIT


if __name__ == "__main__":
    sys.exit(main())
