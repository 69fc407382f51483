"""The tables of pattern networks, as `pattern_network` and evaluators on the host know them.

An entry has the features of a content, then one or more sets of a logit for each square of its
pattern.
"""

from typing import Any

import numpy as np

from azo.games import patterns

TABLES = "tables"  # the parameter whose rows are learned one by one, see `row_optimiser`
POLICY_WEIGHTS = "policy_weights"  # the layer that weighs all sets of logits but the first
TYPICAL_MOVES = 8.0  # legal moves in the unit of the network


def merge(shapes: patterns.PatternSet, tables: Any, num_features: int) -> list[Any]:
    """Returns the table of each pattern for one image on each set of squares, not for two.

    The entry of a content is then the sum of the entries that the images on these squares have.

    Args:
      shapes: the patterns.
      tables: `[stages, rows, width]`, an array of NumPy or JAX.
      num_features: of an entry.

    Returns:
      Arrays of the same library, `[stages, rows of the pattern, width]`.
    """
    return [
        sum(
            tables[:, first + rows][..., _columns(order, num_features, tables.shape[-1])]
            for order, rows in shapes.reordered_rows(number)
        )
        for number, first in enumerate(shapes.first_rows)
    ]


def _columns(order: tuple[int, ...], num_features: int, num_columns: int) -> np.ndarray:
    """Returns the columns of an entry, those of its logits in the order of the first image."""
    logits = np.arange(patterns.MAX_LENGTH)
    logits[list(order)] = np.arange(len(order))
    sets = np.arange(num_features, num_columns, patterns.MAX_LENGTH)
    return np.concatenate([np.arange(num_features), (sets[:, None] + logits).ravel()])
