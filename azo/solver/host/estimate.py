"""A cheap estimate of the score, compiled by numba: a weighted sum of a few features.

The features are mobility, empty squares beside discs, corners, stable discs and squares beside
empty corners. `probcut.json` holds the weights for each number of empty squares. The estimate
serves selective search alone: no exact score depends on it.
"""

from typing import NamedTuple

import numpy as np

from azo.solver.host import fixed_depth, last_squares
from azo.solver.host.kernels import (
    count,
    jit,
    legal_moves,
    num_liberties,
    stable_discs,
    surrounded,
)

NUM_FEATURES = 10
MAX_DEPTH = 6  # of a search with the estimate


class LinearEvaluator(NamedTuple):
    """The estimate as an evaluator of `fixed_depth.search`."""

    weights: np.ndarray  # [65, NUM_FEATURES] float64, by number of empty squares


def make_evaluator() -> LinearEvaluator:
    """Returns an evaluator with zero weights."""
    return LinearEvaluator(np.zeros((65, NUM_FEATURES)))


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
        return np.float64(last_squares.final_score(P, O, rules))
    weights = evaluator.weights[rules.num_squares - count(P | O)]
    values = features(P, O, moves, rules)
    total = 0.0
    for i in range(NUM_FEATURES):
        total += weights[i] * values[i]
    return total


fixed_depth.register(LinearEvaluator, estimate)
