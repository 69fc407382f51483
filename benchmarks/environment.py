"""Programs for environments in Pgx's form, as their users write them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from azo.games import othello, protocol
from azo.search import evaluations, search_tree

END = 1024  # a game that ended, in the total that also adds up rewards of -1, 0 and 1
# Draws an action of each state `[B]`.
Draw = Callable[[jax.Array, Any], jax.Array]


def draw_categorical(key: jax.Array, state: Any) -> jax.Array:
    """Draws like Pgx's own examples: a Gumbel number for each of the 65 actions."""
    logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
    return jax.random.categorical(key, logits)


def draw_kth_legal(key: jax.Array, state: Any) -> jax.Array:
    """Draws one number a game, as azo does, which selects the k-th legal action by a sum."""
    rank_after = jnp.cumsum(state.legal_action_mask, axis=-1, dtype=jnp.int32)
    num_legal = rank_after[:, -1]
    word = jax.random.bits(key, num_legal.shape, jnp.uint16).astype(jnp.int32)
    rank = (word * num_legal) >> 16
    return (rank_after <= rank[:, None]).sum(axis=-1)


def draw_by_azo(game: othello.Othello) -> Draw:
    """Returns the draw that azo offers for its positions, for states of `azo.compat.pgx`."""
    return lambda key, state: game.random_action(key, state._x.position)


def draw_by_network(apply: Callable[[jax.Array], evaluations.Evaluation]) -> Draw:
    """Returns a draw from the policy of a network that evaluates observations."""

    def draw(key: jax.Array, state: Any) -> jax.Array:
        logits = apply(state.observation).prior_logits
        return jax.random.categorical(
            key, search_tree.mask_illegal(logits, state.legal_action_mask)
        )

    return draw


def random_play(
    step: Callable, draw: Draw, start: Any, keys: jax.Array
) -> tuple[jax.Array, Any, jax.Array]:
    """Plays `T` plies; returns the actions `[T, B]` and the results of `replay`."""

    def ply(carry, key):
        state, total = carry
        action = draw(key, state)
        after = step(state, action)
        return (protocol.where(after.terminated, start, after), _add(total, after)), action

    carry, actions = jax.lax.scan(ply, _carry(start), keys)
    return actions, *carry


def replay(step: Callable, start: Any, actions: jax.Array) -> tuple[Any, jax.Array]:
    """Plays actions `[T, B]`, or `[T]` for one game.

    Returns:
      The last states, and a checksum `[B]` int32 of ends and rewards.
    """

    def ply(carry, action):
        after = step(carry[0], action)
        return (protocol.where(after.terminated, start, after), _add(carry[1], after)), None

    return jax.lax.scan(ply, _carry(start), actions)[0]


def replay_auto_reset(
    step: Callable, start: Any, actions: jax.Array, keys: jax.Array
) -> tuple[Any, jax.Array]:
    """The same with `step` of `pgx.experimental.auto_reset`, which creates a new state a ply."""

    def ply(carry, inputs):
        action, key = inputs
        after = step(carry[0], action, key)
        return (after, _add(carry[1], after)), None

    return jax.lax.scan(ply, _carry(start), (actions, keys))[0]


def _carry(start: Any) -> tuple[Any, jax.Array]:
    return start, jnp.zeros(start.terminated.shape, jnp.int32)


def _add(total: jax.Array, after: Any) -> jax.Array:
    return total + END * after.terminated + after.rewards[..., 0].astype(jnp.int32)
