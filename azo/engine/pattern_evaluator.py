"""Leaf evaluator of a live search by a pattern network, compiled by numba.

It computes what `azo.networks.pattern_network` does, of the folded network, one position after the
other. The rows of all images are sums over the rows of the board, of vectors looked up by the discs
of each side there. Only legal moves get logits: a search reads no others.

Loops over units and scores run over padded arrays, so that they are whole vectors. An evaluation
takes less time than a call from Python, so whole simulations are compiled with it.
"""

import functools
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from azo.engine import live_simulation, pattern_weights
from azo.engine.live_tree import DONE, LeafBatch, LiveTree, SearchContext
from azo.engine.pattern_weights import INPUTS, LANES
from azo.games import patterns, variant
from azo.games.host.host_rules import action_of
from azo.games.host.kernels import (
    ONE,
    ZERO,
    count,
    first,
    flips,
    jit,
    legal_moves,
    prefetch,
    surrounded,
)
from azo.networks import network_config, pattern_tables

_ROW = np.uint64(0xFF)
_LOG2E, _LN2 = np.float32(np.log2(np.e)), np.float32(np.log(2))


class PatternEvaluator:
    """A pattern network for Othello; engines and threads may share one."""

    num_streams = 1  # batches that can be evaluated at the same time
    folder: pathlib.Path | None = None

    def __init__(
        self,
        game: variant.Variant,
        config: network_config.PatternsConfig,
        params: Mapping[str, Any],
    ):
        """Prepares a network that was trained for `game`; `params` are its arrays on the host."""
        self.game = game
        self.images = patterns.pattern_set(config.set, game.size).merged
        self.weights = pattern_weights.fold(game, config, params)
        self._on_board = np.uint64(game.board_bits)

    def request(
        self, player: np.ndarray, opponent: np.ndarray, *, batch_size: int, stream: int = 0
    ) -> np.ndarray:
        """Evaluates positions; arguments and results as of `Evaluator.request`."""
        del stream
        output = np.zeros((batch_size, self.game.num_actions + 2), np.float32)
        _evaluate(player, opponent, self.weights, self.game.size, self._on_board, output)
        output.flags.writeable = False
        return output

    def simulate(
        self, tree: LiveTree, batch: LeafBatch, context: SearchContext, budget: int
    ) -> tuple[int, int]:
        """Runs simulations; see `Evaluator.simulate`."""
        output = np.zeros((len(batch.length), self.game.num_actions + 2), np.float32)
        return _simulate(tree, batch, context, budget, self.weights, output)


# Rounding once in a product and a sum; sums in any order, where no other order is meant.
_fused = functools.partial(jit, fastmath={"contract"})
_reordered = functools.partial(jit, fastmath={"contract", "reassoc", "nsz"})


@jit
def _simulate(tree, batch, context, budget, weights, output):
    """Runs simulations; the last two arguments are those of `_evaluate`."""
    num_done, num_evaluated = 0, 0
    while num_done < budget and tree.nodes[0].state != DONE:
        left = budget - num_done
        num_leaves, num_completed = live_simulation.gather(tree, batch, context, left)
        player, opponent = batch.player[:num_leaves], batch.opponent[:num_leaves]
        _evaluate(player, opponent, weights, context.size, context.board.on_board, output)
        live_simulation.expand(tree, batch, num_leaves, output, context)
        num_done += num_leaves + num_completed
        num_evaluated += num_leaves
    return num_done, num_evaluated


