"""The residual network with a policy and a value head, as AlphaZero's (arXiv:1712.01815).

The policy may have a network of its own instead of a head. Two more heads, for training alone,
predict the end of the game as KataGo's do (arXiv:1902.10565, section 4.1): whose disc will be on
each square, and the final difference in discs.

Logits come out for all actions, legal or not: masking is the caller's, in search and in the loss.
Normalisation is by batch statistics, kept as running averages for play; `fold` turns them into
plain biases and scales, which gives the same function without any normalisation left.

Parameters, statistics, the stream past the blocks and all heads are float32; only the factors of
the towers' 3x3 convolutions are bfloat16 where `precision` says so. Channels are not padded: XLA
pads those of float16 convolutions to multiples of 8, not of bfloat16 ones, and NVIDIA advises
multiples of 8, better of 64
(docs.nvidia.com/deeplearning/performance/dl-performance-convolutional).
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.games.symmetry import inverse, move_planes, move_policy
from azo.learning.cpu import convolution, normalisation
from azo.search import improvement

Symmetry = Literal["none", "random", "average"]
Variables = dict[str, Any]  # flax collections: "params", and "batch_stats" unless folded


class NetworkConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Shape of the network."""

    num_blocks: pydantic.NonNegativeInt = 3
    """Residual blocks of two convolutions each."""
    num_channels: pydantic.PositiveInt = 32
    """Channels of every convolution of the tower; accelerators like multiples of 64."""
    block_channels: tuple[pydantic.PositiveInt, ...] = ()
    """Channels of each block, in place of num_blocks; num_channels are then those of the stem."""
    input: Literal["two_planes", "signed_plane"] = "two_planes"
    """One plane a side, or a single plane with 1 for the mover's pieces and -1 for the others."""
    policy_network: Literal["head", "tower", "mlp"] = "head"
    """A head of the common tower, a head of a second such tower, or dense layers on the board."""
    policy_channels: pydantic.PositiveInt = 16
    """Channels that the policy head reads, unless it is dense layers on the board."""
    policy_units: pydantic.NonNegativeInt = 0
    """Hidden units of the policy head, 0 for none."""
    policy_mlp_units: tuple[pydantic.PositiveInt, ...] = (128, 256, 256, 256, 128)
    """Hidden units of the dense layers on the board, from the board to the logits."""
    value_channels: pydantic.PositiveInt = 8
    """Channels that the value head reads."""
    value_units: pydantic.PositiveInt = 64
    """Hidden units of the value head."""
    dropout: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.0
    """Share of the hidden units of heads and dense layers that a training step leaves out."""
    has_ownership_head: bool = False
    """Predict whose disc will be on each square at the end; see learner.ownership_weight."""
    has_margin_head: bool = False
    """Predict the final difference in discs; see learner.margin_weight."""
    normalisation: Literal["batch", "none"] = "batch"
    """Batch normalisation after every convolution, or none."""
    precision: convolution.Precision = "auto"
    """Of the tower's convolutions: auto is float32 on the CPU and bfloat16 on accelerators."""


@flax.struct.dataclass
class Prediction:
    """All that the network says of positions, each seen by the side to move."""

    prior_logits: jax.Array  # [M, A] float32, of all actions, legal or not
    value: jax.Array  # [M] float32 in (-1, 1)
    ownership: jax.Array | None  # [M, squares] float32 in (-1, 1), None without such a head
    margin: jax.Array | None  # [M] float32 in (-1, 1), discs / squares, None without such a head


