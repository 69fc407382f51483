"""Learning from the replay: loss, augmentation and optimiser, one scan for all steps.

Illegal moves are masked in the policy loss just as in the search: the network need not learn the
rules.
"""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pydantic

from azo.games import protocol, symmetry
from azo.learning import network, replay
from azo.search import search_tree


class LearnerConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How the network learns."""

    optimiser: Literal["adamw", "sgd"] = "adamw"
    """AdamW, or SGD with momentum and the weight decay added to the gradient."""
    learning_rate: pydantic.PositiveFloat = 2e-3
    """Step size after warm-up."""
    schedule: Literal["constant", "cosine", "linear", "piecewise"] = "constant"
    """Rate over the run: constant, down to a twentieth, or by the factors of schedule_steps."""
    schedule_steps: tuple[tuple[float, float], ...] = ()
    """Piecewise: (share of the run, factor), from that share on learning_rate times the factor."""
    warmup_steps: pydantic.NonNegativeInt = 100
    """Steps in which the learning rate rises linearly from 0."""
    momentum: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.9
    """SGD's momentum, AdamW's first decay."""
    weight_decay: pydantic.NonNegativeFloat = 1e-4
    """Decay of kernels, not of biases and scales."""
    l2_weight: pydantic.NonNegativeFloat = 0.0
    """Weight of the sum of squares of all kernels in the loss, beside the decay."""
    max_gradient_norm: pydantic.PositiveFloat = 5.0
    """Larger gradients are scaled down to this norm."""
    batch_size: pydantic.PositiveInt = 512
    """Examples a step, over all devices."""
    num_steps: pydantic.PositiveInt = 16
    """Optimiser steps in an iteration."""
    policy_weight: pydantic.NonNegativeFloat = 1.0
    """Weight of the policy loss."""
    policy_loss: Literal["cross_entropy", "kl"] = "cross_entropy"
    """Kullback-Leibler divergence is cross-entropy less the target's entropy: the same gradient."""
    value_weight: pydantic.NonNegativeFloat = 1.0
    """Weight of the value loss."""
    entropy_bonus: pydantic.NonNegativeFloat = 0.0
    """Weight at which the entropy of the network's policy over legal moves lowers the loss."""
    ownership_weight: pydantic.NonNegativeFloat = 0.0
    """Weight of the ownership loss; needs network.has_ownership_head."""
    margin_weight: pydantic.NonNegativeFloat = 0.0
    """Weight of the margin loss; needs network.has_margin_head."""
    augment: bool = True
    """Show every example turned or mirrored at random."""

    @pydantic.model_validator(mode="after")
    def _check_schedule_steps(self) -> "LearnerConfig":
        shares = [share for share, _ in self.schedule_steps]
        is_ascending = all(a < b for a, b in zip([0, *shares], [*shares, 1], strict=True))
        if not is_ascending or any(factor <= 0 for _, factor in self.schedule_steps):
            raise ValueError(
                f"schedule_steps are {self.schedule_steps}:"
                " shares must ascend between 0 and 1, factors be above 0"
            )
        if self.schedule == "piecewise" and not self.schedule_steps:
            raise ValueError(
                "schedule 'piecewise' needs schedule_steps, such as [[0.5, 0.1]]:"
                " a tenth of the rate from half of the run on"
            )
        return self


@flax.struct.dataclass
class TrainState:
    """What changes as the network learns."""

    params: Any
    batch_stats: Any  # running averages of the normalisation
    optimiser_state: Any
    num_steps: jax.Array  # [] int32, steps taken


@flax.struct.dataclass
class Losses:
    """Means over the examples of a step, each a scalar float32, before any weight."""

    policy: jax.Array  # cross-entropy or divergence, nats
    value: jax.Array  # squared error
    policy_entropy: jax.Array  # of the targets: the least that the cross-entropy can be
    gradient_norm: jax.Array  # before it is scaled down; 0 if no step is taken
    entropy: jax.Array  # of the network's policy over legal moves, nats
    ownership: jax.Array  # squared error of a square, 0 without such a head
    margin: jax.Array  # squared error, in units of the board's squares, 0 without such a head


def unknown_losses() -> Losses:
    """Returns losses that are all NaN, of a step not taken."""
    return Losses(*[jnp.float32(jnp.nan)] * len(dataclasses.fields(Losses)))


