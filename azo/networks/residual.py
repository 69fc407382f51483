"""The residual network with a policy and a value head, as AlphaZero's (arXiv:1712.01815).

The value head gives the chances of every final score, as KataGo's score belief (arXiv:1902.10565,
section 4.1); learning a value by its distribution is that of Farebrother et al. (2024,
arXiv:2403.03950). The expected result and the expected score follow from it. Dense layers on the
board may replace the policy head.

Normalisation uses batch statistics in training and running averages in play. `fold` turns it into
biases and scales.

With `heads = "pooled"` all parameters but those of the outputs for final scores are the same for
boards of any size. ScalableAlphaZero has such heads by graph layers (arXiv:2107.08387), KataGo by
pooled features: the logit of a square sees the tower there and, by a bias, the whole board.

Parameters, statistics, the residual stream and all heads are float32. `precision` may make the
factors of the tower's 3x3 convolutions bfloat16; in play on accelerators the whole tower is then
bfloat16, see `kernels.fused_tower`. Channels are not padded: NVIDIA advises multiples
of 8, better of 64 (docs.nvidia.com/deeplearning/performance/dl-performance-convolutional).

`azo.networks.kernels` holds everything that is there for a CPU compiler only: Winograd's
convolution, normalisation with its own gradient, and evaluation in blocks.
"""

from collections.abc import Mapping
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from azo.networks import base
from azo.networks.kernels import convolution, fused_tower, normalisation


class ResidualNetwork(base.Network):
    """A residual tower with heads; build it with `network.build`."""

    @nn.compact
    def __call__(
        self, planes: jax.Array, projected: Mapping[str, jax.Array] | None = None
    ) -> base.Prediction:
        """Evaluates `[M, rows, columns, C]` bool or float, see `network.planes_of`.

        The heads begin with `projected`, from `fused_tower.apply`, if it is given.
        """
        config = self.config
        # Squares before examples: see `azo.networks.kernels.convolution`.
        board = self._input(planes).transpose(1, 2, 0, 3)
        if projected is None:
            x = self._tower(board)
            projected = {name: self._projected(x, n, name) for name, n in self._widths().items()}
        logits = self._policy_logits(board, projected)
        v = projected["value_projection"]
        of_board = pooled_features(v) if config.heads == "pooled" else _flat(v)
        hidden = self._hidden(of_board, config.value_units, "value_hidden")
        score_logits = base.small_output(hidden, len(self.scores), "score_output")
        return self.predict(logits, score_logits)

    def on_accelerator(self, variables: dict[str, Any]) -> base.Apply:
        """See `base.Network.on_accelerator`; the tower is that of `kernels.fused_tower`."""
        config = self.config
        if self.is_training or config.normalisation != "none" or config.precision == "float32":
            return super().on_accelerator(variables)
        num_blocks = len(config.block_channels) or config.num_blocks
        tower = fused_tower.prepare(variables["params"], num_blocks, [*self._widths()])

        def apply(planes: jax.Array) -> base.Prediction:
            return self.evaluate(variables, planes, fused_tower.apply(tower, self._input(planes)))

        return apply

    def _input(self, planes: jax.Array) -> jax.Array:
        board = planes.astype(jnp.float32)
        return board[..., :1] - board[..., 1:] if self.config.input == "signed_plane" else board

    @property
    def block_size(self) -> int:
        """Positions that a core evaluates at a time, see `kernels`."""
        return convolution.block_size(self.config.num_channels)

    def _widths(self) -> dict[str, int]:
        """Returns the channels of the projections with which the heads begin, by their names."""
        config, widths = self.config, {}
        if config.policy_network != "mlp":
            widths["policy_projection"] = config.policy_channels
        return widths | {"value_projection": config.value_channels}

    def _policy_logits(self, board: jax.Array, projected: Mapping[str, jax.Array]) -> jax.Array:
        config, is_pooled = self.config, self.config.heads == "pooled"
        if config.policy_network == "mlp":
            p = _flat(board)
            for layer, units in enumerate(config.policy_mlp_units):
                p = self._hidden(p, units, f"policy_mlp{layer}")
        else:
            p = projected["policy_projection"]
            p = nn.relu(PooledBias(name="policy_pooled")(p)) if is_pooled else _flat(p)
            if config.policy_units:
                p = self._hidden(p, config.policy_units, "policy_hidden")
        if not is_pooled:
            return nn.Dense(self.num_actions, name="policy_logits")(p)
        logits = _flat(nn.Dense(1, use_bias=False, name="policy_logits")(p))
        missing = self.num_actions - logits.shape[-1]  # a pass is never one of several moves
        return jnp.pad(logits, ((0, 0), (0, missing)))

    def _tower(self, x: jax.Array) -> jax.Array:
        """Returns `[rows, columns, M, channels]` after the stem and all residual blocks."""
        config = self.config
        same = (config.num_channels,) * config.num_blocks
        x = self._convolved(x, config.num_channels, "stem")
        for number, channels in enumerate(config.block_channels or same):
            block = f"block{number}"
            y = self._convolved(x, channels, f"{block}_first")
            if x.shape[-1] != channels:
                x = self._projected(x, channels, f"{block}_shortcut", rectify=False)
            x = self._convolved(y, channels, f"{block}_second", skip=x)
        return x

    def _convolved(
        self, x: jax.Array, channels: int, name: str, skip: jax.Array | None = None
    ) -> jax.Array:
        shape = (3, 3, x.shape[-1], channels)
        kernel = self.param(f"{name}_kernel", nn.initializers.he_normal(), shape)
        is_plain = self.config.normalisation == "none"
        bias = self._bias(name, channels) if is_plain else None
        x = convolution.convolve(x, kernel, bias, self.config.precision)
        if is_plain:
            return nn.relu(x if skip is None else x + skip)
        return self._normalisation(name)(x, skip)

    def _projected(
        self, x: jax.Array, channels: int, name: str, *, rectify: bool = True
    ) -> jax.Array:
        """Returns `[rows, columns, M, channels]`: a 1x1 convolution, normalised."""
        x = nn.Dense(channels, use_bias=False, name=name)(x)
        if self.config.normalisation == "none":
            x += jnp.broadcast_to(self._bias(name, channels), x.shape)
            return nn.relu(x) if rectify else x
        return self._normalisation(name)(x, rectify=rectify)

    def _hidden(self, x: jax.Array, units: int, name: str) -> jax.Array:
        """Returns `[..., units]` of `[..., features]`: a dense layer and a rectifier."""
        return nn.relu(nn.Dense(units, name=name)(x))

    def _bias(self, name: str, channels: int) -> jax.Array:
        return self.param(f"{name}_bias", nn.initializers.zeros, (channels,))

    def _normalisation(self, name: str) -> normalisation.BatchNorm:
        return normalisation.BatchNorm(self.is_training, self.axis_name, name=f"{name}_norm")


