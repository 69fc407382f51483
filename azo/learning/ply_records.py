"""Records of self-play: games between plies, and the plies themselves."""

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import resignation
from azo.search import explored

UNKNOWN_SCORE = -128
"""Stands for the final score of a game that did not reach its end."""


@flax.struct.dataclass
class GamesInProgress:
    """Games that the next ply continues."""

    position: protocol.Position  # [B], never over
    ply: jax.Array  # [B] int32, plies played so far; from 0 after an archived position
    resignation: resignation.ResignationState | None  # [B], if games may be resigned
    start_regret: jax.Array | None = None  # [B] float16, if there is an archive: regret of the
    # archived position at which the game began, -1 after an opening


@flax.struct.dataclass
class Plies:
    """Recorded plies, time first."""

    board: jax.Array  # [T, B, words] uint32, the position before the move, packed
    policy: jax.Array  # [T, B, A] uint8, the search's policy, see `quantise`
    action: jax.Array  # [T, B] int16, the move played
    ply: jax.Array  # [T, B] int32, plies played before, even for the side that began
    value: jax.Array  # [T, B] float16, the search's value for the player who moved
    raw_value: jax.Array  # [T, B] float16, the network's value for the same player
    iteration: jax.Array  # [T, B] int32, iteration in which it was played
    actor_version: jax.Array  # [T, B] int32, iterations done when the actor's network was fixed
    score: jax.Array  # [T, B] int8, on the last ply of a game its final score for the player who
    # moved, or UNKNOWN_SCORE; undefined before
    reward: jax.Array  # [T, B] float32, value of the end for the player who moved, see
    # `objective`; 0 until a game ends
    discount: jax.Array  # [T, B] float32, -1 before the last ply of a game, 0 on it


@flax.struct.dataclass
class PredictionStatistics:
    """Policies of network and search in each ply, means over the games."""

    policy_entropy: jax.Array  # [T] float32, nats, of the search's policy
    prior_entropy: jax.Array  # [T] float32, nats, of the network's policy over legal moves
    prior_divergence: jax.Array  # [T] float32, nats, KL of the search's policy from the network's
    legal_mass: jax.Array  # [T] float32, share of the network's policy on legal moves


@flax.struct.dataclass
class UnlabelledTurns:
    """What labels of plies depend on, time first; the last two fields belong to rules."""

    plies: Plies  # [T, B]
    after: protocol.Position  # [T, B], after each ply, seen by the side that moves next
    start_regret: jax.Array | None  # [T, B], as in `GamesInProgress`
    resignation: resignation.ResignationState | None  # [T, B], after each ply
    is_adjudicated: jax.Array | None  # [T, B] bool, the solver ends the game after this ply


@flax.struct.dataclass
class Turns(UnlabelledTurns):
    """Plies of self-play without labels, time first."""

    predictions: PredictionStatistics  # [T]
    explored: explored.ExploredPositions | None  # [T, M], if a rule adds them


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