class Network(nn.Module):
    """A residual tower or two; build it with `build`."""

    config: NetworkConfig
    num_actions: int
    is_training: bool = False  # drop units, normalise by this batch, and update the averages
    axis_name: str | None = None  # in training, the mesh axis over which a batch is spread

    def __call__(self, planes: jax.Array) -> improvement.Evaluation:
        """Evaluates positions, as the search needs it.

        Args:
          planes: `[M, rows, columns, 2]` bool or float, the mover's pieces and the other side's.

        Returns:
          Logits `[M, A]` float32 of all actions and values `[M]` float32 for the side to move.
        """
        found = self.predict(planes)
        return improvement.Evaluation(prior_logits=found.prior_logits, value=found.value)

    @nn.compact
    def predict(self, planes: jax.Array) -> Prediction:
        """Evaluates positions `planes`, as `__call__` has them, with every head there is.

        In training with dropout it needs the stream of random numbers "dropout".
        """
        config = self.config
        # Squares before examples: see `azo.learning.winograd`.
        board = planes.astype(jnp.float32).transpose(1, 2, 0, 3)
        if config.input == "signed_plane":
            board = board[..., :1] - board[..., 1:]
        x = self._tower(board, "")
        p = self._policy_features(board, x)
        logits = nn.Dense(self.num_actions, name="policy_logits")(p)

        v = self._projected(x, config.value_channels, "value_projection")
        hidden = self._hidden(_flat(v), config.value_units, "value_hidden")
        value = self._small_output(hidden, "value_output")[..., 0]
        ownership = margin = None
        if config.has_ownership_head:
            ownership = _flat(self._small_output(v, "ownership_output"))
        if config.has_margin_head:
            margin = self._small_output(hidden, "margin_output")[..., 0]
        return Prediction(logits, value, ownership, margin)

    def _policy_features(self, board: jax.Array, x: jax.Array) -> jax.Array:
        """Returns `[M, features]`, from which the logits are a linear map."""
        config = self.config
        if config.policy_network == "mlp":
            p = _flat(board)
            for layer, units in enumerate(config.policy_mlp_units):
                p = self._hidden(p, units, f"policy_mlp{layer}")
            return p
        if config.policy_network == "tower":
            x = self._tower(board, "policy_")
        p = _flat(self._projected(x, config.policy_channels, "policy_projection"))
        return self._hidden(p, config.policy_units, "policy_hidden") if config.policy_units else p

    def _tower(self, x: jax.Array, prefix: str) -> jax.Array:
        """Returns `[rows, columns, M, channels]` after the stem and all residual blocks."""
        config = self.config
        same = (config.num_channels,) * config.num_blocks
        x = self._convolved(x, config.num_channels, f"{prefix}stem")
        for number, channels in enumerate(config.block_channels or same):
            block = f"{prefix}block{number}"
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
        """Returns `[M, units]` of a dense layer; dropout comes after it, as in AlphaZero General.

        https://github.com/suragnair/alpha-zero-general, othello/pytorch/OthelloNNet.py
        """
        x = nn.relu(nn.Dense(units, name=name)(x))
        return nn.Dropout(self.config.dropout, deterministic=not self.is_training)(x)

    def _small_output(self, x: jax.Array, name: str) -> jax.Array:
        """Returns one number in (-1, 1) in place of the last axis, near 0 before training."""
        # A small last layer: an untrained network calls every position even.
        small = nn.initializers.variance_scaling(0.01, "fan_in", "truncated_normal")
        return jnp.tanh(nn.Dense(1, name=name, kernel_init=small)(x))

    def _bias(self, name: str, channels: int) -> jax.Array:
        return self.param(f"{name}_bias", nn.initializers.zeros, (channels,))

    def _normalisation(self, name: str) -> normalisation.BatchNorm:
        return normalisation.BatchNorm(self.is_training, self.axis_name, name=f"{name}_norm")


def _flat(x: jax.Array) -> jax.Array:
    """Returns `[M, squares * channels]` of `[rows, columns, M, channels]`."""
    return x.transpose(2, 0, 1, 3).reshape(x.shape[2], -1)


def build(game: protocol.Game, config: NetworkConfig) -> Network:
    """Returns the network for a game, in its form for play."""
    return Network(config=config, num_actions=game.num_actions)


