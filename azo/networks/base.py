"""Networks and their predictions: the base of all kinds of networks, including your own."""

import functools
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp

from azo.networks import network_config


@flax.struct.dataclass
class Prediction:
    """Outputs of the network, each for the side to move."""

    prior_logits: jax.Array  # [M, A] float32, of all actions, legal or not
    score_logits: jax.Array  # [M, Z] float32, of all final scores
    value: jax.Array  # [M] float32 in [-1, 1], expected result
    score: jax.Array  # [M] float32 in [-1, 1], expected score / largest score, see `mix_values`


Apply = Callable[[jax.Array], Prediction]
"""A function of planes `[M, rows, columns, C]`."""


class Network(nn.Module):
    """The base class of azo's networks, and of yours (`--network.kind package.module:Class`).

    A subclass defines `__call__(planes) -> azo.Prediction`, usually by `self.predict`. `planes` is
    `[M, rows, columns, C]` bool or float. In Othello `C` is 2: discs of the side to move and of the
    opponent; `network.input = "with_moves"` adds the moves of both. `azo.check_network` tests what
    azo relies on:

    * All variables are float32, in the collections `params` and `batch_stats`; no random numbers
      are drawn after `init`. Each parameter has a gradient.
    * Any batch size works, under `jit` and `vmap` too, and as a symbolic size in `jax.export`.
    * Without `is_training`, a prediction depends only on its own planes, and `batch_stats` are only
      read. In training `batch_stats` keep their shapes and types. Statistics over a batch are taken
      over the mesh axis `axis_name`, if there is one, as in flax's BatchNorm.

    Further fields need defaults. Sizes may come from `config`, such as `config.num_channels`. The
    import path may also name a function that takes the first four fields by keyword, such as a
    `functools.partial` of the class.
    """

    config: network_config.NetworkConfig
    board_shape: tuple[int, int]  # rows and columns
    num_actions: int  # `A`; squares first, see `games/protocol.py`
    scores: tuple[int, ...]  # the `Z` final scores of the game, ascending
    is_training: bool = False  # in learning; batch normalisation then uses this batch
    axis_name: str | None = None  # in training, the mesh axis over which a batch is spread

    def predict(self, prior_logits: jax.Array, score_logits: jax.Array) -> Prediction:
        """Returns the outputs, given logits of all actions `[M, A]` and final scores `[M, Z]`."""
        return predict(prior_logits, score_logits, self.scores)

    def evaluate(self, variables: dict[str, Any], planes: jax.Array, *others: Any) -> Prediction:
        """Returns `apply(variables, planes, *others)`, of a type that type checkers know."""
        prediction = self.apply(variables, planes, *others)
        assert isinstance(prediction, Prediction)
        return prediction

    def on_accelerator(self, variables: dict[str, Any]) -> Apply:
        """Returns the function that evaluates planes during play on accelerators.

        Values that depend only on the variables are computed once, before the loops of a search.
        """
        return functools.partial(self.evaluate, variables)

    @property
    def block_size(self) -> int:
        """Positions that a CPU core evaluates at a time."""
        return 64


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
