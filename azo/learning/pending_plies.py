"""Plies wait in a history until their game ends, since games continue from iteration to iteration.

The history is as long as the longest possible game, so no position is lost.
"""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import ply_records, targets


@flax.struct.dataclass
class History:
    """The latest plies."""

    plies: ply_records.Plies  # [L, B]
    is_waiting: jax.Array  # [L, B] bool, the game has not ended yet


@flax.struct.dataclass
class FinalisedPlies:
    """A window of plies `W` = `L + T`, the history and then the new plies."""

    plies: ply_records.Plies  # [W, B]
    is_ready: jax.Array  # [W, B] bool, the game ended with one of the new plies
    outcome: jax.Array  # [W, B] float32, value of the end for the player to move, where ready
    score: jax.Array  # [W, B] int8, final score for the player to move or UNKNOWN_SCORE, likewise


@flax.struct.dataclass
class FinalBoards:
    """The end of the game of each ply."""

    board: jax.Array  # [W, B, words] uint32, packed
    sign: jax.Array  # [W, B] int8, 1 if the side to move is that of the ply, -1 if the other; 0
    # if the end is unknown, as in a resigned game


def empty(game: protocol.Game, num_games: int) -> History:
    """Returns a history without plies."""
    plies = no_plies(game, game.max_plies, num_games)
    return History(plies=plies, is_waiting=jnp.zeros(plies.reward.shape, bool))


def no_plies(game: protocol.Game, num_plies: int, num_games: int) -> ply_records.Plies:
    """Returns the place of `[num_plies, num_games]` plies; `finalise` leaves them out."""
    shape = (num_plies, num_games)
    return ply_records.Plies(
        board=jnp.zeros((*shape, game.packed_words), jnp.uint32),
        policy=jnp.zeros((*shape, game.num_actions), jnp.uint8),
        action=jnp.zeros(shape, jnp.int16),
        ply=jnp.zeros(shape, jnp.int32),
        value=jnp.zeros(shape, jnp.float16),
        raw_value=jnp.zeros(shape, jnp.float16),
        iteration=jnp.full(shape, -1, jnp.int32),
        actor_version=jnp.zeros(shape, jnp.int32),
        score=jnp.full(shape, ply_records.UNKNOWN_SCORE, jnp.int8),
        reward=jnp.zeros(shape),
        discount=jnp.full(shape, -1.0, jnp.float32),
    )


def finalise(history: History, plies: ply_records.Plies) -> tuple[FinalisedPlies, History]:
    """Returns the window with new plies `[T, B]`, and the history of the plies that still wait."""
    window = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), history.plies, plies)
    is_waiting = jnp.concatenate([history.is_waiting, plies.iteration >= 0])
    is_ready = is_waiting & targets.is_decided(window.discount)
    outcome = targets.outcome_targets(window.reward, window.discount)
    length = history.is_waiting.shape[0]
    latest = jax.tree.map(lambda x: x[-length:], (window, is_waiting & ~is_ready))
    score = final_scores(window.score, window.discount)
    return FinalisedPlies(window, is_ready, outcome, score), History(*latest)


def final_scores(score: jax.Array, discount: jax.Array) -> jax.Array:
    """Returns `[W, B]` int8, the scores of the ends carried back to all plies of their games."""

    def step_back(later: jax.Array, ply: tuple[jax.Array, jax.Array]) -> Any:
        score_t, discount_t = ply
        turned = jnp.where(later == ply_records.UNKNOWN_SCORE, later, -later)
        score_t = jnp.where(discount_t == 0, score_t, turned)
        return score_t, score_t

    unknown = jnp.full_like(score[0], ply_records.UNKNOWN_SCORE)
    return jax.lax.scan(step_back, unknown, (score, discount), reverse=True)[1]


def final_boards(
    game: protocol.Game, finalised: FinalisedPlies, after: protocol.Position
) -> FinalBoards:
    """Returns the final boards of all ready plies, carried back from the ends of their games.

    Args:
      game: the rules.
      finalised: from `finalise`.
      after: `[T, B]`, positions after the new plies, as in `ply_records.Turns`.
    """
    # A game that is resigned ends in the middle, and its final board is unknown.
    sign = jnp.where(game.is_over(after), -1, 0).astype(jnp.int8)
    num_waiting = finalised.is_ready.shape[0] - sign.shape[0]

    def with_history(x: jax.Array) -> jax.Array:
        return jnp.concatenate([jnp.zeros((num_waiting, *x.shape[1:]), x.dtype), x])

    ends = with_history(game.pack(after)), with_history(sign), finalised.plies.discount == 0

    def step_back(later, ply):
        later_board, later_sign = later
        board_t, sign_t, is_end_t = ply
        board = jnp.where(is_end_t[:, None], board_t, later_board)
        sign = jnp.where(is_end_t, sign_t, -later_sign)
        return (board, sign), (board, sign)

    nothing = jnp.zeros_like(ends[0][0]), jnp.zeros_like(ends[1][0])
    _, (board, sign) = jax.lax.scan(step_back, nothing, ends, reverse=True)
    return FinalBoards(board=board, sign=sign)