def check_heads(network_config: network.NetworkConfig, config: LearnerConfig) -> None:
    """Raises ValueError if a loss is weighted whose head the network has not."""
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
    if config.schedule == "linear":
        fall = optax.linear_schedule(peak, peak / 20, total_steps - warmup)
        return optax.join_schedules([rise, fall], [warmup])
    factors, starts = [1.0], [warmup]
    if config.schedule == "piecewise":
        factors += [factor for _, factor in config.schedule_steps]
        # A later part wins where two begin at once, and none begins in the warm-up.
        starts += [max(round(share * total_steps), warmup) for share, _ in config.schedule_steps]
    parts = [optax.constant_schedule(peak * factor) for factor in factors]
    return optax.join_schedules([rise, *parts], starts)


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


def learn(
    game: protocol.Game,
    model: network.Network,
    optimiser: optax.GradientTransformation,
    key: jax.Array,
    learner: TrainState,
    sample: Callable[[jax.Array], replay.Examples],
    *,
    config: LearnerConfig,
    axis_name: str | None = None,
) -> tuple[TrainState, Losses]:
    """Takes `config.num_steps` steps, each on newly drawn examples.

    Args:
      game: the rules.
      model: the network in its form for training.
      optimiser: from `make_optimiser`.
      key: for draws, symmetries and dropout, another one on each device.
      learner: parameters and optimiser state so far.
      sample: draws this device's share of a batch from a key.
      config: the settings.
      axis_name: mesh axis over which gradients are averaged, if any.

    Returns:
      The learner after the last step, and the mean losses of all steps.
    """

    def draw_and_step(learner: TrainState, key: jax.Array) -> tuple[TrainState, Losses]:
        sample_key, step_key = jax.random.split(key)
        return take_step(
            game, model, optimiser, step_key, learner, sample(sample_key),
            config=config, axis_name=axis_name,
        )  # fmt: skip

    keys = jax.random.split(key, config.num_steps)
    learner, losses = jax.lax.scan(draw_and_step, learner, keys)
    return learner, jax.tree.map(jnp.mean, losses)


def take_step(
    game: protocol.Game,
    model: network.Network,
    optimiser: optax.GradientTransformation,
    key: jax.Array,
    learner: TrainState,
    examples: replay.Examples,
    *,
    config: LearnerConfig,
    axis_name: str | None = None,
) -> tuple[TrainState, Losses]:
    """Takes one step on the given examples.

    Args:
      game: the rules.
      model: the network in its form for training.
      optimiser: from `make_optimiser`.
      key: for symmetries and dropout, another one on each device.
      learner: parameters and optimiser state so far.
      examples: `M` positions, this device's share of the batch.
      config: the settings.
      axis_name: mesh axis over which gradients are averaged, if any.

    Returns:
      The learner after the step, and its losses.
    """
    gradient_of = jax.value_and_grad(loss, argnums=2, has_aux=True)
    (_, (losses, batch_stats)), gradient = gradient_of(
        game, model, learner.params, learner.batch_stats, key, examples,
        config=config, axis_name=axis_name,
    )  # fmt: skip
    if axis_name is not None:
        gradient, losses, batch_stats = jax.lax.pmean((gradient, losses, batch_stats), axis_name)
    updates, optimiser_state = optimiser.update(gradient, learner.optimiser_state, learner.params)
    params = optax.apply_updates(learner.params, updates)
    losses = losses.replace(gradient_norm=optax.tree.norm(gradient))
    return TrainState(params, batch_stats, optimiser_state, learner.num_steps + 1), losses


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
    """Returns the total loss of a batch, its parts, and the new running averages.

    Raises:
      ValueError: ownership or margin are to be learned, but the examples have no final boards.
    """
    shown = _shown(game, examples)
    if config.augment:
        which = jax.random.randint(key, examples.value.shape, 0, len(game.square_symmetries))
        shown = _moved(game.square_symmetries, which, shown)
    found, updated = model.apply(
        {"params": params, "batch_stats": batch_stats},
        shown.planes,
        mutable=["batch_stats"],
        rngs={"dropout": jax.random.fold_in(key, 1)},
        method="predict",
    )
    losses = _losses(found, shown, config, axis_name)
    return _total(losses, params, config), (losses, updated.get("batch_stats", batch_stats))


