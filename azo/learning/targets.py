"""Value targets of the plies of completed games.

The policy target of a ply is the policy that the search returned: `Rule.decide`. Examples that are
no plies of a game bring both of their targets along, see `options.endings` and `options.unplayed`.

Value targets are computed backwards from the end of each game. The reward belongs to the player who
moved. A discount of -1 changes the point of view.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import chex
import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.learning import trajectories
from azo.settings import import_paths, setting_types

_Pair = tuple[jax.Array, jax.Array]


class TargetsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Value targets, and the averaging of targets of equal positions."""

    value: Annotated[str, setting_types.known_or_import_path("outcome", "lambda")] = (
        setting_types.in_schedule("lambda", is_common=True)
    )
    """Value target: outcome; lambda, the lambda-return; or MODULE:FUNCTION, see docs/extend.md."""
    trace_decay: setting_types.TracedShare = 0.85
    """Lambda of the lambda-return: 1 is the result, 0 the search's value one ply later."""
    average_duplicates: Literal["none", "same"] = setting_types.in_schedule("none")
    """Average the targets of equal positions that were played by the same actor version."""

    NEEDS: ClassVar[setting_types.Table] = {
        "trace_decay": (setting_types.needs("value", "lambda"),),
    }
    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"value": "outcome", "trace_decay": 0.98}


@flax.struct.dataclass
class Labels:
    """Targets of a trajectory's plies, for the player to move; defined where `is_new`."""

    is_new: jax.Array  # [T, B] bool, the game has ended and the ply had no target before
    value: jax.Array  # [T, B] float32 in [-1, 1], the value target
    outcome: jax.Array  # [T, B] float32, value of the end
    score: jax.Array  # [T, B] int8, final score or UNKNOWN_SCORE


def label(
    config: TargetsConfig, history: trajectories.Trajectory, played: trajectories.Trajectory
) -> tuple[trajectories.Trajectory, Labels, trajectories.Trajectory]:
    """Labels the plies of all games that end with one of the plies `played` `[T, B]`.

    Returns the trajectory `[L + T, B]` of the history `[L, B]` and the plies played, its labels,
    and the new history of the plies that still wait.
    """
    trajectory = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), history, played)
    reward, discount = trajectory.reward, trajectory.discount
    is_new = trajectory.is_waiting & is_decided(discount)
    last_scores = jnp.where(discount == 0, trajectory.score, 0).astype(jnp.float32)
    score = outcome_targets(last_scores, discount)
    is_unknown = jnp.abs(score) == -trajectories.UNKNOWN_SCORE
    labels = Labels(
        is_new=is_new,
        value=_value(config, trajectory),
        outcome=outcome_targets(reward, discount),
        score=jnp.where(is_unknown, trajectories.UNKNOWN_SCORE, score).astype(jnp.int8),
    )
    waiting = dataclasses.replace(trajectory, is_waiting=trajectory.is_waiting & ~is_new)
    length = history.ply.shape[0]
    return trajectory, labels, jax.tree.map(lambda x: x[-length:], waiting)


def _value(config: TargetsConfig, trajectory: trajectories.Trajectory) -> jax.Array:
    reward, discount = trajectory.reward, trajectory.discount
    if config.value == "outcome":
        return outcome_targets(reward, discount)
    if config.value == "lambda":
        value = trajectory.search_value.astype(jnp.float32)
        return lambda_returns(reward, discount, value, config.trace_decay)
    value = import_paths.load("targets.value", config.value)(trajectory)
    if getattr(value, "shape", None) != reward.shape:
        raise ValueError(
            f"targets.value is {config.value!r}, which should return an array of shape"
            f" {reward.shape}, as trajectory.reward has, but returned {jax.typeof(value)}"
        )
    return value


def outcome_targets(reward: jax.Array, discount: jax.Array) -> jax.Array:
    """Returns the value of the end of the game for the player who moves at every ply.

    This is the target z of AlphaZero (Silver et al., 2017, arXiv:1712.01815). Rewards hold the
    result, mixed with the final score as `search.score_share` says. A game still unfinished at the
    last ply gets 0, which is not a draw: see `is_decided`.
    """
    return lambda_returns(reward, discount, jnp.zeros_like(reward), 1.0)


def lambda_returns(
    reward: jax.Array, discount: jax.Array, value: jax.Array, trace_decay: float | jax.Array
) -> jax.Array:
    """Returns the lambda-return of every ply, `[T, B]` float32 in [-1, 1].

    target[t] = reward[t] + discount[t] * ((1 - lambda) * value[t + 1] + lambda * target[t + 1]),
    the TD(lambda) return (Sutton and Barto, 2018, section 12.1), with lambda the `trace_decay`.
    Rewards, discounts and the search's values are `[T, B]` float32, for the player who moves at
    ply t. Games may follow one another in a column.
    """
    chex.assert_rank([reward, discount, value], 2)
    chex.assert_equal_shape([reward, discount, value])

    def step_back(later: _Pair, ply: tuple[jax.Array, ...]) -> tuple[_Pair, jax.Array]:
        later_value, later_target = later
        reward_t, discount_t, value_t = ply
        blend = (1 - trace_decay) * later_value + trace_decay * later_target
        target_t = reward_t + discount_t * blend
        return (value_t, target_t), target_t

    nothing = jnp.zeros_like(reward[0])
    _, target = jax.lax.scan(step_back, (nothing, nothing), (reward, discount, value), reverse=True)
    return target


def is_decided(discount: jax.Array) -> jax.Array:
    """Returns `[T, B]` bool: the game of this ply ended at this ply or a later one."""
    ended = (discount == 0).astype(jnp.int32)
    return jax.lax.cummax(ended, axis=0, reverse=True).astype(bool)
