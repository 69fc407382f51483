"""Learning from the replay: loss, augmentation and optimiser, one scan for all steps.

Illegal moves are masked in the policy loss just as in the search: the network need not learn the
rules.
"""

from typing import Annotated, Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
import optax
import pydantic

from azo.games import protocol, symmetry
from azo.learning import network as networks
from azo.learning import replay as replays
from azo.search import tree as trees


class LearnerConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How the network learns."""

    optimiser: Literal["adamw", "sgd"] = "adamw"
    """AdamW, or SGD with momentum and the weight decay added to the gradient."""
    learning_rate: pydantic.PositiveFloat = 2e-3
    """Step size after warm-up."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Learning rate over the run: constant, or down to a twentieth along a half cosine."""
    warmup_steps: pydantic.NonNegativeInt = 100
    """Steps in which the learning rate rises linearly from 0."""
    momentum: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.9
    """SGD's momentum, AdamW's first decay."""
    weight_decay: pydantic.NonNegativeFloat = 1e-4
    """Decay of kernels, not of biases and scales."""
    max_gradient_norm: pydantic.PositiveFloat = 5.0
    """Larger gradients are scaled down to this norm."""
    batch_size: pydantic.PositiveInt = 512
    """Examples a step, over all devices."""
    num_steps: pydantic.PositiveInt = 16
    """Optimiser steps in an iteration."""
    value_weight: pydantic.NonNegativeFloat = 1.0
    """Weight of the value loss against the policy loss."""
    augment: bool = True
    """Show every example turned or mirrored at random."""


@flax.struct.dataclass
class Learner:
    """What changes as the network learns."""

    params: Any
    batch_stats: Any  # running averages of the normalisation
    optimiser_state: Any
    num_steps: jax.Array  # [] int32, steps taken


@flax.struct.dataclass
class Losses:
    """Means over the examples of a step, each a scalar float32."""

    policy: jax.Array  # cross-entropy, nats
    value: jax.Array  # squared error
    policy_entropy: jax.Array  # of the targets: the least that the policy loss can be
    gradient_norm: jax.Array


def learning_rate(config: LearnerConfig, total_steps: int) -> optax.Schedule:
    """Returns the learning rate by the number of steps taken, in a run of `total_steps`."""
    peak = config.learning_rate
    warmup = min(config.warmup_steps, max(total_steps - 1, 0))
    if config.schedule == "cosine":
        return optax.warmup_cosine_decay_schedule(0.0, peak, warmup, total_steps, peak / 20)
    if warmup == 0:  # for which the next schedule would stay at 0
        return optax.constant_schedule(peak)
    return optax.warmup_constant_schedule(0.0, peak, warmup)


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
    network: networks.Network,
    optimiser: optax.GradientTransformation,
    key: jax.Array,
    learner: Learner,
    replay: replays.Replay,
    *,
    config: LearnerConfig,
    num_examples: int,
    axis_name: str | None = None,
) -> tuple[Learner, Losses]:
    """Takes `config.num_steps` steps, each on `num_examples` new draws from the replay.

    Args:
      game: the rules.
      network: the network in its form for training.
      optimiser: from `make_optimiser`.
      key: for draws and symmetries.
      learner: parameters and optimiser state so far.
      replay: positions to draw from, not empty.
      config: the settings.
      num_examples: `M`, drawn on this device.
      axis_name: mesh axis over which gradients are averaged, if any.

    Returns:
      The learner after the last step, and the mean losses of all steps.
    """

    def take_step(learner: Learner, key: jax.Array) -> tuple[Learner, Losses]:
        sample_key, symmetry_key = jax.random.split(key)
        examples = replays.sample(replay, sample_key, num_examples)
        gradient_of = jax.value_and_grad(loss, argnums=2, has_aux=True)
        (_, (losses, batch_stats)), gradient = gradient_of(
            game, network, learner.params, learner.batch_stats, symmetry_key, examples,
            config=config,
        )  # fmt: skip
        if axis_name is not None:
            gradient, losses, batch_stats = jax.lax.pmean(
                (gradient, losses, batch_stats), axis_name
            )
        updates, optimiser_state = optimiser.update(
            gradient, learner.optimiser_state, learner.params
        )
        params = optax.apply_updates(learner.params, updates)
        losses = losses.replace(gradient_norm=optax.tree.norm(gradient))
        return Learner(params, batch_stats, optimiser_state, learner.num_steps + 1), losses

    learner, losses = jax.lax.scan(take_step, learner, jax.random.split(key, config.num_steps))
    return learner, jax.tree.map(jnp.mean, losses)


def loss(
    game: protocol.Game,
    network: networks.Network,
    params: Any,
    batch_stats: Any,
    key: jax.Array,
    examples: replays.Examples,
    *,
    config: LearnerConfig,
) -> tuple[jax.Array, tuple[Losses, Any]]:
    """Returns the total loss of a batch, its parts, and the new running averages."""
    position = game.unpack(examples.board)
    planes, legal = game.planes(position), game.legal_mask(position)
    target = examples.policy
    if config.augment:
        permutations = game.square_symmetries
        which = jax.random.randint(key, examples.value.shape, 0, len(permutations))
        planes = symmetry.move_planes(permutations, which, planes)
        legal, target = (symmetry.move_policy(permutations, which, x) for x in (legal, target))

    variables = {"params": params, "batch_stats": batch_stats}
    found, updated = network.apply(variables, planes, mutable=["batch_stats"])
    log_policy = jax.nn.log_softmax(trees.mask_illegal(found.prior_logits, legal))
    cross_entropy = -jnp.where(legal, target * log_policy, 0.0).sum(axis=-1)
    entropy = -jnp.where(target > 0, target * jnp.log(jnp.maximum(target, 1e-9)), 0.0).sum(axis=-1)
    squared_error = jnp.square(found.value - examples.value)
    losses = Losses(
        policy=cross_entropy.mean(),
        value=squared_error.mean(),
        policy_entropy=entropy.mean(),
        gradient_norm=jnp.float32(0),
    )
    total = losses.policy + config.value_weight * losses.value
    return total, (losses, updated.get("batch_stats", batch_stats))


def _is_kernel(params: Any) -> Any:
    return jax.tree.map(lambda x: x.ndim > 1, params)