@_fused
def _evaluate(player, opponent, weights, size, on_board, output):
    """Writes `[M, A + 2]` of positions `[M]`: logits, expected result and expected score."""
    table, most = weights.table, weights.biases.shape[1]
    num_features = weights.feature_bias.shape[1]
    contents = np.empty(weights.content.shape[2], np.uint16)
    rows = np.empty((2, len(weights.first_row)), np.uint32)
    x, y = np.zeros(most, np.float32), np.zeros(most, np.float32)
    powers, move_weights = np.empty(most, np.int32), np.empty(len(weights.move_bias), np.float32)
    for number in range(len(player)):
        P, O = player[number], opponent[number]
        num_discs = count(P | O)
        if number == 0:
            _find_rows(P, O, size, weights.content, weights.first_row, contents, rows[0])
        if number + 1 < len(player):  # its entries are loaded while this position is evaluated
            row, next_P, next_O = rows[(number + 1) % 2], player[number + 1], opponent[number + 1]
            _find_rows(next_P, next_O, size, weights.content, weights.first_row, contents, row)
            _prefetch_rows(table, row)
        row = rows[number % 2]
        _add_features(table, row, weights.feature_bias[num_discs], x)

        moves = legal_moves(P, O, on_board)
        replies = legal_moves(O, P, on_board)
        x[num_features] = np.float32(count(moves)) / np.float32(pattern_tables.TYPICAL_MOVES)
        x[num_features + 1] = np.float32(count(replies)) / np.float32(pattern_tables.TYPICAL_MOVES)
        x[num_features + 2] = np.float32(count(P) - count(O)) / np.float32(size * size)
        x[num_features + 3] = np.float32((size * size - num_discs) % 2)
        for i in range(num_features + 4, weights.num_inputs[0]):
            x[i] = 0
        _apply_layers(x, y, num_discs, weights, move_weights)
        _write_logits(moves, size, table, row, weights, output[number])
        if len(move_weights):
            _add_counts(
                P, O, moves, replies, size, on_board, weights.corners, move_weights, output[number]
            )
        _write_expected(
            x, weights.scores, weights.results, powers, weights.num_outputs[-1], output[number, -2:]
        )


@_fused
def _prefetch_rows(table, row):
    """Begins to load the entries of all images; `LANES` numbers are a line of the cache."""
    for image in range(len(row)):
        for column in range(0, table.shape[1], LANES):
            prefetch(table, row[image] * table.shape[1] + column)


@_fused
def _find_rows(P, O, size, content, first_row, contents, row):
    """Writes the row of each image's content; its arguments are parts of `Weights`."""
    for image in range(len(contents)):
        contents[image] = 0
    for line in range(size):
        shift = np.uint64(8 * line)
        mine = content[line, (P >> shift) & _ROW]
        theirs = content[line, (O >> shift) & _ROW]
        for image in range(len(contents)):
            contents[image] += mine[image] + theirs[image] + theirs[image]
    for image in range(len(row)):
        row[image] = first_row[image] + contents[image]


@_fused
def _add_features(table, row, bias, x):
    """Writes the features, which all images add to their bias."""
    for feature in range(len(bias)):
        x[feature] = bias[feature]
    for image in range(len(row)):
        entry = table[row[image]]
        for feature in range(len(bias)):
            x[feature] += entry[feature]


@_fused
def _write_logits(moves, size, table, row, weights, output):
    """Writes the logits of legal moves, as all images add them."""
    while moves != ZERO:
        bit = first(moves)
        moves &= moves - ONE
        square = action_of(bit, size)
        logit = np.float32(0)
        for place in range(weights.num_places[square]):
            image, column = weights.places[square, place]
            logit += table[row[image], column]
        output[square] = logit


