"""Fits the weights of the player `patterns:DEPTH` to positions with known scores.

`python scripts/fit_pattern_weights.py DATA` reads `games/wthor`, `games/eothello_top100.csv.gz` and
`labelled/wthor_24empties.csv.gz` in the folder DATA. It writes
`azo/opponents/pattern_search/patterns.npz`, in two rounds:

1. All positions of the finished games. The target is the exact score of the position with 24 empty
   squares, up to that position and if it is known, else the final score.
2. Also positions of the games after 0 to 3 random moves. The target is the exact score with at most
   12 empty squares, else the value of a search of 4 plies with the weights of round 1.

`scripts/fit_pattern_cuts.py` then measures the deviations for ProbCut.
"""

import argparse
import csv
import gzip
import pathlib
import sys
import time
from collections.abc import Sequence

import numba
import numpy as np

from azo.alphabeta import fitting
from azo.formats import wthor
from azo.games import notation
from azo.games.host import host_rules, kernels
from azo.opponents.pattern_search import evaluation, search
from azo.solver.host import endgame, probcut

RULES = host_rules.make_rules(8, is_reversed=False)
POSITION = np.dtype(
    [
        ("player", np.uint64),
        ("opponent", np.uint64),
        ("target", np.float32),  # margin for the side to move, in discs
        ("weight", np.float32),
    ]
)
EXACT_EMPTIES = 12  # exact targets in round 2
SEARCH_DEPTH = 4  # of the targets with more empty squares
NUM_EXACT, NUM_SEARCHED = 10_000, 4_000  # positions for each number of empty squares
MAX_EMPTIES = 55  # of positions in round 2
MAX_RANDOM_MOVES = 3
GAME_WEIGHT = 0.07  # of positions with targets from games, in round 2
OUTSIDE_WEIGHT = 0.5  # of positions of the neighbouring stages
NUM_OUTSIDE = 2  # empty squares by which these differ at most
_UNKNOWN = 127


