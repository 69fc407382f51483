"""What the network is to predict: values worked out backwards from the end of each game.

Signs tell one story: the reward belongs to the player who moved, and a discount of -1 changes the
point of view.
"""

import chex
import jax
import jax.numpy as jnp


def outcome_targets(reward: jax.Array, discount: jax.Array) -> jax.Array:
    """Returns the final result as seen by the side to move at every ply.

    Works backwards: value[t] = reward[t] + discount[t] * value[t + 1]. This is the target z of
    AlphaZero (Silver et al., 2017, arXiv:1712.01815). Games may follow one another in a column.
    One still unfinished at the last ply gets 0, which is not a draw: see `is_decided`.

    Args:
      reward: `[T, B]` float32, result for the player who moves at ply t; 0 until a game ends.
      discount: `[T, B]` float32, -1 while a game goes on, 0 on its last ply.

    Returns:
      `[T, B]` float32 in [-1, 1].
    """
    chex.assert_rank([reward, discount], 2)
    chex.assert_equal_shape([reward, discount])

    def step_back(later_value, ply):
        reward_t, discount_t = ply
        value_t = reward_t + discount_t * later_value
        return value_t, value_t

    start = jnp.zeros_like(reward[0])
    _, value = jax.lax.scan(step_back, start, (reward, discount), reverse=True)
    return value


def is_decided(discount: jax.Array) -> jax.Array:
    """Returns `[T, B]` bool: the game of this ply ended at this ply or at a later one."""
    ended = (discount == 0).astype(jnp.int32)
    return jax.lax.cummax(ended, axis=0, reverse=True).astype(bool)
