"""Learning from the replay: loss, augmentation and optimiser, one scan for all steps.

The policy loss masks illegal moves, as the search does.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import optax
import pydantic

from azo.games import protocol, symmetry
from azo.learning import network, replay
from azo.search import search_tree


class LearnerConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Loss and optimiser."""

    optimiser: Literal["adamw", "sgd"] = "adamw"
    """AdamW, or SGD with momentum that adds the weight decay to the gradient."""
    learning_rate: pydantic.PositiveFloat = 2e-3
    """Step size after warm-up."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Learning rate after warm-up: constant, or down to a twentieth by a cosine."""
    warmup_steps: pydantic.NonNegativeInt = 100
    """Steps of a linear rise of the learning rate from 0."""
    momentum: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.9
    """Momentum of SGD, first decay of AdamW."""
    weight_decay: pydantic.NonNegativeFloat = 1e-4
    """Weight decay of kernels; biases and scales do not decay."""
    l2_weight: pydantic.NonNegativeFloat = 0.0
    """Weight in the loss of the sum of squares of all kernels."""
    max_gradient_norm: pydantic.PositiveFloat = 5.0
    """Norm to which larger gradients are scaled down."""
    batch_size: pydantic.PositiveInt = 512
    """Examples of a step, over all devices."""
    num_steps: pydantic.PositiveInt = 16
    """Optimiser steps in an iteration."""
    policy_weight: pydantic.NonNegativeFloat = 1.0
    """Weight of the policy loss."""
    value_weight: pydantic.NonNegativeFloat = 1.0
    """Weight of the value loss."""
    entropy_bonus: pydantic.NonNegativeFloat = 0.0
    """Weight of the policy's entropy over legal moves, which lowers the loss."""
    ownership_weight: pydantic.NonNegativeFloat = 0.0
    """Weight of the ownership loss; needs network.has_ownership_head."""
    margin_weight: pydantic.NonNegativeFloat = 0.0
    """Weight of the margin loss; needs network.has_margin_head."""
    augment: bool = True
    """Move every example by a random symmetry."""


@flax.struct.dataclass
class TrainState:
    """Network and optimiser between steps."""

    params: Any
    batch_stats: Any  # running averages of the normalisation
    optimiser_state: Any
    num_steps: jax.Array  # [] int32, steps taken


@flax.struct.dataclass
class Losses:
    """Means over the examples of a step, each a scalar float32, before any weight."""

    policy: jax.Array  # cross-entropy, nats
    value: jax.Array  # squared error
    policy_entropy: jax.Array  # of the targets, the lower bound of the cross-entropy
    gradient_norm: jax.Array  # before scaling down; 0 if no step is taken
    entropy: jax.Array  # of the network's policy over legal moves, nats
    ownership: jax.Array  # squared error of a square, 0 without such a head
    margin: jax.Array  # squared error, in units of the board's squares, 0 without such a head


def unknown_losses() -> Losses:
    """Returns NaN losses, for an iteration without steps."""
    return Losses(*[jnp.float32(jnp.nan)] * len(dataclasses.fields(Losses)))


def check_heads(network_config: network.NetworkConfig, config: LearnerConfig) -> None:
    """Raises ValueError if a loss has a weight but the network has no such head."""
    heads = {
        "ownership": (config.ownership_weight, network_config.has_ownership_head),
        "margin": (config.margin_weight, network_config.has_margin_head),
    }
    for name, (weight, has_head) in heads.items():
        if weight and not has_head:
            raise ValueError(
                f"learner.{name}_weight is {weight}, but the network has no such head:"
                f" set network.has_{name}_head to true, or the weight to 0"
            )