def main(argv: Sequence[str]) -> int:
    """Runs both rounds and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, help="folder with games and labelled")
    flags = parser.parse_args(argv)
    games = positions_of_games(flags.data)
    print(f"{len(games)} positions of games, {time.process_time():.0f} s", flush=True)
    start = np.zeros((evaluation.NUM_STAGES, evaluation.shared_entries().max() + 1), np.int16)
    weights = fit(games, start, ridge=10.0, num_steps=40)
    labelled = label(sample(games, seed=20), weights)
    print(f"{len(labelled)} labelled positions, {time.process_time():.0f} s", flush=True)
    games["weight"] *= GAME_WEIGHT
    weights = fit(np.concatenate([games, labelled]), weights, ridge=5.0, num_steps=25)
    save(weights)
    print(f"{time.process_time():.0f} s of processor time")
    return 0


def save(weights: np.ndarray) -> None:
    """Writes the weights without ProbCut."""
    search.FILE.parent.mkdir(exist_ok=True)
    cuts = np.zeros((evaluation.NUM_STAGES, 1), probcut.CUT)
    np.savez_compressed(search.FILE, weights=weights, cuts=cuts)


def positions_of_games(data: pathlib.Path) -> np.ndarray:
    """Returns the positions of all finished games with a choice or a forced move, `POSITION`."""
    games, black_24 = _read_wthor(data)
    with gzip.open(data / "games" / "eothello_top100.csv.gz", "rt") as file:
        games += [notation.parse_moves(row["game_moves"], 8) for row in csv.DictReader(file)]
    black_24 += [_UNKNOWN] * (len(games) - len(black_24))
    moves = np.full((len(games), 60), -1, np.int8)
    for row, game in zip(moves, games, strict=True):
        row[: len(game)] = game
    positions = np.zeros(moves.size, POSITION)
    return positions[: _replay(moves, np.array(black_24), RULES, positions)]


def _read_wthor(data: pathlib.Path) -> tuple[list[Sequence[int]], list[int]]:
    """Returns games, and black's exact scores with 24 empty squares."""
    scores = {}
    with gzip.open(data / "labelled" / "wthor_24empties.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            sign = 1 if row["mover"] == "X" else -1
            scores[row["game"]] = sign * int(row["score_mover"])
    moves, black_24 = [], []
    for path in sorted((data / "games" / "wthor").glob("*.wtb")):
        for number, game in enumerate(wthor.parse(path.read_bytes())):
            moves.append(game.moves)
            black_24.append(scores.get(f"{path.stem[-4:]}:{number}", _UNKNOWN))
    return moves, black_24


@numba.njit
def _replay(moves, black_24, rules, positions):
    """Writes the positions of finished games with their targets; returns their number."""
    num = 0
    for g in range(len(moves)):
        P, O = np.uint64(0x0000000810000000), np.uint64(0x0000001008000000)
        sign, start = 1, num
        for ply in range(60):
            if not kernels.legal_moves(P, O, rules.on_board):
                P, O, sign = O, P, -sign
            if moves[g, ply] < 0 or not kernels.legal_moves(P, O, rules.on_board):
                break
            positions[num].player, positions[num].opponent = P, O
            positions[num].target, positions[num].weight = sign, 1
            num += 1
            P, O = kernels.play(P, O, np.uint64(moves[g, ply]))
            sign = -sign
        if kernels.legal_moves(P, O, rules.on_board) or kernels.legal_moves(O, P, rules.on_board):
            num = start
            continue
        score = sign * host_rules.final_score(P, O, rules)
        for i in range(start, num):
            empties = 64 - kernels.count(positions[i].player | positions[i].opponent)
            is_exact = empties >= 24 and black_24[g] != _UNKNOWN
            positions[i].target *= black_24[g] if is_exact else score
    return num


def sample(games: np.ndarray, *, seed: int) -> np.ndarray:
    """Returns positions after 0 to 3 random moves, evenly by the number of empty squares."""
    rng, empties = np.random.default_rng(seed), num_empties(games)
    parts = []
    for number in range(4, MAX_EMPTIES + 1):
        rows = np.flatnonzero(empties == number)
        num = NUM_EXACT if number <= EXACT_EMPTIES else NUM_SEARCHED
        parts.append(games[rng.choice(rows, min(num, len(rows)), replace=False)])
    chosen = rng.permutation(np.concatenate(parts))
    quarters = np.array_split(chosen, MAX_RANDOM_MOVES + 1)
    moved = [after_random_moves(part, num, seed=seed) for num, part in enumerate(quarters)]
    return distinct(np.concatenate(moved))


def after_random_moves(positions: np.ndarray, num_moves: int, *, seed: int) -> np.ndarray:
    """Returns positions after random moves; those without a legal move are left out."""
    after = positions.copy()
    after["weight"] = 1
    _play_random(after["player"], after["opponent"], num_moves, seed, RULES)
    legal = [kernels.legal_moves(row["player"], row["opponent"], RULES.on_board) for row in after]
    return after[np.array(legal) != 0]


@numba.njit
def _play_random(player, opponent, num_moves, seed, rules):
    np.random.seed(seed)
    for i in range(len(player)):
        P, O = player[i], opponent[i]
        for _ in range(num_moves):
            legal = kernels.legal_moves(P, O, rules.on_board)
            if not legal:
                break
            for _ in range(np.random.randint(kernels.count(legal))):
                legal &= legal - np.uint64(1)
            P, O = kernels.play(P, O, kernels.first(legal))
            if not kernels.legal_moves(P, O, rules.on_board):
                P, O = O, P
        player[i], opponent[i] = P, O


def label(positions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the positions with exact scores or searched values as targets.

    Args:
      positions: `[M]` POSITION, each with a legal move.
      weights: `[NUM_STAGES, shared entries]` int16, for the searches.
    """
    labelled, empties = positions.copy(), num_empties(positions)
    solver = endgame.Solver()
    for i in np.flatnonzero(empties <= EXACT_EMPTIES):
        solution = solver.solve(int(labelled[i]["player"]), int(labelled[i]["opponent"]))
        labelled[i]["target"] = solution.score
    memory = search.make_search(
        weights[:, evaluation.shared_entries()],
        np.zeros((evaluation.NUM_STAGES, 1), probcut.CUT),
        max_depth=SEARCH_DEPTH,
        log_rows=14,
    )
    rows = np.flatnonzero(empties > EXACT_EMPTIES)
    values = _search(labelled["player"][rows], labelled["opponent"][rows], SEARCH_DEPTH, memory)
    labelled["target"][rows] = values / evaluation.UNIT
    return labelled


@numba.njit
def _search(player, opponent, depth, memory):
    values = np.zeros(len(player))
    for i in range(len(player)):
        _, values[i] = search.best_move(player[i], opponent[i], depth, memory)
    return values


def distinct(positions: np.ndarray) -> np.ndarray:
    """Returns each position once, with its mean target and its total weight."""
    rows = positions[np.lexsort((positions["opponent"], positions["player"]))]
    is_new = np.ones(len(rows), bool)
    for name in ("player", "opponent"):
        is_new[1:] &= rows[name][1:] == rows[name][:-1]
    is_new[1:] = ~is_new[1:]
    starts = np.flatnonzero(is_new)
    found = rows[starts].copy()
    found["weight"] = np.add.reduceat(rows["weight"], starts)
    found["target"] = np.add.reduceat(rows["weight"] * rows["target"], starts) / found["weight"]
    return found


def num_empties(positions: np.ndarray) -> np.ndarray:
    """Returns the numbers of empty squares, int64."""
    return 64 - np.bitwise_count(positions["player"] | positions["opponent"]).astype(np.int64)


def fit(positions: np.ndarray, start: np.ndarray, *, ridge: float, num_steps: int) -> np.ndarray:
    """Returns the ridge regression of each stage, `[NUM_STAGES, shared entries]` int16.

    A position that occurs often has the square root of its total weight, since its targets are not
    independent.

    Args:
      positions: `[M]` POSITION.
      start: weights to start from, as returned.
      ridge: strength of the shrinkage to 0, in positions.
      num_steps: steps of conjugate gradients.
    """
    shared, empties = evaluation.shared_entries(), num_empties(positions)
    weights = np.zeros_like(start)
    for stage, (low, high) in enumerate(_bounds()):
        is_near = (empties >= low - NUM_OUTSIDE) & (empties <= high + NUM_OUTSIDE)
        part = distinct(positions[is_near])
        is_outside = (num_empties(part) < low) | (num_empties(part) > high)
        weight = np.sqrt(part["weight"]) * np.where(is_outside, OUTSIDE_WEIGHT, 1)
        rows = list_rows(part, shared)
        before = start[stage] / np.float32(evaluation.UNIT)
        solution = fitting.solve(rows, part["target"], weight, before, ridge, num_steps)
        weights[stage] = np.clip(np.rint(solution * evaluation.UNIT), -32767, 32767)
        error = np.abs(fitting.predict(rows, solution) - part["target"])[~is_outside].mean()
        print(f"stage {stage}: {len(part)} positions, mean error {error:.2f} discs", flush=True)
    return weights


def _bounds() -> list[tuple[int, int]]:
    """Returns the least and the largest number of empty squares of each stage."""
    stages = np.array([evaluation.stage(empties) for empties in range(61)])
    members = [np.flatnonzero(stages == stage) for stage in range(evaluation.NUM_STAGES)]
    return [(int(numbers.min()), int(numbers.max())) for numbers in members]


def list_rows(positions: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Returns `[M, entries]` int32, the distinct weights of the entries of positions."""
    pattern_set = evaluation.PATTERNS
    first_rows = pattern_set.first_rows[pattern_set.merged.pattern]
    sides = positions["player"], positions["opponent"]
    return _list_rows(*sides, pattern_set.contents(1), first_rows, shared, RULES)


@numba.njit
def _list_rows(player, opponent, contents, first_rows, shared, rules):
    rows = np.zeros((len(player), len(first_rows) + 3), np.int32)
    for i in range(len(player)):
        P, O, entries = player[i], opponent[i], rows[i]
        for row in range(8):
            shift = np.uint64(8 * row)
            own, other = P >> shift & np.uint64(255), O >> shift & np.uint64(255)
            for image in range(len(first_rows)):
                entries[image] += contents[row, own, image] + 2 * contents[row, other, image]
        num_own = kernels.count(kernels.legal_moves(P, O, rules.on_board))
        num_other = kernels.count(kernels.legal_moves(O, P, rules.on_board))
        entries[-3] = evaluation.OWN_MOVES + min(num_own, evaluation.MAX_MOVES)
        entries[-2] = evaluation.OTHER_MOVES + min(num_other, evaluation.MAX_MOVES)
        entries[-1] = evaluation.EMPTIES + rules.num_squares - kernels.count(P | O)
        entries[:-3] += first_rows
        entries[:] = shared[entries]
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