def evaluate_loss(
    game: protocol.Game,
    model: network.Network,
    variables: network.Variables,
    examples: replay.Examples,
    *,
    config: LearnerConfig,
) -> Losses:
    """Returns the losses of the network as it plays: not augmented, nothing left out or learned."""
    shown = _shown(game, examples)
    found = model.clone(is_training=False).apply(variables, shown.planes, method="predict")
    assert isinstance(found, network.Prediction)
    return _losses(found, shown, config, axis_name=None)


@flax.struct.dataclass
class _Shown:
    """Examples as the network sees them."""

    planes: jax.Array  # [M, rows, columns, 2] bool
    legal: jax.Array  # [M, A] bool
    policy: jax.Array  # [M, A] float32
    value: jax.Array  # [M] float32
    ownership: jax.Array | None  # [M, squares] float32
    is_finished: jax.Array | None  # [M] float32


def _shown(game: protocol.Game, examples: replay.Examples) -> _Shown:
    position = game.unpack(examples.board)
    return _Shown(
        planes=game.planes(position),
        legal=game.legal_mask(position),
        policy=examples.policy,
        value=examples.value,
        ownership=examples.ownership,
        is_finished=examples.is_finished,
    )


def _moved(permutations: np.ndarray, which: jax.Array, shown: _Shown) -> _Shown:
    """Returns examples moved by the symmetries `which` `[M]`."""

    def move(x: jax.Array) -> jax.Array:
        return symmetry.move_policy(permutations, which, x)

    return dataclasses.replace(
        shown,
        planes=symmetry.move_planes(permutations, which, shown.planes),
        legal=move(shown.legal),
        policy=move(shown.policy),
        ownership=None if shown.ownership is None else move(shown.ownership),
    )


def _losses(
    found: network.Prediction, shown: _Shown, config: LearnerConfig, axis_name: str | None
) -> Losses:
    legal, target = shown.legal, shown.policy
    log_policy = jax.nn.log_softmax(search_tree.mask_illegal(found.prior_logits, legal))
    cross_entropy = -jnp.where(legal, target * log_policy, 0.0).sum(axis=-1)
    entropy = -jnp.where(legal, jnp.exp(log_policy) * log_policy, 0.0).sum(axis=-1)
    target_entropy = -jnp.where(target > 0, target * jnp.log(jnp.maximum(target, 1e-9)), 0.0)
    target_entropy = target_entropy.sum(axis=-1)
    is_divergence = config.policy_loss == "kl"
    policy_loss = cross_entropy - target_entropy if is_divergence else cross_entropy
    ownership, margin = _final_losses(found, shown, config, axis_name)
    return Losses(
        policy=policy_loss.mean(),
        value=jnp.square(found.value - shown.value).mean(),
        policy_entropy=target_entropy.mean(),
        gradient_norm=jnp.float32(0),
        entropy=entropy.mean(),
        ownership=ownership,
        margin=margin,
    )


def _final_losses(
    found: network.Prediction, shown: _Shown, config: LearnerConfig, axis_name: str | None
) -> tuple[jax.Array, jax.Array]:
    """Returns the ownership and margin losses, means over the examples whose end is known."""
    ownership, is_finished = shown.ownership, shown.is_finished
    if ownership is None:
        if config.ownership_weight or config.margin_weight:
            raise ValueError(
                "learner.ownership_weight and learner.margin_weight need examples with final boards"
            )
        return jnp.float32(0), jnp.float32(0)
    if is_finished is None:
        is_finished = jnp.ones_like(shown.value)
    num_finished = is_finished.sum()
    if axis_name is not None:  # so that the mean over devices is that over all known examples
        num_finished = jax.lax.pmean(num_finished, axis_name)

    def known_mean(error: jax.Array) -> jax.Array:
        total = jnp.where(is_finished > 0, error, 0.0).sum()
        return total / jnp.where(num_finished > 0, num_finished, 1.0)

    ownership_loss = margin_loss = jnp.float32(0)
    if found.ownership is not None:
        ownership_loss = known_mean(jnp.square(found.ownership - ownership).mean(axis=-1))
    if found.margin is not None:
        margin_loss = known_mean(jnp.square(found.margin - margin_of(ownership)))
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