def learning_rate(config: LearnerConfig, total_steps: int) -> optax.Schedule:
    """Returns the learning rate by the number of steps taken, in a run of `total_steps`."""
    peak = config.learning_rate
    warmup = min(config.warmup_steps, max(total_steps - 1, 0))
    if config.schedule == "cosine":
        return optax.warmup_cosine_decay_schedule(0.0, peak, warmup, total_steps, peak / 20)
    rise = optax.linear_schedule(0.0, peak, warmup)
    return optax.join_schedules([rise, optax.constant_schedule(peak)], [warmup])


def make_optimiser(config: LearnerConfig, total_steps: int) -> optax.GradientTransformation:
    """Returns the optimiser of a run of `total_steps`."""
    rate = learning_rate(config, total_steps)
    decay = config.weight_decay
    if config.optimiser == "adamw":
        descent = optax.adamw(rate, b1=config.momentum, weight_decay=decay, mask=_is_kernel)
    else:
        descent = optax.chain(
            optax.add_decayed_weights(decay, mask=_is_kernel),
            optax.sgd(rate, momentum=config.momentum),
        )
    return optax.chain(optax.clip_by_global_norm(config.max_gradient_norm), descent)


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
    axis_name: str | None = None,
) -> tuple[TrainState, Losses]:
    """Takes `config.num_steps` steps `S`, each on newly drawn examples.

    Args:
      game: the rules.
      model: the network in its form for training.
      optimiser: from `make_optimiser`.
      key: for draws and symmetries; different on each device.
      train_state: before the first step.
      sample: returns this device's share of a batch, given the step's entry of `draws`.
      draws: `[S, ...]`, such as the rows of each batch; None for a random key a step.
      config: the settings.
      axis_name: mesh axis over which gradients are averaged; None for one device.

    Returns:
      The train state after the last step, and the mean losses of all steps.
    """
    gradient_of = jax.value_and_grad(loss, argnums=2, has_aux=True)

    def step(state: TrainState, inputs: tuple) -> tuple[TrainState, Losses]:
        key, draw = inputs
        (_, (losses, batch_stats)), gradient = gradient_of(
            game, model, state.params, state.batch_stats, key, sample(draw),
            config=config, axis_name=axis_name,
        )  # fmt: skip
        if axis_name is not None:
            gradient, losses, batch_stats = jax.lax.pmean(
                (gradient, losses, batch_stats), axis_name
            )
        updates, optimiser_state = optimiser.update(gradient, state.optimiser_state, state.params)
        params = optax.apply_updates(state.params, updates)
        losses = losses.replace(gradient_norm=optax.tree.norm(gradient))
        return TrainState(params, batch_stats, optimiser_state, state.num_steps + 1), losses

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
    axis_name: str | None = None,
) -> tuple[jax.Array, tuple[Losses, Any]]:
    """Returns the total loss of a batch, its terms, and the new running averages.

    Raises:
      ValueError: ownership or margin have a weight, but the examples have no final boards.
    """
    position = game.unpack(examples.board)
    planes, legal = game.planes(position), game.legal_mask(position)
    if config.augment:
        permutations = game.square_symmetries
        which = jax.random.randint(key, examples.value.shape, 0, len(permutations))
        planes = symmetry.move_planes(permutations, which, planes)
        legal, policy, ownership = jax.tree.map(
            functools.partial(symmetry.move_policy, permutations, which),
            (legal, examples.policy, examples.ownership),
        )
        examples = dataclasses.replace(examples, policy=policy, ownership=ownership)
    prediction, updated = model.apply(
        {"params": params, "batch_stats": batch_stats},
        planes,
        mutable=["batch_stats"],
        method="predict",
    )
    losses = _losses(prediction, legal, examples, config, axis_name)
    return _total(losses, params, config), (losses, updated.get("batch_stats", batch_stats))


def evaluate_loss(
    game: protocol.Game,
    model: network.Network,
    variables: network.Variables,
    examples: replay.Examples,
    *,
    config: LearnerConfig,
) -> Losses:
    """Returns the losses of the network in its form for play, without augmentation."""
    position = game.unpack(examples.board)
    model = model.clone(is_training=False)
    prediction = model.apply(variables, game.planes(position), method="predict")
    assert isinstance(prediction, network.Prediction)
    return _losses(prediction, game.legal_mask(position), examples, config, axis_name=None)


