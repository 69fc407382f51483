"""When a shallow search makes a deep one needless: the numbers of multi-ProbCut, and their fit.

For each number of empty squares, exact scores of sampled positions are regressed on a search to a
small depth: score = slope * estimate + offset, give or take `deviation` discs. With a confidence
of 95 % a position is not searched deeper where its score would have to be off by more than 1.64
deviations; so each single cut errs with 5 %, and a whole search as often as was measured
(`benchmarks/probcut.py`). What was fitted is in `probcut.json`, by size and variant.
"""

import json
import pathlib
import random
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azo.solver.host import deep, estimate, kernels, last_squares

FILE = pathlib.Path(__file__).with_name("probcut.json")
MIN_CONFIDENCE, MAX_CONFIDENCE = 0.9, 0.98  # of what was measured

_LEAST_EMPTIES = 10  # with less a search is cheaper than a doubt
_MOST_EMPTIES = 36
_GROWTH = 1.02  # of the deviation with each empty square beyond those that were fitted
_RIDGE = 3.0

_Position = tuple[np.uint64, np.uint64]


def load_cuts(size: int, confidence: float, *, is_reversed: bool) -> deep.Cuts:
    """Returns the cuts for a board and variant.

    Args:
      size: rows of the board.
      confidence: with which each cut is right, 0.9 to 0.98.
      is_reversed: whether fewer discs win.

    Raises:
      ValueError: If the confidence is outside of the range, or nothing was fitted for the board.
    """
    if not MIN_CONFIDENCE <= confidence <= MAX_CONFIDENCE:
        raise ValueError(
            f"confidence {confidence:g}: from {MIN_CONFIDENCE} to {MAX_CONFIDENCE}, or 1 for exact"
        )
    fits = json.loads(FILE.read_text(encoding="utf-8"))
    name = name_of(size, is_reversed=is_reversed)
    if name not in fits:
        raise ValueError(f"confidence {confidence:g}: only {', '.join(fits)} can be solved so")
    return make_cuts(fits[name], confidence)


def name_of(size: int, *, is_reversed: bool) -> str:
    """Returns how `probcut.json` calls a board and variant."""
    return f"{size}x{size} {'reversed' if is_reversed else 'normal'}"


def make_cuts(rows: Sequence[dict[str, Any]], confidence: float) -> deep.Cuts:
    """Returns the cuts of a fit, as `fit` returns it; more empty squares take its last row."""
    deviations = statistics.NormalDist().inv_cdf(confidence)
    cuts = deep.no_cuts()
    by_empties = {row["empties"]: row for row in rows}
    least, most = min(by_empties), max(by_empties)
    for empties in range(65):
        row = by_empties[min(max(empties, least), most)]
        cuts.weights[empties] = row["weights"]
        if _LEAST_EMPTIES <= empties <= _MOST_EMPTIES and "depth" in row:
            growth = _GROWTH ** max(empties - most, 0)
            cuts.depth[empties] = row["depth"]
            cuts.slope[empties] = row["slope"]
            cuts.offset[empties] = row["offset"]
            cuts.margin[empties] = deviations * growth * row["deviation"]
    return cuts


def fit(
    solve: Callable[[int, int], int],
    size: int,
    num_positions: dict[int, int],
    *,
    is_reversed: bool,
    seed: int,
) -> list[dict[str, Any]]:
    """Returns weights and deviations, one row for each number of empty squares.

    Args:
      solve: gives the exact score of a position.
      size: rows of the board.
      num_positions: how many positions to sample and solve, by number of empty squares.
      is_reversed: whether fewer discs win.
      seed: of the sample.
    """
    rng = random.Random(seed)
    rules = last_squares.make_rules(size, is_reversed=is_reversed)
    samples: dict[int, list[_Position]] = {empties: [] for empties in num_positions}
    while any(len(samples[empties]) < num for empties, num in num_positions.items()):
        for empties, position in sample_game(rules, rng):
            if len(samples.get(empties, ())) < num_positions.get(empties, 0):
                samples[empties].append(position)
    scores = {
        empties: np.array([rules.sign * solve(*map(int, x)) for x in positions])
        for empties, positions in samples.items()
    }
    weights = np.zeros((65, estimate.NUM_FEATURES))
    for empties in num_positions:
        near = [e for e in (empties - 1, empties, empties + 1) if e in samples]
        X = np.array([_features(x, rules) for e in near for x in samples[e]])
        y = np.concatenate([scores[e] for e in near])
        weights[empties] = np.linalg.solve(X.T @ X + _RIDGE * np.eye(X.shape[1]), X.T @ y)
    rows: list[dict[str, Any]] = []
    for empties in sorted(num_positions):
        row: dict[str, Any] = {"empties": empties, "num_positions": num_positions[empties]}
        row["weights"] = [round(float(weight), 4) for weight in weights[empties]]
        depth = depth_for(empties)
        if empties >= _LEAST_EMPTIES:
            shallow = np.array(
                [_estimate(x, depth, empties, weights, rules) for x in samples[empties]]
            )
            slope, offset = np.polyfit(shallow, scores[empties], 1)
            error = scores[empties] - slope * shallow - offset
            row |= {"depth": depth, "slope": round(float(slope), 4)}
            row |= {"offset": round(float(offset), 3), "deviation": round(float(error.std()), 3)}
        rows.append(row)
    return rows


def depth_for(empties: int) -> int:
    """Returns the depth of the shallow search: about a fifth of the deep one."""
    return min(max(empties // 5, 2), estimate.MAX_DEPTH)


def sample_game(rules: last_squares.SolverRules, rng: random.Random) -> list[tuple[int, _Position]]:
    """Returns the positions of one game in which the side to move can play, with their empties.

    One move in three is any legal one, the others leave the opponent the fewest replies: between
    them they come near to what a search meets, good moves answered and bad ones refuted.
    """
    low = int(rules.num_squares**0.5) // 2 - 1
    P = np.uint64(1 << 9 * low + 1 | 1 << 9 * low + 8)
    O = np.uint64(1 << 9 * low | 1 << 9 * low + 9)
    empties = rules.num_squares - 4
    game: list[tuple[int, _Position]] = []
    while True:
        children = _children(P, O, rules)
        if not children:
            P, O = O, P
            children = _children(P, O, rules)
            if not children:
                return game
        game.append((empties, (P, O)))
        if rng.random() < 1 / 3:
            P, O = rng.choice(children)
        else:
            P, O = min(children, key=lambda child: _num_replies(child, rules) + rng.random())
        empties -= 1


def _children(P: np.uint64, O: np.uint64, rules: last_squares.SolverRules) -> list[_Position]:
    legal = int(kernels.legal_moves(P, O, rules.on_board))
    found = []
    for square in range(64):
        if legal >> square & 1:
            turned = int(kernels.flips(P, O, np.uint64(square)))
            found.append((np.uint64(int(O) ^ turned), np.uint64(int(P) | turned | 1 << square)))
    return found


def _num_replies(position: _Position, rules: last_squares.SolverRules) -> int:
    return int(kernels.legal_moves(*position, rules.on_board)).bit_count()


def _features(position: _Position, rules: last_squares.SolverRules) -> np.ndarray:
    found = np.zeros(estimate.NUM_FEATURES)
    estimate.features(*position, rules, found)
    return found


def _estimate(
    position: _Position,
    depth: int,
    empties: int,
    weights: np.ndarray,
    rules: last_squares.SolverRules,
) -> float:
    work = estimate.make_work()
    return estimate.search(*position, depth, -1e9, 1e9, empties, weights, rules, work)
