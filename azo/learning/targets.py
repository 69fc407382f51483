"""Value targets, computed backwards from the end of each game.

The reward belongs to the player who moved. A discount of -1 changes the point of view.
"""

from typing import ClassVar, Literal

import chex
import jax
import jax.numpy as jnp
import pydantic

from azo.settings import setting_types

_Pair = tuple[jax.Array, jax.Array]


class TargetsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Targets of value and policy."""

    value: Literal["outcome", "lambda"] = setting_types.in_schedule("outcome", is_common=True)
    """Value target: the result, or a lambda-return."""
    trace_decay: setting_types.TracedShare = 0.98
    """lambda: 1 for the result, 0 for the search's value one ply later."""
    average_duplicates: Literal["none", "same"] = setting_types.in_schedule("none")
    """Average the targets of equal positions of one actor version."""

    NEEDS: ClassVar[setting_types.Table] = {
        "trace_decay": (setting_types.needs("value", "lambda"),),
    }


def outcome_targets(reward: jax.Array, discount: jax.Array) -> jax.Array:
    """Returns the final result as seen by the side to move at every ply.

    This is the target z of AlphaZero (Silver et al., 2017, arXiv:1712.01815). A game still
    unfinished at the last ply gets 0, which is not a draw: see `is_decided`.
    """
    return value_targets(TargetsConfig(), reward, discount, jnp.zeros_like(reward))


def value_targets(
    config: TargetsConfig, reward: jax.Array, discount: jax.Array, value: jax.Array
) -> jax.Array:
    """Returns the value target of every ply, `[T, B]` float32 in [-1, 1].

    target[t] = reward[t] + discount[t] * ((1 - lambda) * value[t + 1] + lambda * target[t + 1]),
    the TD(lambda) return (Sutton and Barto, 2018, section 12.1), with lambda 1 for the outcome.
    Rewards, discounts and the search's values are `[T, B]` float32, for the player who moves at
    ply t. Games may follow one another in a column.
    """
    chex.assert_rank([reward, discount, value], 2)
    chex.assert_equal_shape([reward, discount, value])
    trace_decay = 1.0 if config.value == "outcome" else config.trace_decay

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