def _losses(
    prediction: network.Prediction,
    legal: jax.Array,
    examples: replay.Examples,
    config: LearnerConfig,
    axis_name: str | None,
) -> Losses:
    target = examples.policy
    log_policy = jax.nn.log_softmax(search_tree.mask_illegal(prediction.prior_logits, legal))
    cross_entropy = -jnp.where(legal, target * log_policy, 0.0).sum(axis=-1)
    entropy = -jnp.where(legal, jnp.exp(log_policy) * log_policy, 0.0).sum(axis=-1)
    target_entropy = -jnp.where(target > 0, target * jnp.log(jnp.maximum(target, 1e-9)), 0.0)
    target_entropy = target_entropy.sum(axis=-1)
    ownership, margin = _final_losses(prediction, examples, config, axis_name)
    return Losses(
        policy=cross_entropy.mean(),
        value=jnp.square(prediction.value - examples.value).mean(),
        policy_entropy=target_entropy.mean(),
        gradient_norm=jnp.float32(0),
        entropy=entropy.mean(),
        ownership=ownership,
        margin=margin,
    )


def _final_losses(
    prediction: network.Prediction,
    examples: replay.Examples,
    config: LearnerConfig,
    axis_name: str | None,
) -> tuple[jax.Array, jax.Array]:
    """Returns ownership and margin losses, means over the examples with a final board."""
    ownership, is_finished = examples.ownership, examples.is_finished
    if ownership is None:
        if config.ownership_weight or config.margin_weight:
            raise ValueError(
                "learner.ownership_weight and learner.margin_weight need examples with final boards"
            )
        return jnp.float32(0), jnp.float32(0)
    if is_finished is None:
        is_finished = jnp.ones_like(examples.value)
    num_finished = is_finished.sum()
    if axis_name is not None:  # so that the mean over devices is the mean over all examples
        num_finished = jax.lax.pmean(num_finished, axis_name)

    def finished_mean(error: jax.Array) -> jax.Array:
        total = jnp.where(is_finished > 0, error, 0.0).sum()
        return total / jnp.where(num_finished > 0, num_finished, 1.0)

    ownership_loss = margin_loss = jnp.float32(0)
    if prediction.ownership is not None:
        ownership_loss = finished_mean(jnp.square(prediction.ownership - ownership).mean(axis=-1))
    if prediction.margin is not None:
        margin_loss = finished_mean(jnp.square(prediction.margin - margin_of(ownership)))
    return ownership_loss, margin_loss


def margin_of(ownership: jax.Array) -> jax.Array:
    """Returns the final difference in discs `[M]`, -1 to 1, of final boards `[M, squares]`.

    Empty squares go to the side with more discs: to the winner, in the reversed game to the loser.
    """
    difference = ownership.sum(axis=-1)
    num_empty = (ownership == 0).sum(axis=-1)
    return (difference + jnp.sign(difference) * num_empty) / ownership.shape[-1]


def _total(losses: Losses, params: Any, config: LearnerConfig) -> jax.Array:
    total = config.policy_weight * losses.policy + config.value_weight * losses.value
    if config.entropy_bonus:
        total -= config.entropy_bonus * losses.entropy
    if config.ownership_weight:
        total += config.ownership_weight * losses.ownership
    if config.margin_weight:
        total += config.margin_weight * losses.margin
    if config.l2_weight:
        kernels = jax.tree.map(lambda x, is_kernel: x * is_kernel, params, _is_kernel(params))
        total += config.l2_weight * optax.tree.norm(kernels, squared=True)
    return total


def _is_kernel(params: Any) -> Any:
    return jax.tree.map(lambda x: x.ndim > 1, params)
