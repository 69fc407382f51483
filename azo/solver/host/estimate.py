"""A cheap guess of the score, and a search to a fixed depth with it; compiled by numba.

The guess is a weighted sum of what players look at: moves, empty squares beside discs, corners,
stable discs, squares beside empty corners. `probcut` fits the weights for each number of empty
squares. It serves selective search alone: no exact score rests on it.
"""

from typing import NamedTuple

import numpy as np

from azo.solver.host import last_squares
from azo.solver.host.kernels import (
    ONE,
    ZERO,
    count,
    first,
    flips,
    jit,
    legal_moves,
    num_liberties,
    stable_discs,
    surrounded,
)

NUM_FEATURES = 10


class Work(NamedTuple):
    """Memory of one search at a time."""

    features: np.ndarray  # [NUM_FEATURES] float64
    boards: np.ndarray  # [levels, 2] uint64
    frames: np.ndarray  # [levels, 5] float64: window, depth, empty squares, best
    legal: np.ndarray  # [levels] uint64: moves left to try


MAX_DEPTH = 6
_INFINITE = 1e9
_LEVELS = 2 * MAX_DEPTH + 2  # a pass before each disc


def make_work() -> Work:
    """Returns memory for `search`."""
    return Work(
        features=np.zeros(NUM_FEATURES),
        boards=np.zeros((_LEVELS, 2), np.uint64),
        frames=np.zeros((_LEVELS, 5)),
        legal=np.zeros(_LEVELS, np.uint64),
    )


@jit
def features(P, O, rules, found):
    """Writes what speaks for the side to move into `found`, `[NUM_FEATURES]` float64."""
    empty = rules.on_board & ~(P | O)
    ours, theirs = (
        count(legal_moves(P, O, rules.on_board)),
        count(legal_moves(O, P, rules.on_board)),
    )
    near = surrounded(rules.corners & empty) & ~rules.corners & rules.on_board
    diagonal = near & rules.inside
    beside = near & ~rules.inside
    edge = rules.on_board & ~rules.inside & ~near & ~rules.corners
    found[0] = 1.0
    found[1] = ours - theirs
    found[2] = (ours - theirs) / (ours + theirs + 2.0)
    found[3] = num_liberties(P, empty) - num_liberties(O, empty)
    found[4] = count(P & rules.corners) - count(O & rules.corners)
    found[5] = count(stable_discs(P, O, rules.on_board)) - count(stable_discs(O, P, rules.on_board))
    found[6] = count(P & diagonal) - count(O & diagonal)
    found[7] = count(P & beside) - count(O & beside)
    found[8] = count(P & edge) - count(O & edge)
    found[9] = count(P) - count(O)


@jit
def guess(P, O, empties, weights, rules, found):
    """Returns the weighted sum of the features; `weights` is `[65, NUM_FEATURES]`."""
    features(P, O, rules, found)
    total = 0.0
    for i in range(NUM_FEATURES):
        total += weights[empties, i] * found[i]
    return total


@jit
def search(P, O, depth, low, high, empties, weights, rules, work):
    """Returns the guess `depth` plies on, under best play by both sides.

    Args:
      P: discs of the side to move.
      O: discs of the other side.
      depth: placed discs to look ahead, 0 to `MAX_DEPTH`.
      low: the result is exact above this,
      high: and below this; outside of them it is a bound.
      empties: number of empty squares.
      weights: `[65, NUM_FEATURES]` float64.
      rules: board and variant.
      work: memory to work in.

    Returns:
      A score for the side to move.
    """
    boards, frames, legal = work.boards, work.frames, work.legal
    level = 0
    while True:
        # A new position.
        score = -_INFINITE
        if depth == 0:
            score = guess(P, O, empties, weights, rules, work.features)
        else:
            moves = legal_moves(P, O, rules.on_board)
            if not moves and not legal_moves(O, P, rules.on_board):
                score = np.float64(last_squares.final_score(P, O, rules))
            else:
                boards[level, 0], boards[level, 1] = P, O
                frames[level, 0], frames[level, 1] = low, high
                frames[level, 2], frames[level, 3] = depth, empties
                frames[level, 4] = -_INFINITE
                legal[level] = moves
                if not moves:
                    level += 1
                    P, O, low, high = O, P, -high, -low
                    continue
        while score > -_INFINITE:
            if level == 0:
                return score
            level -= 1
            frames[level, 4] = max(frames[level, 4], -score)
            best = frames[level, 4]
            score = best if best >= frames[level, 1] or not legal[level] else -_INFINITE
        # The next move: corners first.
        P, O = boards[level, 0], boards[level, 1]
        high = frames[level, 1]
        low = max(frames[level, 0], frames[level, 4])
        depth, empties = np.int64(frames[level, 2]) - 1, np.int64(frames[level, 3]) - 1
        corners = legal[level] & rules.corners
        square = first(corners if corners != ZERO else legal[level])
        legal[level] &= ~(ONE << square)
        turned = flips(P, O, square)
        P, O, low, high = O ^ turned, P | turned | (ONE << square), -high, -low
        level += 1
