"""Predictions: the outputs that networks of both kinds share."""

from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np


@flax.struct.dataclass
class Prediction:
    """Outputs of the network, each for the side to move."""

    prior_logits: jax.Array  # [M, A] float32, of all actions, legal or not
    score_logits: jax.Array  # [M, Z] float32, of all final scores
    value: jax.Array  # [M] float32 in [-1, 1], expected result
    score: jax.Array  # [M] float32 in [-1, 1], expected score by the largest, see `mix_values`


def predict(
    prior_logits: jax.Array, score_logits: jax.Array, scores: tuple[int, ...]
) -> Prediction:
    """Returns the outputs of a network, given the logits of all final `scores`, ascending."""
    chances = jax.nn.softmax(score_logits)
    score = jnp.array(scores, jnp.float32)
    return Prediction(
        prior_logits=prior_logits,
        score_logits=score_logits,
        value=chances @ jnp.sign(score),
        score=chances @ score / scores[-1],
    )


def small_output(x: jax.Array, number: int, name: str) -> jax.Array:
    """Returns `number` outputs in place of the last axis, near 0 before training."""
    # With a small last layer, an untrained network gives every position a value near 0.
    small = nn.initializers.variance_scaling(0.01, "fan_in", "truncated_normal")
    return nn.Dense(number, name=name, kernel_init=small)(x)


def resize_scores(output: dict[str, jax.Array], scores: np.ndarray, new: np.ndarray) -> Any:
    """Returns the layer of the logits of final scores for the final scores of another board.

    A logit is interpolated between those of the scores that are nearest by their share of the
    largest score, so a distribution keeps its shape. `output` is the kernel `[units, Z]` and bias
    `[Z]` of the layer for the ascending `scores` `[Z]`; the result is for the scores `new`.
    """
    parts = [np.interp(new / new[-1], scores / scores[-1], part) for part in np.eye(len(scores))]
    weights = jnp.asarray(parts, jnp.float32)  # [Z, Y]
    return jax.tree.map(lambda x: jnp.dot(x, weights, precision="highest"), output)
