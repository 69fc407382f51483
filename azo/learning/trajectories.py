"""Trajectories of self-play, and games between their plies.

Games continue from iteration to iteration. The plies of games that have not ended wait in the
history, which is as long as the longest possible game, so no position is lost.
"""

import types
from collections.abc import Mapping
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol

UNKNOWN_SCORE = -128
"""Stands for the final score of a game that did not reach its end."""


@flax.struct.dataclass
class GamesInProgress:
    """Games that the next ply continues."""

    position: protocol.Position  # [B], never over
    ply: jax.Array  # [B] int32, plies played so far
    options: dict[str, Any]  # [B], parts of options, by their names


@flax.struct.dataclass
class Trajectory:
    """Plies of games side by side, time first; games may follow one another in a column."""

    # Known before the search.
    board: jax.Array  # [T, B, words] uint32, the position before the move, packed
    ply: jax.Array  # [T, B] int32, plies played before, even for the side that began
    iteration: jax.Array  # [T, B] int32, iteration in which it was played
    actor_version: jax.Array  # [T, B] int32, iterations done when the actor's network was fixed
    # Known after the search.
    policy: jax.Array  # [T, B, A] uint8, the search's policy, see `quantise`
    search_value: jax.Array  # [T, B] float16, the search's value for the player who moved
    raw_value: jax.Array  # [T, B] float16, the network's value for the same player
    # Known after the move.
    action: jax.Array  # [T, B] int16, the move played
    score: jax.Array  # [T, B] int8, on the last ply of a game its final score for the player who
    # moved, or UNKNOWN_SCORE; undefined before
    reward: jax.Array  # [T, B] float32, value of the end for the player who moved, see
    # `mix_values`; 0 until a game ends
    discount: jax.Array  # [T, B] float32, -1 before the last ply of a game, 0 on it
    # Known when the game has ended, see `targets.label`.
    is_waiting: jax.Array  # [T, B] bool, the game has not ended, so the ply has no target yet
    # Fields of options, by name, `[T, B, ...]`.
    extras: dict[str, jax.Array] = flax.struct.field(default_factory=dict)


Fields = Mapping[str, jax.ShapeDtypeStruct]
"""Fields of options by name, each with the shape and type that it has for one ply."""


def zeros(fields: Fields, *shape: int) -> dict[str, jax.Array]:
    """Returns zeros `[*shape, ...]` for each of the fields."""
    return {name: jnp.zeros((*shape, *x.shape), x.dtype) for name, x in fields.items()}


def empty_history(
    game: protocol.Game, num_games: int, fields: Fields = types.MappingProxyType({})
) -> Trajectory:
    """Returns the history without plies, `[L, B]`."""
    shape = (game.max_plies, num_games)
    return Trajectory(
        board=jnp.zeros((*shape, game.packed_words), jnp.uint32),
        ply=jnp.zeros(shape, jnp.int32),
        iteration=jnp.zeros(shape, jnp.int32),
        actor_version=jnp.zeros(shape, jnp.int32),
        policy=jnp.zeros((*shape, game.num_actions), jnp.uint8),
        search_value=jnp.zeros(shape, jnp.float16),
        raw_value=jnp.zeros(shape, jnp.float16),
        action=jnp.zeros(shape, jnp.int16),
        score=jnp.full(shape, UNKNOWN_SCORE, jnp.int8),
        reward=jnp.zeros(shape),
        discount=jnp.full(shape, -1.0, jnp.float32),
        is_waiting=jnp.zeros(shape, bool),
        extras=zeros(fields, *shape),
    )


def quantise(policy: jax.Array) -> jax.Array:
    """Returns policies `[..., A]` float32 as uint8, the largest entry as 255.

    Entries below 1 / 510 of the largest become 0.
    """
    largest = policy.max(axis=-1, keepdims=True)
    return jnp.round(policy / largest * 255).astype(jnp.uint8)


def restore(quantised: jax.Array) -> jax.Array:
    """Returns the inverse of `quantise`: policies `[..., A]` float32 that sum to 1."""
    weights = quantised.astype(jnp.float32)
    return weights / weights.sum(axis=-1, keepdims=True)
