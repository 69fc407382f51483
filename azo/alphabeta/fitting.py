"""Fits the weights of the evaluation to positions with known values, by ridge regression."""

import functools

import numpy as np

from azo.alphabeta import evaluation
from azo.games.host import kernels
from azo.games.host.compiling import jit

NUM_OUTSIDE = 4  # empty squares by which positions of neighbouring stages differ at most
OUTSIDE_WEIGHT = 0.5  # of them


def num_empties(player: np.ndarray, opponent: np.ndarray) -> np.ndarray:
    """Returns the numbers of empty squares, int64."""
    return 64 - np.bitwise_count(player | opponent).astype(np.int64)


def fit_stage(
    stage: int,
    player: np.ndarray,
    opponent: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    start: np.ndarray,
    *,
    ridge: float,
    num_steps: int,
    decided: float = np.inf,
) -> tuple[np.ndarray, int, float]:
    """Returns the weights of a stage by ridge regression, `[distinct]` float32 in discs.

    Also returns the number of positions that count, and the mean error of those of the stage.

    Args:
      stage: number of the stage.
      player: `[M]` uint64, discs of the sides to move; each has a legal move.
      opponent: `[M]` uint64, discs of the other sides.
      target: `[M]`, margins for the sides to move, in discs.
      weight: `[M]`, of each position.
      start: `[distinct]`, weights that the regression shrinks to.
      ridge: strength of the shrinkage, in positions.
      num_steps: steps of conjugate gradients.
      decided: margin in discs, expected by `start`, at which a position counts half.
    """
    empties = num_empties(player, opponent)
    low, high = stage_bounds(stage)
    is_near = (empties >= low - NUM_OUTSIDE) & (empties <= high + NUM_OUTSIDE)
    part = np.flatnonzero(is_near)
    is_outside = (empties[part] < low) | (empties[part] > high)
    weight = weight[part] * np.where(is_outside, OUTSIDE_WEIGHT, 1)
    rows = list_rows(player[part], opponent[part])
    expected = predict(rows, start)
    weight = weight / (1 + (expected / decided) ** 2)
    rest = target[part].astype(np.float32) - expected
    change = solve(rows, rest, weight, np.zeros_like(start), ridge, num_steps)
    error = np.abs(rest - predict(rows, change))[~is_outside].mean()
    return start + change, len(part), float(error)


def stage_bounds(stage: int) -> tuple[int, int]:
    """Returns the least and the largest number of empty squares of a stage."""
    numbers = [e for e in range(61) if evaluation.stage.py_func(e) == stage]
    return min(numbers), max(numbers)


_SHARED = evaluation.shared_entries()


def list_rows(player: np.ndarray, opponent: np.ndarray) -> np.ndarray:
    """Returns `[M, entries]` int32, the distinct weights of the entries of positions."""
    pattern_set = evaluation.PATTERNS
    first_rows = pattern_set.first_rows[pattern_set.merged.pattern]
    contents = pattern_set.contents(1)
    return _list_rows(player, opponent, contents, first_rows, _SHARED.astype(np.int32))


@jit
def _list_rows(player, opponent, contents, first_rows, shared):
    rows = np.zeros((len(player), len(first_rows) + 3), np.int32)
    for i in range(len(player)):
        P, O, entries = player[i], opponent[i], rows[i]
        for row in range(8):
            shift = np.uint64(8 * row)
            own, other = P >> shift & np.uint64(255), O >> shift & np.uint64(255)
            for image in range(len(first_rows)):
                entries[image] += contents[row, own, image] + 2 * contents[row, other, image]
        num_own = kernels.count(kernels.legal_moves(P, O, kernels.FULL))
        num_other = kernels.count(kernels.legal_moves(O, P, kernels.FULL))
        last = len(first_rows)
        entries[last] = evaluation.OWN_MOVES + min(num_own, evaluation.MAX_MOVES)
        entries[last + 1] = evaluation.OTHER_MOVES + min(num_other, evaluation.MAX_MOVES)
        entries[last + 2] = evaluation.EMPTIES + 64 - kernels.count(P | O)
        for image in range(last):
            entries[image] += first_rows[image]
        for j in range(len(entries)):
            entries[j] = shared[entries[j]]
    return rows


def solve(
    rows: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    start: np.ndarray,
    ridge: float,
    num_steps: int,
) -> np.ndarray:
    """Returns the ridge regression, by conjugate gradients with a diagonal preconditioner.

    Args:
      rows: `[M, entries]` int32, the weights that each position adds up.
      target: `[M]` float32.
      weight: `[M]`, of each position.
      start: `[distinct]` float32, weights to start from.
      ridge: strength of the shrinkage to 0, in positions.
      num_steps: steps of conjugate gradients.
    """
    weight, shrinkage = weight.astype(np.float32), np.float32(ridge)
    counts = np.zeros_like(start)
    _add(rows, weight, counts)
    scale = 1 / (counts + shrinkage)
    solution = np.where(counts == 0, np.float32(0), start)
    residual = -shrinkage * solution
    _add(rows, weight * (target - predict(rows, solution)), residual)
    direction = scale * residual
    energy = float(residual @ direction)
    for _ in range(num_steps):
        image = shrinkage * direction
        _add_product(rows, weight, direction, image)
        step = np.float32(energy / float(direction @ image))
        solution += step * direction
        residual -= step * image
        scaled = scale * residual
        new_energy = float(residual @ scaled)
        direction = scaled + np.float32(new_energy / energy) * direction
        energy = new_energy
    return solution


@functools.partial(jit, fastmath=True)
def _add_product(rows, weight, vector, out):
    """Adds `X^T W X vector` to `out`, where row `i` of X has ones at `rows[i]`."""
    for i in range(len(rows)):
        total = np.float32(0)
        for j in range(rows.shape[1]):
            total += vector[rows[i, j]]
        total *= weight[i]
        for j in range(rows.shape[1]):
            out[rows[i, j]] += total


@jit
def _add(rows, values, out):
    """Adds `X^T values` to `out`."""
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            out[rows[i, j]] += values[i]


@jit
def predict(rows, vector):
    """Returns `X vector`."""
    out = np.zeros(len(rows), np.float32)
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            out[i] += vector[rows[i, j]]
    return out


def to_entries(weights: np.ndarray) -> np.ndarray:
    """Returns `[NUM_STAGES, NUM_ROWS]` int16 for the search, of weights in discs."""
    scaled = np.clip(np.rint(weights * evaluation.UNIT), -32767, 32767).astype(np.int16)
    return np.ascontiguousarray(scaled[:, _SHARED])