class PooledBias(nn.Module):
    """Adds to every square a linear map of the pooled features; it is 0 before training."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Returns `[rows, columns, M, C]` float32, as `x`."""
        channels = x.shape[-1]
        kernel = self.param("kernel", nn.initializers.zeros, (2 * channels, channels))
        return x + jnp.dot(pooled_features(x), kernel)[None, None]


def pooled_features(x: jax.Array) -> jax.Array:
    """Returns `[M, 2 * C]` of `[rows, columns, M, C]`: means over the squares, then maxima.

    KataGo's global pooling (arXiv:1902.10565, section 3.3) has also the mean times functions of the
    board's size. A network learns on one size at a time, so these would add nothing.
    """
    return jnp.concatenate([x.mean(axis=(0, 1)), x.max(axis=(0, 1))], axis=-1)


def _flat(x: jax.Array) -> jax.Array:
    """Returns `[M, squares * channels]` of `[rows, columns, M, channels]`."""
    return x.transpose(2, 0, 1, 3).reshape(x.shape[2], -1)


def fold(
    model: ResidualNetwork, variables: dict[str, Any]
) -> tuple[ResidualNetwork, dict[str, Any]]:
    """Returns an equal network without normalisation, and its variables.

    A convolution followed by `(x - mean) / sqrt(variance + eps) * scale + bias` equals a
    convolution with a scaled kernel and a bias.
    """
    if model.config.normalisation == "none":
        return model, variables
    params = dict(variables["params"])
    for norm, statistics in variables["batch_stats"].items():
        layer = norm.removesuffix("_norm")
        affine = params.pop(norm)
        scale = affine["scale"] / jnp.sqrt(statistics["var"] + normalisation.EPSILON)
        params[f"{layer}_bias"] = affine["bias"] - statistics["mean"] * scale
        if layer in params:
            params[layer] = {"kernel": params[layer]["kernel"] * scale[None]}
        else:
            params[f"{layer}_kernel"] = params[f"{layer}_kernel"] * scale[None, None, None]
    plain = model.config.model_copy(update={"normalisation": "none"})
    return model.clone(config=plain), {"params": params}
