"""Plies wait here until their game is decided, so that all games are always under way.

The history is as long as the longest possible game, so that no position is lost.
"""

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import selfplay, targets


@flax.struct.dataclass
class History:
    """The latest plies, long enough for any game, until their results are known."""

    plies: selfplay.Plies  # [L, B]
    is_waiting: jax.Array  # [L, B] bool, played, and not yet finalised


@flax.struct.dataclass
class FinalisedPlies:
    """A window of plies, and which of them are decided now."""

    plies: selfplay.Plies  # [W, B]
    is_ready: jax.Array  # [W, B] bool, decided by the latest plies
    outcome: jax.Array  # [W, B] float32, final result for the player to move, where ready
    after: protocol.Position  # [W, B], after each ply, seen by the side that moves next; where a
    # game was adjudicated the end of its exact line, seen by the same side


@flax.struct.dataclass
class FinalBoards:
    """How the game of each ply ended."""

    board: jax.Array  # [W, B, words] uint32, packed
    sign: jax.Array  # [W, B] int8, 1 if seen by the same player as the ply, -1 if by the other;
    # 0 where the game was not played to its end


def empty(game: protocol.Game, num_games: int) -> History:
    """Returns a history in which nothing waits."""
    shape = (game.max_plies, num_games)
    plies = selfplay.Plies(
        board=jnp.zeros((*shape, game.packed_words), jnp.uint32),
        policy=jnp.zeros((*shape, game.num_actions), jnp.uint8),
        action=jnp.zeros(shape, jnp.int16),
        ply=jnp.zeros(shape, jnp.int32),
        value=jnp.zeros(shape, jnp.float16),
        raw_value=jnp.zeros(shape, jnp.float16),
        is_example=jnp.zeros(shape, bool),
        iteration=jnp.zeros(shape, jnp.int32),
        actor_version=jnp.zeros(shape, jnp.int32),
        reward=jnp.zeros(shape),
        discount=jnp.full(shape, -1.0, jnp.float32),
    )
    return History(plies=plies, is_waiting=jnp.zeros(shape, bool))


def finalise(
    game: protocol.Game,
    history: History,
    plies: selfplay.Plies,
    adjudicated: selfplay.Adjudicated | None = None,
) -> tuple[FinalisedPlies, History]:
    """Returns what the new plies `[T, B]` decide, and the history of what still waits."""
    window = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), history.plies, plies)
    is_new = jnp.ones(plies.reward.shape, bool)
    is_waiting = jnp.concatenate([history.is_waiting, is_new])
    is_ready = is_waiting & targets.is_decided(window.discount)
    outcome = targets.outcome_targets(window.reward, window.discount)
    length = history.is_waiting.shape[0]
    latest = jax.tree.map(lambda x: x[-length:], (window, is_waiting & ~is_ready))
    after = game.step(game.unpack(window.board), window.action.astype(jnp.int32)).position
    if adjudicated is not None:
        end = game.unpack(adjudicated.lines.end.reshape(plies.board.shape))
        is_solved = jnp.concatenate([jnp.zeros_like(history.is_waiting), adjudicated.begin])
        ends = jax.tree.map(lambda all, new: all.at[-len(new) :].set(new), after, end)
        after = jax.tree.map(lambda x, y: jnp.where(is_solved, x, y), ends, after)
    return FinalisedPlies(window, is_ready, outcome, after), History(*latest)


def final_boards(game: protocol.Game, finalised: FinalisedPlies) -> FinalBoards:
    """Returns the final boards, carried back to every ply of their games."""
    ends = game.pack(finalised.after)
    is_end = finalised.plies.discount == 0
    # A resigned game ends in the middle: what the board would have become is not known.
    sign = jnp.where(is_end & game.is_over(finalised.after), -1, 0).astype(jnp.int8)

    def step_back(later, ply):
        later_board, later_sign = later
        board_t, sign_t, is_end_t = ply
        board = jnp.where(is_end_t[:, None], board_t, later_board)
        sign = jnp.where(is_end_t, sign_t, -later_sign)
        return (board, sign), (board, sign)

    nothing = jnp.zeros_like(ends[0]), jnp.zeros_like(sign[0])
    _, (board, sign) = jax.lax.scan(step_back, nothing, (ends, sign, is_end), reverse=True)
    return FinalBoards(board=board, sign=sign)