@_fused
def _add_counts(P, O, moves, before, size, on_board, corners, weights, output):
    """Adds the weighed counts of `move_counts` to the logits of legal moves.

    `before` are the moves of the other side.
    """
    unit = np.float32(1 / pattern_tables.TYPICAL_MOVES)
    while moves != ZERO:
        bit = first(moves)
        moves &= moves - ONE
        disc, flipped = ONE << np.uint64(bit), flips(P, O, bit)
        player, opponent = P | flipped | disc, O & ~flipped
        empty = on_board & ~(player | opponent)
        replies = legal_moves(opponent, player, on_board)
        opened = surrounded(flipped | disc) & empty
        region_size = count(_region(disc, empty))
        num_replies = unit * np.float32(count(replies))
        output[action_of(bit, size)] += (
            weights[0] * np.float32(before & disc != ZERO)
            + weights[1] * unit * np.float32(count(replies & ~before))
            + weights[2] * unit * np.float32(count(surrounded(empty) & player))
            + weights[3] * unit * np.float32(count(opened))
            + weights[4] * unit * np.float32(count(opened & ~replies))
            + weights[5] * np.float32(region_size % 2)
            + weights[6] * np.float32(region_size == 1)
            + weights[7] * np.float32(region_size == 2)
            + weights[8] * num_replies
            + weights[9] * num_replies * num_replies
            + weights[10] * np.float32(replies == ZERO)
            + weights[11] * np.float32(count(replies & corners))
            + weights[12] * unit * np.float32(count(legal_moves(player, opponent, on_board)))
            + weights[13] * unit * np.float32(count(flipped))
        )


@_fused
def _region(disc, empty):
    """Returns the square of a disc and the empty squares around it, as `move_counts` sees them."""
    region = disc
    for _ in range(pattern_tables.REGION_STEPS):
        region |= surrounded(region) & empty
    return region


@_fused
def _apply_layers(x, y, num_discs, weights, move_weights):
    """Replaces the inputs in `x` by the logits `[Z]` of all final scores; `y` is room for it.

    Writes the weights `[C]` of a move's counts.
    """
    for layer in range(len(weights.kernels)):
        if layer == len(weights.kernels) - 1:
            for k in range(len(move_weights)):
                weight = weights.move_bias[k]
                for i in range(weights.move_kernel.shape[1]):
                    weight += weights.move_kernel[k, i] * x[i]
                move_weights[k] = weight
        num_outputs = weights.num_outputs[layer]
        bias, kernel = weights.biases[layer], weights.kernels[layer]
        for j in range(num_outputs):
            y[j] = bias[j]
        if layer == 0:
            bias = weights.first_bias[num_discs]
            for j in range(num_outputs):
                y[j] += bias[j]
        for i in range(0, weights.num_inputs[layer], INPUTS):
            for j in range(num_outputs):
                output = y[j]
                for k in range(INPUTS):
                    output += x[i + k] * kernel[i + k, j]
                y[j] = output
        is_hidden = layer < len(weights.kernels) - 1
        for j in range(num_outputs):
            x[j] = max(y[j], np.float32(0)) if is_hidden else y[j]


@_reordered
def _write_expected(logits, scores, results, powers, num_scores, output):
    """Writes the expected result and the expected score; changes the logits."""
    _exponentiate(logits, powers, num_scores)
    power = powers.view(np.float32)
    total, result, score = np.float32(0), np.float32(0), np.float32(0)
    for i in range(num_scores):
        weight = logits[i] * power[i]
        total += weight
        result += weight * results[i]
        score += weight * scores[i]
    output[0], output[1] = result / total, score / total


@_fused
def _exponentiate(x, powers, number):
    """Writes `exp(x)`, up to a common factor, as the product of `x` and `powers` read as float32.

    The power of 2 has the whole part of the logarithm; `x` is a series for the rest of it, between
    -1/2 and 1/2. A maximum of integers is found by vectors, one of floats is not.
    """
    highest = np.int32(-(2**30))
    for i in range(number):
        x[i] *= _LOG2E
        highest = max(highest, np.int32(x[i]))
    above = np.float32(highest + 1)
    for i in range(number):
        exponent = max(x[i] - above, np.float32(-126))
        whole = np.int32(exponent - np.float32(0.5))
        rest = (exponent - np.float32(whole)) * _LN2
        series = np.float32(1 / 720) * rest + np.float32(1 / 120)
        series = series * rest + np.float32(1 / 24)
        series = series * rest + np.float32(1 / 6)
        series = series * rest + np.float32(1 / 2)
        series = series * rest + np.float32(1)
        x[i] = series * rest + np.float32(1)
        powers[i] = (whole + 127) << 23
