"""The residual network with a policy and a value head, as AlphaZero's (arXiv:1712.01815).

Logits come out for all actions, legal or not: masking is the caller's, in search and in the loss.
Normalisation is by batch statistics, kept as running averages for play; `fold` turns them into
plain biases and scales, which gives the same function without any normalisation left.

Parameters, statistics, the stream past the blocks and both heads are float32; only the factors of
the tower's convolutions are bfloat16 where `precision` says so. Channels are not padded: XLA pads
those of float16 convolutions to multiples of 8, not of bfloat16 ones, and NVIDIA advises multiples
of 8, better of 64 (docs.nvidia.com/deeplearning/performance/dl-performance-convolutional).
"""

import dataclasses
from typing import Any, Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol, symmetry
from azo.learning import convolution
from azo.search import policy

_EPSILON = 1e-5  # added to variances

Variables = dict[str, Any]  # flax collections: "params", and "batch_stats" unless folded


class NetworkConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Shape of the network."""

    num_blocks: pydantic.NonNegativeInt = 3
    """Residual blocks of two convolutions each."""
    num_channels: pydantic.PositiveInt = 32
    """Channels of every convolution of the tower; accelerators like multiples of 64."""
    input: Literal["two_planes", "signed_plane"] = "two_planes"
    """One plane a side, or a single plane with 1 for the mover's pieces and -1 for the others."""
    policy_channels: pydantic.PositiveInt = 16
    """Channels that the policy head reads."""
    value_channels: pydantic.PositiveInt = 8
    """Channels that the value head reads."""
    value_units: pydantic.PositiveInt = 64
    """Hidden units of the value head."""
    normalisation: Literal["batch", "none"] = "batch"
    """Batch normalisation after every convolution, or none."""
    precision: convolution.Precision = "auto"
    """Of the tower's convolutions: auto is float32 on the CPU and bfloat16 on accelerators."""


class Network(nn.Module):
    """A residual tower; build it with `build`."""

    config: NetworkConfig
    num_actions: int
    is_training: bool = False  # normalise by the statistics of this batch, and update the averages
    axis_name: str | None = None  # in training, the mesh axis over which a batch is spread

    @nn.compact
    def __call__(self, planes: jax.Array) -> policy.Evaluation:
        """Evaluates positions.

        Args:
          planes: `[M, rows, columns, 2]` bool or float, the mover's pieces and the other side's.

        Returns:
          Logits `[M, A]` float32 of all actions and values `[M]` float32 for the side to move.
        """
        config = self.config
        # Squares before examples: see `azo.learning.winograd`.
        x = planes.astype(jnp.float32).transpose(1, 2, 0, 3)
        if config.input == "signed_plane":
            x = x[..., :1] - x[..., 1:]
        x = self._convolved(x, config.num_channels, "stem")
        for block in range(config.num_blocks):
            y = self._convolved(x, config.num_channels, f"block{block}_first")
            x = self._convolved(y, config.num_channels, f"block{block}_second", skip=x)

        p = self._projected(x, config.policy_channels, "policy_projection")
        logits = nn.Dense(self.num_actions, name="policy_logits")(p)
        v = self._projected(x, config.value_channels, "value_projection")
        v = nn.relu(nn.Dense(config.value_units, name="value_hidden")(v))
        # A small last layer: an untrained network calls every position even.
        small = nn.initializers.variance_scaling(0.01, "fan_in", "truncated_normal")
        value = jnp.tanh(nn.Dense(1, name="value_output", kernel_init=small)(v))
        return policy.Evaluation(prior_logits=logits, value=value[..., 0])

    def _convolved(
        self, x: jax.Array, channels: int, name: str, skip: jax.Array | None = None
    ) -> jax.Array:
        shape = (3, 3, x.shape[-1], channels)
        kernel = self.param(f"{name}_kernel", nn.initializers.he_normal(), shape)
        is_plain = self.config.normalisation == "none"
        bias = self._bias(name, channels) if is_plain else None
        x = convolution.convolve(x, kernel, bias, self.config.precision)
        if not is_plain:
            x = self._normalised(x, name)
        return nn.relu(x if skip is None else x + skip)

    def _projected(self, x: jax.Array, channels: int, name: str) -> jax.Array:
        """Returns `[M, squares * channels]`: a 1x1 convolution, flattened."""
        x = nn.Dense(channels, use_bias=False, name=name)(x)
        if self.config.normalisation == "none":
            x = x + jnp.broadcast_to(self._bias(name, channels), x.shape)
        else:
            x = self._normalised(x, name)
        return nn.relu(x).transpose(2, 0, 1, 3).reshape(x.shape[2], -1)

    def _bias(self, name: str, channels: int) -> jax.Array:
        return self.param(f"{name}_bias", nn.initializers.zeros, (channels,))

    def _normalised(self, x: jax.Array, name: str) -> jax.Array:
        return nn.BatchNorm(
            use_running_average=not self.is_training,
            momentum=0.95,
            epsilon=_EPSILON,
            axis_name=self.axis_name,
            name=f"{name}_norm",
        )(x)


def build(game: protocol.Game, config: NetworkConfig) -> Network:
    """Returns the network for a game, in its form for play."""
    return Network(config=config, num_actions=game.num_actions)


def init(game: protocol.Game, config: NetworkConfig, key: jax.Array) -> Variables:
    """Returns fresh variables."""
    planes = game.planes(game.start(1))
    return dict(build(game, config).init(key, planes))


def fold(network: Network, variables: Variables) -> tuple[Network, Variables]:
    """Returns a network without normalisation, and its variables: the same function for play.

    A convolution without bias, then `(x - mean) / sqrt(variance + eps) * scale + bias`, is the
    convolution with a scaled kernel, plus a bias.
    """
    if network.config.normalisation == "none":
        return network, variables
    params = dict(variables["params"])
    for norm, statistics in variables["batch_stats"].items():
        layer = norm.removesuffix("_norm")
        affine = params.pop(norm)
        scale = affine["scale"] / jnp.sqrt(statistics["var"] + _EPSILON)
        params[f"{layer}_bias"] = affine["bias"] - statistics["mean"] * scale
        if layer in params:
            params[layer] = {"kernel": params[layer]["kernel"] * scale[None]}
        else:
            params[f"{layer}_kernel"] = params[f"{layer}_kernel"] * scale[None, None, None]
    plain = network.config.model_copy(update={"normalisation": "none"})
    return network.clone(config=plain), {"params": params}


def evaluator(
    game: protocol.Game,
    network: Network,
    variables: Variables,
    *,
    use_random_symmetry: bool = False,
) -> policy.Evaluate:
    """Returns the network as the search sees it.

    With `use_random_symmetry` it sees each position turned or mirrored at random, and its logits
    are turned back.
    """
    permutations = game.square_symmetries
    undo = symmetry.inverse(permutations)

    def apply(planes: jax.Array) -> policy.Evaluation:
        found = network.apply(variables, planes)
        assert isinstance(found, policy.Evaluation)
        return found

    def evaluate(key: jax.Array, position: protocol.Position) -> policy.Evaluation:
        planes = game.planes(position)
        if not use_random_symmetry:
            return apply(planes)
        which = jax.random.randint(key, planes.shape[:1], 0, len(permutations))
        moved = apply(symmetry.move_planes(permutations, which, planes))
        logits = symmetry.move_policy(undo, which, moved.prior_logits)
        return dataclasses.replace(moved, prior_logits=logits)

    return evaluate
