"""The tables of pattern networks, as `pattern_network` and evaluators on the host know them.

An entry has the features of a content, then a logit for each square of its pattern.
"""

from typing import Any

import numpy as np

from azo.games import patterns
from azo.networks import network_config

TABLES = "tables"  # the parameter whose rows are learned one by one, see `optimisers`
MOVE_WEIGHTS = "move_weights"  # the layer that weighs the counts of each move
NUM_GLOBAL_FEATURES = 4  # inputs of the first layer besides those of the tables
TYPICAL_MOVES = 8.0  # legal moves in the unit of the network
NUM_MOVE_COUNTS = 14  # of each move, see `move_counts`
REGION_STEPS = 8  # king's steps from a move within which these see a region of empty squares
ENTRY_STEPS = 512  # in a unit of an entry, in compact exports


def array_shapes(
    config: network_config.PatternsConfig, size: int, num_scores: int
) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of all arrays of a pattern network, float32, by their names.

    The name of an array joins the keys that lead to it with slashes.
    """
    num_rows = patterns.pattern_set(config.set, size).num_rows
    num_discs = size**2 + 1
    shapes: dict[str, tuple[int, ...]] = {
        TABLES: (1, num_rows, config.num_columns),
        "feature_bias": (num_discs, config.num_features),
        "hidden_bias": (num_discs, config.hidden_units[0]),
    }
    num_inputs = config.num_features + NUM_GLOBAL_FEATURES
    for layer, number in enumerate(config.hidden_units):
        shapes |= {f"hidden{layer}/kernel": (num_inputs, number), f"hidden{layer}/bias": (number,)}
        num_inputs = number
    outputs = {"score_output": num_scores}
    if config.has_move_counts:
        outputs[MOVE_WEIGHTS] = NUM_MOVE_COUNTS
    for name, number in outputs.items():
        shapes |= {f"{name}/kernel": (num_inputs, number), f"{name}/bias": (number,)}
    return {f"params/{name}": shape for name, shape in shapes.items()}


def rounded(tables: Any) -> np.ndarray:
    """Returns the nearest multiples of 1 / ENTRY_STEPS to the entries, which compress well."""
    return np.rint(np.asarray(tables) * ENTRY_STEPS).astype(np.float32) / ENTRY_STEPS


def merge(shapes: patterns.PatternSet, tables: Any, num_features: int) -> list[Any]:
    """Returns the table of each pattern for one image on each set of squares, not for two.

    The entry of a content is then the sum of the entries that the images on these squares have.
    Given `[1, rows, width]` of NumPy or JAX, the results are arrays of the same library, `[1, rows
    of the pattern, width]`.
    """
    merged = []
    for number, first in enumerate(shapes.first_rows):
        (_, rows), *others = shapes.reordered_rows(number)
        table = tables[:, first : first + len(rows)]
        for order, rows in others:
            # Faster than indices in brackets; JAX checks them unless it clips.
            entries = tables.take(first + rows, axis=1, mode="clip")
            table = table + entries.take(_columns(order, num_features), axis=2, mode="clip")
        merged.append(table)
    return merged


def _columns(order: tuple[int, ...], num_features: int) -> np.ndarray:
    """Returns the columns of an entry, those of its logits in the order of the first image."""
    logits = np.arange(patterns.MAX_LENGTH)
    logits[list(order)] = np.arange(len(order))
    return np.concatenate([np.arange(num_features), num_features + logits])