@functools.partial(jax.jit, static_argnums=(0, 1))  # one program, not one for each operation
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
        scale = affine["scale"] / jnp.sqrt(statistics["var"] + normalisation.EPSILON)
        params[f"{layer}_bias"] = affine["bias"] - statistics["mean"] * scale
        if layer in params:
            params[layer] = {"kernel": params[layer]["kernel"] * scale[None]}
        else:
            params[f"{layer}_kernel"] = params[f"{layer}_kernel"] * scale[None, None, None]
    plain = network.config.model_copy(update={"normalisation": "none"})
    return network.clone(config=plain), {"params": params}


def folded_evaluator(
    game: protocol.Game,
    config: NetworkConfig,
    variables: Variables,
    *,
    symmetry: Symmetry = "none",
) -> improvement.Evaluate:
    """Returns a trained network as the search sees it; see `evaluator`."""
    return evaluator(game, *fold(build(game, config), variables), symmetry=symmetry)


def evaluator(
    game: protocol.Game,
    network: Network,
    variables: Variables,
    *,
    symmetry: Symmetry = "none",
) -> improvement.Evaluate:
    """Returns the network as the search sees it.

    It sees each position as it is, turned or mirrored at random, or in all `K` ways at the cost of
    `K` evaluations: then probabilities and values are averaged. Logits are turned back.
    """
    permutations = game.square_symmetries
    undo = inverse(permutations)

    def whole(planes: jax.Array) -> improvement.Evaluation:
        found = network.apply(variables, planes)
        assert isinstance(found, improvement.Evaluation)
        return found

    def apply(planes: jax.Array) -> improvement.Evaluation:
        few = _num_cached(network.config.num_channels)
        if planes.shape[0] <= few:
            return whole(planes)
        in_parts = functools.partial(_in_parts, whole, few)
        return jax.lax.platform_dependent(planes, cpu=in_parts, default=whole)

    def moved(which: jax.Array, planes: jax.Array) -> improvement.Evaluation:
        found = apply(move_planes(permutations, which, planes))
        logits = move_policy(undo, which, found.prior_logits)
        return dataclasses.replace(found, prior_logits=logits)

    def evaluate(key: jax.Array, position: protocol.Position) -> improvement.Evaluation:
        planes = game.planes(position)
        if symmetry == "none":
            return apply(planes)
        if symmetry == "random":
            which = jax.random.randint(key, planes.shape[:1], 0, len(permutations))
            return moved(which, planes)
        ways = jnp.repeat(jnp.arange(len(permutations)), planes.shape[0])
        every = moved(ways, jnp.tile(planes, (len(permutations), 1, 1, 1)))
        by_way = jax.tree.map(lambda x: x.reshape(len(permutations), -1, *x.shape[1:]), every)
        return improvement.Evaluation(
            prior_logits=jnp.log(jax.nn.softmax(by_way.prior_logits).mean(axis=0)),
            value=by_way.value.mean(axis=0),
        )

    return evaluate


def _num_cached(num_channels: int) -> int:
    """Returns how many positions a core evaluates at a time.

    What a layer leaves to the next is to stay in the core's cache, and each kernel fetched into it
    is to be used for enough squares. Measured on 8x8 with a cache of 1 MB, against the whole batch
    at once: 1.07 times faster for 64 positions and 1.12 for 256 with 32 channels, 1.05 and 1.6
    with 64 channels, 1.10 for 64 positions with 128.
    """
    return max(256 // num_channels, num_channels // 16, 4)


def _in_parts(
    apply: Callable[[jax.Array], improvement.Evaluation], size: int, planes: jax.Array
) -> improvement.Evaluation:
    """Evaluates `size` positions after another; the last part is filled up with empty boards."""
    batch = planes.shape[0]
    num_parts = -(-batch // size)
    missing = num_parts * size - batch
    full = jnp.concatenate([planes, jnp.zeros((missing, *planes.shape[1:]), planes.dtype)])
    found = jax.lax.map(apply, full.reshape(num_parts, size, *planes.shape[1:]))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:batch], found)
