"""Which parts of the board a pattern network's estimates of two positions differ by.

The integrated gradient (Sundararajan et al., 2017, arXiv:1703.01365) of the expected score, along
the straight line between the inputs of both positions, divides the difference of the estimates
among the inputs without a rest. Features are sums over images of patterns, so each image has its
own share.
"""

from typing import Literal, NamedTuple

import numpy as np

from azo.engine.pattern_evaluator import PatternEvaluator
from azo.engine.pattern_weights import Weights
from azo.games.host.kernels import legal_moves
from azo.networks import pattern_tables

_STEPS = 64  # midpoints of the integral
Sides = tuple[np.uint64, np.uint64]  # discs of the side to move and of the other side
_Kind = Literal["corner", "edge", "line", "moves", "discs"]
_Squares = tuple[int, ...]


class Part(NamedTuple):
    """What a part of the inputs adds to the difference of two estimates."""

    kind: _Kind
    squares: _Squares  # action numbers: the corner, both ends of the edge or line, or none
    discs: float


def difference(evaluator: PatternEvaluator, first: Sides, second: Sides) -> list[Part]:
    """Divides the expected score of one position less that of another, with as many discs.

    Scores are discs for the side to move. The parts are in descending order, and their sum is the
    difference, up to the error of the integral.
    """
    weights, size = evaluator.weights, evaluator.game.size
    num_discs = int(first[0] | first[1]).bit_count()
    if num_discs != int(second[0] | second[1]).bit_count():
        raise ValueError("positions with different numbers of discs are not compared")
    start, end = (_inputs(evaluator, *sides) for sides in (second, first))
    steps = (np.arange(_STEPS)[:, None] + 0.5) / _STEPS
    bias = np.pad(weights.feature_bias[num_discs], (0, pattern_tables.NUM_GLOBAL_FEATURES))
    change = end - start
    line = bias + start.sum(axis=0) + steps * change.sum(axis=0)
    shares = size**2 * change @ _gradients(weights, num_discs, line).mean(axis=0)
    found: dict[tuple[_Kind, _Squares], float] = {}
    for name, share in zip(_places(evaluator), shares.tolist(), strict=True):
        found[name] = found.get(name, 0.0) + share
    parts = (Part(*name, discs) for name, discs in found.items())
    return sorted(parts, key=lambda part: -part.discs)


def _inputs(evaluator: PatternEvaluator, own: np.uint64, other: np.uint64) -> np.ndarray:
    """Returns what each image, and then each other input, adds to the inputs, `[P + 4, N + 4]`."""
    weights, size = evaluator.weights, evaluator.game.size
    num_images, num_features = len(weights.first_row), weights.feature_bias.shape[1]
    lines = np.arange(len(weights.content))
    mine, theirs = (int(side) >> 8 * lines.astype(object) & 0xFF for side in (own, other))
    content = weights.content.astype(np.uint32)
    contents = (content[lines, mine.astype(int)] + 2 * content[lines, theirs.astype(int)]).sum(0)
    rows = weights.first_row + contents[:num_images]
    on_board = np.uint64(evaluator.game.board_bits)
    moves, replies = (int(legal_moves(*x, on_board)) for x in ((own, other), (other, own)))
    num_own, num_other = int(own).bit_count(), int(other).bit_count()
    others = (
        moves.bit_count() / pattern_tables.TYPICAL_MOVES,
        replies.bit_count() / pattern_tables.TYPICAL_MOVES,
        (num_own - num_other) / size**2,
        (size**2 - num_own - num_other) % 2,
    )
    inputs = np.zeros((num_images + len(others), num_features + len(others)), np.float32)
    inputs[:num_images, :num_features] = weights.table[rows, :num_features]
    inputs[num_images:, num_features:] = np.diag(others)
    return inputs


def _gradients(weights: Weights, num_discs: int, inputs: np.ndarray) -> np.ndarray:
    """Returns the gradients of the expected score by the inputs, both `[M, N + 4]`."""
    widths = [*weights.num_inputs, weights.num_outputs[-1]]
    kernels = [
        kernel[:rows, :columns]
        for kernel, rows, columns in zip(weights.kernels, widths, widths[1:], strict=False)
    ]
    x, active = np.pad(inputs, [(0, 0), (0, len(kernels[0]) - inputs.shape[1])]), []
    for layer, kernel in enumerate(kernels):
        x = x @ kernel + weights.biases[layer, : kernel.shape[1]]
        if layer == 0:
            x += weights.first_bias[num_discs, : kernel.shape[1]]
        if layer < len(kernels) - 1:
            active.append(x > 0)
            x = np.maximum(x, 0)
    chances = np.exp(x - x.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    scores = weights.scores[: chances.shape[1]]
    slope = chances * (scores - (chances @ scores)[:, None])
    while kernels:
        slope = slope @ kernels.pop().T
        slope = slope * active.pop() if active else slope
    return slope[:, : inputs.shape[1]]


def _places(evaluator: PatternEvaluator) -> list[tuple[_Kind, _Squares]]:
    """Returns kind and squares of each image, then of the other inputs.

    An image has one corner, two that end an edge, or is a line.
    """
    size, images = evaluator.game.size, evaluator.images
    corners = {0, size - 1, size * (size - 1), size * size - 1}
    places: list[tuple[_Kind, _Squares]] = []
    for row, length in zip(images.squares.tolist(), images.lengths.tolist(), strict=True):
        own = tuple(sorted(corners & set(row[:length])))
        if len(own) == 1:
            places.append(("corner", own))
        elif len(own) == 2 and sum(own) != size * size - 1:  # else a diagonal
            places.append(("edge", own))
        else:
            places.append(("line", tuple(sorted((row[0], row[length - 1])))))
    return [*places, ("moves", ()), ("moves", ()), ("discs", ()), ("discs", ())]
