"""The solver's estimate of scores, which orders moves; and the rule of multi-ProbCut.

The estimate is a weighted sum of a few features: mobility, empty squares beside discs, corners,
stable discs and squares beside empty corners. `scripts/fit_probcut.py` fits its weights to exact
scores and writes `probcut.json`, by board size and variant. No exact score depends on it.

The pattern player of `azo.opponents` cuts its search by `threshold`. The solver does not: at a
confidence of 98 % a third of its scores were wrong, for 2.4 times the speed.
"""

import json
import pathlib
from typing import NamedTuple

import numpy as np

from azo.games.host import host_rules
from azo.games.host.kernels import (
    count,
    jit,
    legal_moves,
    num_liberties,
    stable_discs,
    surrounded,
)
from azo.solver.host import fixed_depth

FILE = pathlib.Path(__file__).with_name("probcut.json")
NUM_FEATURES = 10

# When to trust a shallow search instead of a deep one: the score is taken to be within `margin`
# discs of `slope * estimate + offset`.
CUT = np.dtype(
    [
        ("depth", np.int64),  # of the shallow search; 0 for none
        ("slope", np.float64),
        ("offset", np.float64),
        ("margin", np.float64),
    ]
)


class LinearEvaluator(NamedTuple):
    """The estimate as an evaluator of `fixed_depth.search`."""

    weights: np.ndarray  # [65, NUM_FEATURES] float64, by number of empty squares


@jit
def features(P, O, moves, rules):
    """Returns the features of a position with its legal moves, `NUM_FEATURES` floats."""
    empty = rules.on_board & ~(P | O)
    ours, theirs = count(moves), count(legal_moves(O, P, rules.on_board))
    near = surrounded(rules.corners & empty) & ~rules.corners & rules.on_board
    diagonal, beside = near & rules.inside, near & ~rules.inside
    edge = rules.on_board & ~rules.inside & ~near & ~rules.corners
    our_stable = count(stable_discs(P, O, rules.on_board))
    return (
        1.0,
        np.float64(ours - theirs),
        (ours - theirs) / (ours + theirs + 2.0),
        np.float64(num_liberties(P, empty) - num_liberties(O, empty)),
        np.float64(count(P & rules.corners) - count(O & rules.corners)),
        np.float64(our_stable - count(stable_discs(O, P, rules.on_board))),
        np.float64(count(P & diagonal) - count(O & diagonal)),
        np.float64(count(P & beside) - count(O & beside)),
        np.float64(count(P & edge) - count(O & edge)),
        np.float64(count(P) - count(O)),
    )


@jit
def estimate(P, O, moves, is_over, evaluator, rules):
    """Returns the estimate of the score for the side to move, or the score if the game is over."""
    if is_over:
        return np.float64(host_rules.final_score(P, O, rules))
    weights = evaluator.weights[rules.num_squares - count(P | O)]
    values = features(P, O, moves, rules)
    total = 0.0
    for i in range(NUM_FEATURES):
        total += weights[i] * values[i]
    return total


fixed_depth.register(LinearEvaluator, estimate)


@jit
def threshold(cut, value, alpha, beta):
    """Returns what a shallow search has to reach to make a score likely, and on which side.

    This is multi-ProbCut (Buro, "Experiments with Multi-ProbCut and a new high-quality evaluation
    function for Othello", 1997). A static value says on which side of the window to try. The
    second result is True for a score of beta or more, False for alpha or less.
    """
    is_above = cut.slope * value + cut.offset > alpha
    score = beta + cut.margin if is_above else alpha - cut.margin
    return (score - cut.offset) / cut.slope, is_above


def load_evaluator(size: int, *, is_reversed: bool) -> LinearEvaluator:
    """Returns the estimate of the score on a board; its weights are 0 if the board has no fit."""
    fits = json.loads(FILE.read_text(encoding="utf-8"))
    evaluator = LinearEvaluator(np.zeros((65, NUM_FEATURES)))
    if fit := fits.get(board_name(size, is_reversed=is_reversed)):
        evaluator.weights[:] = [row["weights"] for row in _rows(fit)]
    return evaluator


def _rows(fit: list[dict]) -> list[dict]:
    """Returns the row for each number of empty squares; the first and last serve those outside."""
    by_empties = {row["empties"]: row for row in fit}
    least, most = min(by_empties), max(by_empties)
    return [by_empties[min(max(empties, least), most)] for empties in range(65)]


def board_name(size: int, *, is_reversed: bool) -> str:
    """Returns the key of a board and variant in `probcut.json`."""
    return f"{size}x{size} {'reversed' if is_reversed else 'normal'}"
