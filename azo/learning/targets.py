"""Value targets, computed backwards from the end of each game.

The reward belongs to the player who moved. A discount of -1 changes the point of view.
"""

from typing import Annotated, Literal

import chex
import jax
import jax.numpy as jnp
import pydantic


class TargetsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Targets of value and policy."""

    value: Literal["outcome", "lambda", "search", "mix"] = "outcome"
    """Value target: the result, a lambda-return, the search's value, or a mix of both."""
    trace_decay: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.98
    """lambda: 1 for the result, 0 for the search's value one ply later."""
    search_share: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.5
    """mix: weight of the search's value."""
    average_duplicates: Literal["none", "same"] = "none"
    """Average the targets of equal positions of one actor version."""


def outcome_targets(reward: jax.Array, discount: jax.Array) -> jax.Array:
    """Returns the final result as seen by the side to move at every ply.

    Works backwards: value[t] = reward[t] + discount[t] * value[t + 1]. This is the target z of
    AlphaZero (Silver et al., 2017, arXiv:1712.01815). Games may follow one another in a column.
    One still unfinished at the last ply gets 0, which is not a draw: see `is_decided`.

    Arguments and result are those of `lambda_returns`.
    """
    return lambda_returns(reward, discount, jnp.zeros_like(reward), trace_decay=1.0)


def lambda_returns(
    reward: jax.Array, discount: jax.Array, value: jax.Array, *, trace_decay: float
) -> jax.Array:
    """Returns the results blended with the search's values of the plies before the end.

    target[t] = reward[t] + discount[t] * ((1 - lambda) * value[t + 1] + lambda * target[t + 1]),
    the TD(lambda) return (Sutton and Barto, 2018, section 12.1).

    Args:
      reward: `[T, B]` float32, result for the player who moves at ply t; 0 until a game ends.
      discount: `[T, B]` float32, -1 during a game, 0 on its last ply.
      value: `[T, B]` float32, the search's, for the player who moves at ply t.
      trace_decay: lambda in [0, 1].

    Returns:
      `[T, B]` float32 in [-1, 1].
    """
    chex.assert_rank([reward, discount, value], 2)
    chex.assert_equal_shape([reward, discount, value])

    def step_back(later, ply):
        later_value, later_target = later
        reward_t, discount_t, value_t = ply
        blend = (1 - trace_decay) * later_value + trace_decay * later_target
        target_t = reward_t + discount_t * blend
        return (value_t, target_t), target_t

    nothing = jnp.zeros_like(reward[0])
    _, target = jax.lax.scan(step_back, (nothing, nothing), (reward, discount, value), reverse=True)
    return target


def value_targets(
    config: TargetsConfig, reward: jax.Array, discount: jax.Array, value: jax.Array
) -> jax.Array:
    """Returns the value target of every ply, `[T, B]`; arguments as in `lambda_returns`."""
    if config.value == "lambda":
        return lambda_returns(reward, discount, value, trace_decay=config.trace_decay)
    outcome = outcome_targets(reward, discount)
    share = {"outcome": 0.0, "search": 1.0, "mix": config.search_share}[config.value]
    return (1 - share) * outcome + share * value


def is_decided(discount: jax.Array) -> jax.Array:
    """Returns `[T, B]` bool: the game of this ply ended at this ply or a later one."""
    ended = (discount == 0).astype(jnp.int32)
    return jax.lax.cummax(ended, axis=0, reverse=True).astype(bool)
