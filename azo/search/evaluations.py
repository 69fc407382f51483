"""Evaluations of positions: what a search asks of a network, or of another evaluator.

`search_tree.mix_values` says how value and score become the value that a search maximises.
"""

from collections.abc import Callable

import flax.struct
import jax

from azo.games import protocol


@flax.struct.dataclass
class Evaluation:
    """Logits and value of positions, from a network or another evaluator."""

    prior_logits: jax.Array  # [B, A] float32, before softmax, illegal moves not masked
    value: jax.Array  # [B] float32 in [-1, 1], expected result for the side to move
    score: jax.Array | None = None  # [B] float32 in [-1, 1], expected score, see `mix_values`


Evaluate = Callable[[jax.Array, protocol.Position], Evaluation]
"""An evaluator of positions `[B]`: a function of a random key and the positions."""
