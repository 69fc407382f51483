"""The residual network with a policy and a value head, as AlphaZero's (arXiv:1712.01815).

The value head gives the chances of every final score, as KataGo's score belief (arXiv:1902.10565,
section 4.1); learning a value by its distribution is that of Farebrother et al. (2024,
arXiv:2403.03950). The expected result and the expected score follow from it. Dense layers on the
board may replace the policy head. A further head for training predicts the final owner of each
square, as KataGo's does.

The network gives logits for all actions; search and loss mask the illegal ones. Normalisation uses
batch statistics in training and running averages in play. `fold` turns it into biases and scales.

Parameters, statistics, the residual stream and all heads are float32. `precision` may make the
factors of the tower's 3x3 convolutions bfloat16. Channels are not padded: NVIDIA advises multiples
of 8, better of 64 (docs.nvidia.com/deeplearning/performance/dl-performance-convolutional).

`azo.learning.cpu` holds everything that is there for a CPU compiler only: Winograd's convolution,
normalisation with its own gradient, and evaluation in blocks.
"""

import dataclasses
import functools
from typing import Any, Literal

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.games.symmetry import inverse, move_planes, move_policy
from azo.learning.cpu import batches, convolution, normalisation
from azo.search import improvement

Symmetry = Literal["none", "random", "average"]
Variables = dict[str, Any]  # flax collections: "params", and "batch_stats" unless folded


class NetworkConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Shape of the network."""

    num_blocks: pydantic.NonNegativeInt = 3
    """Residual blocks of two convolutions each."""
    num_channels: pydantic.PositiveInt = 32
    """Channels of every convolution of the tower. Multiples of 64 suit accelerators."""
    block_channels: tuple[pydantic.PositiveInt, ...] = ()
    """Channels of each block, in place of num_blocks; the stem keeps num_channels."""
    input: Literal["two_planes", "signed_plane"] = "two_planes"
    """A plane a side, or one plane with 1 for the mover's pieces and -1 for the opponent's."""
    policy_network: Literal["head", "mlp"] = "head"
    """A head of the tower, or a network of its own: dense layers on the board."""
    policy_channels: pydantic.PositiveInt = 16
    """Input channels of the policy head."""
    policy_units: pydantic.NonNegativeInt = 0
    """Hidden units of the policy head; 0: no hidden layer."""
    policy_mlp_units: tuple[pydantic.PositiveInt, ...] = (128, 256, 256, 256, 128)
    """Hidden units of policy_network 'mlp', from the board to the logits."""
    value_channels: pydantic.PositiveInt = 8
    """Input channels of the value head."""
    value_units: pydantic.PositiveInt = 64
    """Hidden units of the value head."""
    has_ownership_head: bool = False
    """Predict the final owner of each square; see learner.ownership_weight."""
    normalisation: Literal["batch", "none"] = "batch"
    """Batch normalisation after every convolution, or none."""
    precision: convolution.Precision = "auto"
    """Precision of the tower's convolutions; auto: float32 on the CPU, bfloat16 elsewhere."""


@flax.struct.dataclass
class Prediction:
    """Outputs of the network, each for the side to move."""

    prior_logits: jax.Array  # [M, A] float32, of all actions, legal or not
    score_logits: jax.Array  # [M, Z] float32, of all final scores
    value: jax.Array  # [M] float32 in [-1, 1], expected result
    score: jax.Array  # [M] float32 in [-1, 1], expected score by the largest, see `objective`
    ownership: jax.Array | None  # [M, squares] float32 in (-1, 1), None without such a head


