"""Records of self-play: games between plies, the plies, and their history until the game ends.

Games continue from iteration to iteration. The history is as long as the longest possible game, so
no position is lost.
"""

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import resignation, targets
from azo.search import explored

UNKNOWN_SCORE = -128
"""Stands for the final score of a game that did not reach its end."""


@flax.struct.dataclass
class GamesInProgress:
    """Games that the next ply continues."""

    position: protocol.Position  # [B], never over
    ply: jax.Array  # [B] int32, plies played so far
    resignation: resignation.ResignationState | None  # [B], if games may be resigned


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
    # `mix_values`; 0 until a game ends
    discount: jax.Array  # [T, B] float32, -1 before the last ply of a game, 0 on it


@flax.struct.dataclass
class Turns:
    """Plies of self-play, time first; the last three fields belong to rules."""

    plies: Plies  # [T, B]
    after: protocol.Position  # [T, B], after each ply, seen by the side that moves next
    predictions: dict[str, jax.Array]  # [T] float32 means over the games, by names of metrics
    explored: explored.ExploredPositions | None  # [T, M], if a rule adds them
    resignation: resignation.ResignationState | None  # [T, B], after each ply
    is_adjudicated: jax.Array | None  # [T, B] bool, the solver ends the game after this ply


@flax.struct.dataclass
class History:
    """The latest plies."""

    plies: Plies  # [L, B]
    is_waiting: jax.Array  # [L, B] bool, the game has not ended yet


@flax.struct.dataclass
class FinalisedPlies:
    """A window of plies `W` = `L + T`, the history and then the new plies."""

    plies: Plies  # [W, B]
    is_ready: jax.Array  # [W, B] bool, the game ended with one of the new plies
    outcome: jax.Array  # [W, B] float32, value of the end for the player to move, where ready
    score: jax.Array  # [W, B] int8, final score for the player to move or UNKNOWN_SCORE, likewise


def empty_history(game: protocol.Game, num_games: int) -> History:
    """Returns a history without plies."""
    shape = (game.max_plies, num_games)
    plies = Plies(
        board=jnp.zeros((*shape, game.packed_words), jnp.uint32),
        policy=jnp.zeros((*shape, game.num_actions), jnp.uint8),
        action=jnp.zeros(shape, jnp.int16),
        ply=jnp.zeros(shape, jnp.int32),
        value=jnp.zeros(shape, jnp.float16),
        raw_value=jnp.zeros(shape, jnp.float16),
        iteration=jnp.zeros(shape, jnp.int32),
        actor_version=jnp.zeros(shape, jnp.int32),
        score=jnp.full(shape, UNKNOWN_SCORE, jnp.int8),
        reward=jnp.zeros(shape),
        discount=jnp.full(shape, -1.0, jnp.float32),
    )
    return History(plies=plies, is_waiting=jnp.zeros(shape, bool))


def finalise(history: History, plies: Plies) -> tuple[FinalisedPlies, History]:
    """Returns the window with new plies `[T, B]`, and the history of the plies that still wait."""
    window = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), history.plies, plies)
    is_waiting = jnp.concatenate([history.is_waiting, jnp.ones(plies.ply.shape, bool)])
    is_ready = is_waiting & targets.is_decided(window.discount)
    outcome = targets.outcome_targets(window.reward, window.discount)
    length = history.is_waiting.shape[0]
    latest = jax.tree.map(lambda x: x[-length:], (window, is_waiting & ~is_ready))
    last_scores = jnp.where(window.discount == 0, window.score, 0).astype(jnp.float32)
    score = targets.outcome_targets(last_scores, window.discount)
    score = jnp.where(jnp.abs(score) == -UNKNOWN_SCORE, UNKNOWN_SCORE, score).astype(jnp.int8)
    return FinalisedPlies(window, is_ready, outcome, score), History(*latest)


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
