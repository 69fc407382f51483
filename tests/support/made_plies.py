"""Recorded plies made by hand, for what is worked out from them."""

import jax
import jax.numpy as jnp
import numpy as np

from azo.learning import ply_records


def make(game, shape, **fields) -> ply_records.Plies:
    """Returns plies `shape` = `[T, B]` of the start position, with the fields that are given."""
    empty = ply_records.empty_history(game, 1).plies
    plies = jax.tree.map(lambda x: jnp.broadcast_to(x[0, 0], (*shape, *x.shape[2:])), empty)

    def like(field, value):
        return jnp.broadcast_to(jnp.asarray(value, field.dtype), field.shape)

    given = {"board": game.pack(game.start()), "policy": 255} | fields
    return plies.replace(**{name: like(getattr(plies, name), x) for name, x in given.items()})


def finalised(plies: ply_records.Plies, outcome) -> ply_records.FinalisedPlies:
    """Returns the plies as if all their games had ended."""
    return ply_records.FinalisedPlies(
        plies=plies,
        is_ready=jnp.ones(plies.reward.shape, bool),
        outcome=jnp.asarray(outcome, jnp.float32),
        score=jnp.full(plies.reward.shape, ply_records.UNKNOWN_SCORE, jnp.int8),
    )


def turns(game, plies: ply_records.Plies, predictions) -> ply_records.Turns:
    """Returns the plies as self-play without rules records them."""
    return ply_records.Turns(
        plies=plies,
        after=game.step(game.unpack(plies.board), plies.action.astype(jnp.int32)).position,
        predictions=predictions,
        explored=None,
        resignation=None,
        is_adjudicated=None,
    )


def column(game, games, lengths=None, **fields) -> ply_records.Plies:
    """Returns random games as one column of plies, one game after the other.

    Those that `lengths` cuts short are resigned by the player to move after so many plies less one.
    """
    whole = games.is_over.argmax(axis=0)
    lengths = whole if lengths is None else lengths
    at = [(t, b) for b, length in enumerate(lengths) for t in range(length)]
    t, b = np.array(at).T
    is_resigned = (t == lengths[b] - 1) & (lengths < whole)[b]
    board = np.asarray(game.pack(games.position))
    after = game.step(games.position, jnp.asarray(games.action, jnp.int32)).position
    score = np.where(is_resigned, ply_records.UNKNOWN_SCORE, -game.final_score(after)[t, b])
    return make(
        game,
        (len(at), 1),
        board=board[t, b][:, None],
        action=games.action[t, b][:, None],
        ply=t[:, None],
        score=score[:, None],
        reward=np.where(is_resigned, -1, games.reward[t, b])[:, None],
        discount=np.where(is_resigned, 0, games.discount[t, b])[:, None],
        **fields,
    )