class Network(nn.Module):
    """A residual tower with heads; build it with `build`."""

    config: NetworkConfig
    num_actions: int
    scores: tuple[int, ...]  # the final scores of the game, ascending
    is_training: bool = False  # normalise by this batch and update the averages
    axis_name: str | None = None  # in training, the mesh axis over which a batch is spread

    def __call__(self, planes: jax.Array) -> improvement.Evaluation:
        """Evaluates positions with the heads that the search uses.

        Args:
          planes: `[M, rows, columns, 2]` bool or float, the mover's pieces and the other side's.

        Returns:
          Logits `[M, A]` float32 of all actions, expected results and expected scores `[M]`
          float32 for the side to move.
        """
        prediction = self.predict(planes)
        return improvement.Evaluation(prediction.prior_logits, prediction.value, prediction.score)

    @nn.compact
    def predict(self, planes: jax.Array) -> Prediction:
        """Evaluates positions with all heads; `planes` as in `__call__`."""
        config = self.config
        # Squares before examples: see `azo.learning.cpu.winograd`.
        board = planes.astype(jnp.float32).transpose(1, 2, 0, 3)
        if config.input == "signed_plane":
            board = board[..., :1] - board[..., 1:]
        x = self._tower(board)
        p = self._policy_features(board, x)
        logits = nn.Dense(self.num_actions, name="policy_logits")(p)

        v = self._projected(x, config.value_channels, "value_projection")
        hidden = self._hidden(_flat(v), config.value_units, "value_hidden")
        score_logits = self._small_output(hidden, len(self.scores), "score_output")
        chances = jax.nn.softmax(score_logits)
        scores = jnp.array(self.scores, jnp.float32)
        ownership = None
        if config.has_ownership_head:
            ownership = jnp.tanh(_flat(self._small_output(v, 1, "ownership_output")))
        return Prediction(
            prior_logits=logits,
            score_logits=score_logits,
            value=chances @ jnp.sign(scores),
            score=chances @ scores / self.scores[-1],
            ownership=ownership,
        )

    def _policy_features(self, board: jax.Array, x: jax.Array) -> jax.Array:
        """Returns `[M, features]`, from which the logits are a linear map."""
        config = self.config
        if config.policy_network == "mlp":
            p = _flat(board)
            for layer, units in enumerate(config.policy_mlp_units):
                p = self._hidden(p, units, f"policy_mlp{layer}")
            return p
        p = _flat(self._projected(x, config.policy_channels, "policy_projection"))
        return self._hidden(p, config.policy_units, "policy_hidden") if config.policy_units else p

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
        """Returns `[M, units]`: a dense layer and a rectifier."""
        return nn.relu(nn.Dense(units, name=name)(x))

    def _small_output(self, x: jax.Array, number: int, name: str) -> jax.Array:
        """Returns `number` outputs in place of the last axis, near 0 before training."""
        # With a small last layer, an untrained network gives every position a value near 0.
        small = nn.initializers.variance_scaling(0.01, "fan_in", "truncated_normal")
        return nn.Dense(number, name=name, kernel_init=small)(x)

    def _bias(self, name: str, channels: int) -> jax.Array:
        return self.param(f"{name}_bias", nn.initializers.zeros, (channels,))

    def _normalisation(self, name: str) -> normalisation.BatchNorm:
        return normalisation.BatchNorm(self.is_training, self.axis_name, name=f"{name}_norm")


def _flat(x: jax.Array) -> jax.Array:
    """Returns `[M, squares * channels]` of `[rows, columns, M, channels]`."""
    return x.transpose(2, 0, 1, 3).reshape(x.shape[2], -1)


def build(game: protocol.Game, config: NetworkConfig) -> Network:
    """Returns the network for a game, in its form for play."""
    scores = tuple(int(score) for score in game.scores)
    return Network(config=config, num_actions=game.num_actions, scores=scores)


@functools.partial(jax.jit, static_argnums=(0, 1))  # one program, not one for each operation
def init(game: protocol.Game, config: NetworkConfig, key: jax.Array) -> Variables:
    """Returns fresh variables."""
    planes = game.planes(game.start(1))
    return dict(build(game, config).init(key, planes))


def fold(model: Network, variables: Variables) -> tuple[Network, Variables]:
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


def folded_evaluator(
    game: protocol.Game,
    config: NetworkConfig,
    variables: Variables,
    *,
    symmetry: Symmetry = "none",
) -> improvement.Evaluate:
    """Returns the evaluator of a trained network, normalisation folded away."""
    return evaluator(game, *fold(build(game, config), variables), symmetry=symmetry)


def evaluator(
    game: protocol.Game,
    model: Network,
    variables: Variables,
    *,
    symmetry: Symmetry = "none",
) -> improvement.Evaluate:
    """Returns the evaluator of a network for a search.

    It evaluates each position unchanged, moved by a random symmetry, or in all `K` images at the
    cost of `K` evaluations. It then averages probabilities, values and scores. Logits are moved
    back.
    """
    permutations = game.square_symmetries
    undo = inverse(permutations)

    def apply_model(planes: jax.Array) -> improvement.Evaluation:
        evaluation = model.apply(variables, planes)
        assert isinstance(evaluation, improvement.Evaluation)
        return evaluation

    def apply(planes: jax.Array) -> improvement.Evaluation:
        return batches.apply(apply_model, planes, num_channels=model.config.num_channels)

    def apply_moved(which: jax.Array, planes: jax.Array) -> improvement.Evaluation:
        evaluation = apply(move_planes(permutations, which, planes))
        logits = move_policy(undo, which, evaluation.prior_logits)
        return dataclasses.replace(evaluation, prior_logits=logits)

    def evaluate(key: jax.Array, position: protocol.Position) -> improvement.Evaluation:
        planes = game.planes(position)
        if symmetry == "none":
            return apply(planes)
        if symmetry == "random":
            which = jax.random.randint(key, planes.shape[:1], 0, len(permutations))
            return apply_moved(which, planes)
        which = jnp.repeat(jnp.arange(len(permutations)), planes.shape[0])
        images = apply_moved(which, jnp.tile(planes, (len(permutations), 1, 1, 1)))
        images = jax.tree.map(lambda x: x.reshape(len(permutations), -1, *x.shape[1:]), images)
        return improvement.Evaluation(
            prior_logits=jnp.log(jax.nn.softmax(images.prior_logits).mean(axis=0)),
            value=images.value.mean(axis=0),
            score=None if images.score is None else images.score.mean(axis=0),
        )

    return evaluate
