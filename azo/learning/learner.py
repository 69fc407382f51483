"""Learning from the replay: loss, augmentation and optimiser, one scan for all steps.

The policy loss masks illegal moves, as the search does.
"""

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import flax.struct
import jax
import jax.numpy as jnp
import optax
import pydantic

from azo.games import protocol, symmetry
from azo.learning import optimisers, replay, trajectories
from azo.networks import base, network, pattern_tables
from azo.search import search_tree
from azo.settings import import_paths, setting_types

MAX_GRADIENT_NORM = 5.0  # larger gradients are scaled down
_LAST_RATE = 0.05  # learning rate at the end of a schedule, as a share of its peak
_LATE_SHARE = 0.2  # of a run, over which a trapezoid falls


class LearnerConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Loss and optimiser."""

    optimiser: Annotated[str, setting_types.known_or_import_path("adamw", "sgd", "muon")] = (
        setting_types.never("adamw")
    )
    """adamw; sgd, with momentum, which adds the weight decay to the gradient; muon, for hidden
    kernels, with AdamW for the rest; or MODULE:FUNCTION, see docs/extend.md."""
    learning_rate: setting_types.TracedPositive = setting_types.common(2e-3)
    """Learning rate after warm-up."""
    table_feature_rate: setting_types.TracedPositive = 1e-3
    """Learning rate of the features in the tables of a pattern network, instead of
    learning_rate."""
    table_logit_rate: setting_types.TracedPositive = 1e-2
    """Learning rate of the logits in the tables of a pattern network."""
    schedule: Literal["constant", "cosine", "trapezoid"] = setting_types.in_schedule("trapezoid")
    """Learning rate over the run: constant; or falling to a twentieth, by a cosine, or (trapezoid)
    linearly over the last fifth of the run. A trapezoid run can be extended at its peak rate."""
    warmup_steps: setting_types.TracedCount = 50
    """Steps over which the learning rate rises from nearly 0."""
    momentum: Annotated[float, pydantic.Field(ge=0, lt=1)] = setting_types.in_schedule(0.9)
    """Momentum of SGD, first decay of AdamW; Muon's momentum is 0.95."""
    weight_decay: setting_types.TracedNonNegative = 1e-4
    """Weight decay of kernels. Biases and scales do not decay, nor do output layers with Muon."""
    l2_weight: setting_types.TracedNonNegative = 0.0
    """Weight of the L2 loss: the sum of the squares of all kernels, without pattern tables."""
    batch_size: setting_types.Games = setting_types.in_schedule(2048, is_common=True)
    """Examples per optimiser step, over all devices."""
    num_steps: Annotated[int, pydantic.Field(gt=0, le=10**6)] = setting_types.in_schedule(
        12, is_common=True
    )
    """Optimiser steps per iteration."""
    policy_weight: setting_types.TracedNonNegative = 1.0
    """Weight of the policy loss; the value loss, a squared error, has weight 1."""
    score_weight: setting_types.TracedNonNegative = 0.5
    """Weight of the score loss, the cross-entropy of the final score."""
    entropy_bonus: setting_types.TracedNonNegative = 0.0
    """Weight of the entropy bonus: the policy's entropy over legal moves, subtracted from the
    loss."""
    batch_statistics: Literal["global", "device"] = setting_types.in_schedule("global")
    """On several devices, batch normalisation in learning uses the mean and variance of the whole
    batch (global), or of each device's part (device). The latter saves two exchanges between
    devices per layer; results then depend on the number of devices."""
    augment: bool = setting_types.in_schedule(False)
    """Apply a random symmetry to each example. Pattern networks are symmetric and do not need
    it."""

    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "schedule": "constant",
        "warmup_steps": 100,
        "batch_size": 512,
        "num_steps": 16,
        "score_weight": 0.25,
        "augment": True,
    }


@flax.struct.dataclass
class TrainState:
    """Network and optimiser between steps."""

    params: Any
    batch_stats: Any  # running averages of the normalisation
    optimiser_state: Any
    num_steps: jax.Array  # [] int32, steps taken

    def variables(self) -> network.Variables:
        """Returns the weights."""
        return {"params": self.params, "batch_stats": self.batch_stats}


@flax.struct.dataclass
class Losses:
    """Means over the examples of a step, each a scalar float32, before any weight."""

    policy: jax.Array  # cross-entropy, nats
    value: jax.Array  # squared error
    score: jax.Array  # cross-entropy of the final score, nats, of examples whose score is known
    policy_entropy: jax.Array  # of the targets, the lower bound of the cross-entropy
    gradient_norm: jax.Array  # before scaling down; 0 if no step is taken
    entropy: jax.Array  # of the network's policy over legal moves, nats
    extra: dict[str, jax.Array]  # the terms of options, by their names


ExtraLoss = Callable[[base.Prediction, replay.Examples], jax.Array | float]
"""A term of the loss, `[]` float32, of the predictions for a batch: see `interface.Option.loss`."""


