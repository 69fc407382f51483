"""Weights of a pattern network on the host, folded and laid out for `pattern_evaluator`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from azo.games import patterns, variant
from azo.networks import network_config, pattern_tables
from azo.solver.host import table

LANES = 16  # units, scores and columns of tables are padded to a multiple of it
INPUTS = 8  # of a layer that are multiplied at a time
_IMAGES = 64  # images are padded to a multiple of it, the longest loop of vectors
_NEVER = -1e6  # logit of padding


class Weights(NamedTuple):
    """A folded pattern network on the host; float32 unless said otherwise."""

    content: np.ndarray  # [8, 256, P] uint16, of the mover's discs on a row of the board; padded
    first_row: np.ndarray  # [P] uint32, of each image's table
    places: np.ndarray  # [squares, most, 2] uint32, images with a square, and its columns there
    num_places: np.ndarray  # [squares] int64
    table: np.ndarray  # [rows, columns], features then logits; padded
    feature_bias: np.ndarray  # [discs, features]
    first_bias: np.ndarray  # [discs, most], of the first layer
    num_inputs: np.ndarray  # [L] int64, of each layer, padded to a multiple of `INPUTS`
    num_outputs: np.ndarray  # [L] int64, padded
    kernels: np.ndarray  # [L, most, most], of each layer in its first rows and columns
    biases: np.ndarray  # [L, most]; `_NEVER` is padding
    move_kernel: np.ndarray  # [C, most], of the weights of a move's counts; C is 14 or 0
    move_bias: np.ndarray  # [C]
    corners: np.uint64  # squares
    scores: np.ndarray  # [most], all final scores by the largest
    results: np.ndarray  # [most], their signs


def fold(
    game: variant.Variant, config: network_config.PatternsConfig, params: Mapping[str, Any]
) -> Weights:
    """Returns the weights of a network that was trained for `game`.

    `params` are its arrays on the host.
    """
    shapes = patterns.pattern_set(config.set, game.size)
    images = shapes.merged
    places = [np.argwhere(images.squares == square) for square in range(game.size**2)]
    num_places = np.array([len(found) for found in places])
    columns = np.zeros((len(places), num_places.max(), 2), np.uint32)
    for square, found in enumerate(places):
        columns[square, : len(found)] = found + np.array([0, config.num_features])
    merged = pattern_tables.merge(shapes, params[pattern_tables.TABLES], config.num_features)
    num_columns = _padded(config.num_columns, LANES)
    room = table.aligned_zeros(4 * shapes.num_rows * num_columns)  # rows lie on few lines
    entries = room.view(np.float32).reshape(-1, num_columns)
    np.concatenate(merged, axis=1, out=entries[None, :, : config.num_columns])

    names = [*(f"hidden{i}" for i in range(len(config.hidden_units))), "score_output"]
    shape = [params[name]["kernel"].shape for name in names]
    num_outputs = [_padded(outputs, LANES) for _, outputs in shape]
    num_inputs = [_padded(inputs, INPUTS) for inputs, _ in shape]
    most = max(num_inputs + num_outputs)
    kernels = np.zeros((len(names), most, most), np.float32)
    biases = np.zeros((len(names), most), np.float32)
    biases[-1, len(game.scores) :] = _NEVER
    for layer, name in enumerate(names):
        inputs, outputs = shape[layer]
        kernels[layer, :inputs, :outputs] = params[name]["kernel"]
        biases[layer, :outputs] = params[name]["bias"]
    no_weights = {"kernel": np.zeros((1, 0), np.float32), "bias": np.zeros(0, np.float32)}
    move_weights = params.get(pattern_tables.MOVE_WEIGHTS, no_weights)
    return Weights(
        content=shapes.contents(_IMAGES),
        first_row=shapes.first_rows[images.pattern].astype(np.uint32),
        places=columns,
        num_places=num_places,
        table=entries,
        feature_bias=params["feature_bias"],
        first_bias=_pad_last(params["hidden_bias"], most),
        num_inputs=np.array(num_inputs, np.int64),
        num_outputs=np.array(num_outputs),
        kernels=kernels,
        biases=biases,
        move_kernel=np.ascontiguousarray(move_weights["kernel"].T),
        move_bias=move_weights["bias"],
        corners=np.uint64(variant.square_bits((0, game.size - 1))),
        results=_pad_last(np.sign(game.scores).astype(np.float32), most),
        scores=_pad_last((game.scores / game.scores[-1]).astype(np.float32), most),
    )


def _padded(number: int, unit: int) -> int:
    """Returns the next multiple of a unit."""
    return -(-number // unit) * unit


def _pad_last(array: np.ndarray, unit: int) -> np.ndarray:
    """Returns an array with zeros up to a multiple of `unit` in the last axis."""
    missing = -array.shape[-1] % unit
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)])
