"""Recorded plies made by hand, for what is worked out from them."""

import jax.numpy as jnp
import numpy as np

from azo.learning import ply_records

_FIELDS = {
    "action": (0, jnp.int16),
    "ply": (0, jnp.int32),
    "value": (0, jnp.float16),
    "raw_value": (0, jnp.float16),
    "iteration": (0, jnp.int32),
    "actor_version": (0, jnp.int32),
    "score": (ply_records.UNKNOWN_SCORE, jnp.int8),
    "reward": (0, jnp.float32),
    "discount": (-1, jnp.float32),
}


def make(game, shape, **fields) -> ply_records.Plies:
    """Returns plies `shape` = `[T, B]` of the start position, with the fields that are given."""
    start = jnp.broadcast_to(game.pack(game.start()), (*shape, game.packed_words))
    board = fields.pop("board", start)
    policy = fields.pop("policy", jnp.full((*shape, game.num_actions), 255))
    plain = {
        name: jnp.broadcast_to(jnp.asarray(fields.pop(name, default), dtype), shape)
        for name, (default, dtype) in _FIELDS.items()
    }
    assert not fields, fields
    return ply_records.Plies(
        board=jnp.asarray(board, jnp.uint32), policy=jnp.asarray(policy, jnp.uint8), **plain
    )


def finalised(plies: ply_records.Plies, outcome) -> ply_records.FinalisedPlies:
    """Returns the plies as if all their games had ended."""
    return ply_records.FinalisedPlies(
        plies=plies,
        is_ready=jnp.ones(plies.reward.shape, bool),
        outcome=jnp.asarray(outcome, jnp.float32),
        score=jnp.full(plies.reward.shape, ply_records.UNKNOWN_SCORE, jnp.int8),
    )


def after(game, plies: ply_records.Plies):
    """Returns the positions after the plies, seen by the side that moves next."""
    return game.step(game.unpack(plies.board), plies.action.astype(jnp.int32)).position


def turns(game, plies: ply_records.Plies, predictions) -> ply_records.Turns:
    """Returns the plies as self-play without rules records them."""
    return ply_records.Turns(
        plies=plies,
        after=after(game, plies),
        predictions=predictions,
        explored=None,
        start_regret=None,
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