def unknown_losses(extra: Iterable[str] = ()) -> Losses:
    """Returns NaN losses, for an iteration without steps; `extra` names those of options."""
    return all_losses(jnp.nan, extra)


def all_losses(number: float, extra: Iterable[str] = ()) -> Losses:
    """Returns losses that are all one number."""
    names = [field.name for field in dataclasses.fields(Losses) if field.name != "extra"]
    each = {name: jnp.float32(number) for name in names}
    return Losses(**each, extra={name: jnp.float32(number) for name in extra})


def rate_factor(config: LearnerConfig, num_steps: jax.Array, progress: jax.Array) -> jax.Array:
    """Returns the step size after a share `progress` of the run, as a share of the peak."""
    factor = jnp.minimum((num_steps + 1) / (config.warmup_steps + 1), 1.0)
    progress = jnp.minimum(progress, 1.0)
    decays: dict[str, jax.Array | float] = {
        "constant": 1.0,
        "cosine": (1 + jnp.cos(jnp.pi * progress)) / 2,
        "trapezoid": jnp.minimum((1 - progress) / _LATE_SHARE, 1.0),
    }
    return factor * (_LAST_RATE + (1 - _LAST_RATE) * decays[config.schedule])


def make_optimiser(
    config: LearnerConfig,
    network_config: network.NetworkConfig,
    progress: jax.Array | float = 0.0,
) -> optax.GradientTransformation:
    """Returns the optimiser of a network at a share of the run, see `rate_factor`."""

    def factor(num_steps: jax.Array) -> jax.Array:
        return rate_factor(config, num_steps, jnp.asarray(progress))

    def rate(num_steps: jax.Array) -> jax.Array:
        return config.learning_rate * factor(num_steps)

    def scaled_tables(tables: jax.Array, _: Any) -> jax.Array:
        column = jax.lax.broadcasted_iota(jnp.int32, tables.shape, tables.ndim - 1)
        is_feature = column < network_config.patterns.num_features
        return tables * jnp.where(is_feature, config.table_feature_rate, config.table_logit_rate)

    decay = config.weight_decay
    if config.optimiser == "adamw":
        descent = optax.adamw(rate, b1=config.momentum, weight_decay=decay, mask=_is_kernel)
    elif config.optimiser == "muon":
        descent = optax.contrib.muon(
            rate,
            weight_decay=decay,  # only of hidden kernels
            adam_b1=config.momentum,
            muon_weight_dimension_numbers=optimisers.hidden_kernels,
            consistent_rms=optimisers.ROOT_MEAN_SQUARE,
        )
    elif import_paths.is_path(config.optimiser):
        descent = import_paths.load("learner.optimiser", config.optimiser)(rate, config)
    else:
        descent = optax.chain(
            optax.add_decayed_weights(decay, mask=_is_kernel),
            optax.sgd(rate, momentum=config.momentum),
        )
    dense = optax.chain(optax.clip_by_global_norm(MAX_GRADIENT_NORM), descent)
    tables = optax.chain(
        optimisers.scale_by_row_rms(),
        optax.scale_by_learning_rate(factor),
        optax.stateless_with_tree_map(scaled_tables),
    )
    return optax.partition(
        {"dense": dense, "tables": tables},
        lambda params: {x: "tables" if x == pattern_tables.TABLES else "dense" for x in params},
    )


def init(optimiser: optax.GradientTransformation, variables: network.Variables) -> TrainState:
    """Returns the state of a network before the first step."""
    params, batch_stats = variables["params"], variables.get("batch_stats", {})
    return TrainState(params, batch_stats, optimiser.init(params), jnp.int32(0))


def learn(
    game: protocol.Game,
    model: network.Network,
    optimiser: optax.GradientTransformation,
    key: jax.Array,
    train_state: TrainState,
    sample: Callable[[jax.Array], replay.Examples],
    draws: jax.Array | None = None,
    *,
    config: LearnerConfig,
    score_share: float = 0.0,
    axis_name: str | None = None,
    extra_losses: Mapping[str, ExtraLoss] = types.MappingProxyType({}),
) -> tuple[TrainState, Losses]:
    """Takes `config.num_steps` steps `S`, each on newly drawn examples, and returns mean losses.

    The `model` is in its form for training. The `key` for draws and symmetries differs on each
    device. `sample` returns this device's share of a batch, given the step's entry of `draws`
    `[S, ...]`, such as the rows of each batch; without `draws`, a random key a step. Gradients are
    averaged over the mesh axis `axis_name`; None for one device.
    """
    gradient_of = jax.value_and_grad(loss, argnums=2, has_aux=True)

    def step(state: TrainState, inputs: tuple) -> tuple[TrainState, Losses]:
        key, draw = inputs
        (_, (losses, batch_stats)), gradient = gradient_of(
            game, model, state.params, state.batch_stats, key, sample(draw),
            config=config, score_share=score_share, axis_name=axis_name,
            extra_losses=extra_losses,
        )  # fmt: skip
        if axis_name is not None:
            gradient, losses, batch_stats = jax.lax.pmean(
                (gradient, losses, batch_stats), axis_name
            )
        updates, optimiser_state = optimiser.update(gradient, state.optimiser_state, state.params)
        state = dataclasses.replace(
            state,
            params=optax.apply_updates(state.params, updates),
            batch_stats=batch_stats,
            optimiser_state=optimiser_state,
            num_steps=state.num_steps + 1,
        )
        return state, losses.replace(gradient_norm=optax.tree.norm(gradient))

    keys = jax.vmap(jax.random.split)(jax.random.split(key, config.num_steps))
    inputs = keys[:, 1], keys[:, 0] if draws is None else draws
    train_state, losses = jax.lax.scan(step, train_state, inputs)
    return train_state, jax.tree.map(jnp.mean, losses)


