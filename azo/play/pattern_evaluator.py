"""Leaf evaluator of a live search by a pattern network, compiled by numba.

It computes what `azo.learning.pattern_network` does, of the folded network, one position after the
other. The rows of all images are sums over the rows of the board, of vectors looked up by the discs
of each side there.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from azo.games import patterns, variant
from azo.learning import network_config, pattern_tables
from azo.solver.host.kernels import count, jit, legal_moves

_ROW = np.uint64(0xFF)


class Weights(NamedTuple):
    """A folded pattern network on the host; float32 unless said otherwise."""

    content: np.ndarray  # [8, 256, P] int32, of the mover's discs on a row of the board
    first_row: np.ndarray  # [P] int32, of each image's table
    squares: np.ndarray  # [P, MAX_LENGTH] int32, action numbers, -1 behind the last
    tables: np.ndarray  # [stages, rows, features + MAX_LENGTH]
    feature_bias: np.ndarray  # [discs, features]
    first_bias: np.ndarray  # [discs, units], of the first layer
    log_deviation: np.ndarray  # [discs]
    widths: np.ndarray  # [L + 1] int64, of the layers' inputs and of the last output, the scores
    kernels: np.ndarray  # [L, most, most], of each layer in its first rows and columns
    biases: np.ndarray  # [L, most]
    scores: np.ndarray  # [Z], all final scores by the largest


class PatternEvaluator:
    """A pattern network for Othello; engines and threads may share one."""

    num_streams = 1  # batches that can be evaluated at the same time

    def __init__(
        self,
        game: variant.Variant,
        config: network_config.PatternsConfig,
        params: Mapping[str, Any],
    ):
        """Prepares a network that was trained for `game`; `params` are its arrays on the host."""
        self.game = game
        self._weights = host_weights(game, config, params)
        self._on_board = np.uint64(
            sum(0xFF >> (8 - game.size) << 8 * row for row in range(game.size))
        )

    def compiled(self, batch_size: int, stream: int = 0) -> None:
        """Compiles the evaluation, or loads it, so that it takes no time from a move."""
        none = np.zeros(1, np.uint64)
        self.request(none, none, batch_size=batch_size, stream=stream)

    def request(
        self, player: np.ndarray, opponent: np.ndarray, *, batch_size: int, stream: int = 0
    ) -> np.ndarray:
        """Evaluates positions; arguments and results as of `Evaluator.request`."""
        del stream
        output = np.zeros((batch_size, self.game.num_actions + 2), np.float32)
        _evaluate(player, opponent, self._weights, self.game.size, self._on_board, output)
        output.flags.writeable = False
        return output


def host_weights(
    game: variant.Variant, config: network_config.PatternsConfig, params: Mapping[str, Any]
) -> Weights:
    """Returns a network's weights, folded, for `_evaluate`."""
    shapes = patterns.pattern_set(config.set, game.size)
    digits = np.zeros((8, 8, len(shapes.merged.squares)), np.int64)
    digits[: game.size, : game.size] = shapes.weights(shapes.merged).reshape(
        game.size, game.size, -1
    )
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    names = [f"hidden{i}" for i in range(len(config.hidden_units))]
    names += ["score_output"] if names else []
    widths = [*(len(params[name]["kernel"]) for name in names), len(game.scores)]
    kernels = np.zeros((len(names), max(widths), max(widths)), np.float32)
    biases = np.zeros((len(names), max(widths)), np.float32)
    for layer, name in enumerate(names):
        kernel = params[name]["kernel"]
        kernels[layer, : kernel.shape[0], : kernel.shape[1]] = kernel
        biases[layer, : kernel.shape[1]] = params[name]["bias"]
    none = np.zeros((game.size**2 + 1, 1), np.float32)
    return Weights(
        content=np.einsum("bc,rcp->rbp", bits, digits).astype(np.int32),
        first_row=shapes.first_rows[shapes.merged.pattern],
        squares=shapes.merged.squares,
        tables=np.concatenate(
            pattern_tables.merge(shapes, params[pattern_tables.TABLES], config.num_features), axis=1
        ),
        feature_bias=params["feature_bias"],
        first_bias=params.get("hidden_bias", none),
        log_deviation=params.get("log_deviation", none)[:, 0],
        widths=np.array(widths),
        kernels=kernels,
        biases=biases,
        scores=(game.scores / game.scores[-1]).astype(np.float32),
    )


@jit
def _evaluate(player, opponent, weights, size, on_board, output):
    """Writes `[M, A + 2]` of positions `[M]`: logits, expected result and expected score."""
    num_features = weights.feature_bias.shape[1]
    for number in range(len(player)):
        P, O = player[number], opponent[number]
        num_discs = count(P | O)
        row = weights.first_row.copy()
        for line in range(size):
            shift = np.uint64(8 * line)
            mine = weights.content[line, (P >> shift) & _ROW]
            theirs = weights.content[line, (O >> shift) & _ROW]
            for image in range(len(row)):
                row[image] += mine[image] + 2 * theirs[image]

        table = weights.tables[num_discs * len(weights.tables) // (size * size + 1)]
        x = np.zeros(num_features + 4, np.float32)
        x[:num_features] = weights.feature_bias[num_discs]
        for image in range(len(row)):
            entry = table[row[image]]
            for feature in range(num_features):
                x[feature] += entry[feature]
            for place in range(weights.squares.shape[1]):
                square = weights.squares[image, place]
                if square >= 0:
                    output[number, square] += entry[num_features + place]
        moves, replies = legal_moves(P, O, on_board), legal_moves(O, P, on_board)
        x[num_features] = np.float32(count(moves)) / np.float32(pattern_tables.TYPICAL_MOVES)
        x[num_features + 1] = np.float32(count(replies)) / np.float32(pattern_tables.TYPICAL_MOVES)
        x[num_features + 2] = np.float32(count(P) - count(O)) / np.float32(size * size)
        x[num_features + 3] = np.float32((size * size - num_discs) % 2)
        logits = _score_logits(x, num_discs, weights)
        _write_expected(logits, weights.scores, output[number, -2:])


@jit
def _score_logits(x, num_discs, weights):
    """Returns the logits `[Z]` of all final scores, given features and global features."""
    if len(weights.kernels) == 0:
        deviation = np.exp(weights.log_deviation[num_discs])
        distance = (weights.scores - x[0]) / deviation
        return np.float32(-0.5) * distance * distance
    for layer in range(len(weights.kernels)):
        width = weights.widths[layer + 1]
        y = weights.biases[layer, :width].copy()
        if layer == 0:
            y += weights.first_bias[num_discs]
        for i in range(len(x)):
            row = weights.kernels[layer, i, :width]
            for j in range(width):
                y[j] += x[i] * row[j]
        if layer < len(weights.kernels) - 1:
            for j in range(width):
                y[j] = max(y[j], np.float32(0))
        x = y
    return x


@jit
def _write_expected(logits, scores, output):
    """Writes the expected result and the expected score."""
    highest = logits.max()
    total, result, score = np.float32(0), np.float32(0), np.float32(0)
    for i in range(len(logits)):
        weight = np.exp(logits[i] - highest)
        total += weight
        result += weight * np.sign(scores[i])
        score += weight * scores[i]
    output[0], output[1] = result / total, score / total