def loss(
    game: protocol.Game,
    model: network.Network,
    params: Any,
    batch_stats: Any,
    key: jax.Array,
    examples: replay.Examples,
    *,
    config: LearnerConfig,
    score_share: float = 0.0,
    axis_name: str | None = None,
    extra_losses: Mapping[str, ExtraLoss] = types.MappingProxyType({}),
) -> tuple[jax.Array, tuple[Losses, Any]]:
    """Returns the total loss of a batch, its terms, and the new running averages.

    It is that of play if the model is not in training and `config` does not augment.
    """
    position = game.unpack(examples.board)
    planes = network.planes_of(game, model.config, position)
    legal, target = game.legal_mask(position), examples.policy
    if config.augment:
        permutations = game.square_symmetries
        which = jax.random.randint(key, examples.value.shape, 0, len(permutations))
        planes = symmetry.move_planes(permutations, which, planes)
        legal, target = (
            symmetry.move_policy(game.action_symmetries, which, x) for x in (legal, examples.policy)
        )
    prediction, updated = model.apply(
        {"params": params, "batch_stats": batch_stats},
        planes,
        mutable=["batch_stats"],
    )
    losses = _losses(game, prediction, legal, target, examples, score_share, axis_name)
    total = config.policy_weight * losses.policy + losses.value
    if extra_losses:
        if config.augment:  # as if the network had seen the examples themselves
            back = symmetry.inverse(game.action_symmetries)
            logits = symmetry.move_policy(back, which, prediction.prior_logits)
            prediction = dataclasses.replace(prediction, prior_logits=logits)
        extra = {name: jnp.float32(x(prediction, examples)) for name, x in extra_losses.items()}
        losses = dataclasses.replace(losses, extra=extra)
        total += sum(extra.values())
    if not setting_types.is_zero(config.entropy_bonus):
        total -= config.entropy_bonus * losses.entropy
    if not setting_types.is_zero(config.score_weight):
        total += config.score_weight * losses.score
    if not setting_types.is_zero(config.l2_weight):
        dense = {name: x for name, x in params.items() if name != pattern_tables.TABLES}
        kernels = jax.tree.map(lambda x, is_kernel: x * is_kernel, dense, _is_kernel(dense))
        total += config.l2_weight * optax.tree.norm(kernels, squared=True)
    return total, (losses, updated.get("batch_stats", batch_stats))


def _losses(
    game: protocol.Game,
    prediction: base.Prediction,
    legal: jax.Array,
    target: jax.Array,
    examples: replay.Examples,
    score_share: float,
    axis_name: str | None,
) -> Losses:
    log_policy = jax.nn.log_softmax(search_tree.mask_illegal(prediction.prior_logits, legal))
    cross_entropy = -jnp.where(legal, target * log_policy, 0.0).sum(axis=-1)
    entropy = -jnp.where(legal, jnp.exp(log_policy) * log_policy, 0.0).sum(axis=-1)
    target_entropy = -jnp.where(target > 0, target * jnp.log(jnp.maximum(target, 1e-9)), 0.0)
    value = search_tree.mix_values(prediction.value, prediction.score, score_share)
    row = jnp.searchsorted(jnp.asarray(game.scores), examples.score)
    log_chance = jax.nn.log_softmax(prediction.score_logits)
    log_chance = jnp.take_along_axis(log_chance, row[:, None], axis=1)[:, 0]
    is_known = examples.score != trajectories.UNKNOWN_SCORE
    num_known = is_known.sum(dtype=jnp.float32)
    if axis_name is not None:  # so that the mean over devices is the mean over all examples
        num_known = jax.lax.pmean(num_known, axis_name)
    return Losses(
        policy=cross_entropy.mean(),
        value=jnp.square(value - examples.value).mean(),
        score=jnp.where(is_known, -log_chance, 0.0).sum() / jnp.maximum(num_known, 1e-9),
        policy_entropy=target_entropy.sum(axis=-1).mean(),
        gradient_norm=jnp.float32(0),
        entropy=entropy.mean(),
        extra={},
    )


def _is_kernel(params: Any) -> Any:
    return jax.tree.map(lambda x: x.ndim > 1, params)
