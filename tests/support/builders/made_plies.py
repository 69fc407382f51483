"""Recorded plies made by hand, for what is worked out from them."""

import jax
import jax.numpy as jnp
import numpy as np

from azo.learning import targets, trajectories


def make(game, shape, **fields) -> trajectories.Trajectory:
    """Returns plies `shape` = `[T, B]` of the start position, with the fields that are given."""
    empty = trajectories.empty_history(game, 1)
    plies = jax.tree.map(lambda x: jnp.broadcast_to(x[0, 0], (*shape, *x.shape[2:])), empty)

    def like(field, value):
        return jnp.broadcast_to(jnp.asarray(value, field.dtype), field.shape)

    given = {"board": game.pack(game.start()), "policy": 255, "is_waiting": True} | fields
    return plies.replace(**{name: like(getattr(plies, name), x) for name, x in given.items()})


def labels(outcome) -> targets.Labels:
    """Returns labels of plies whose games have all ended."""
    outcome = jnp.asarray(outcome, jnp.float32)
    return targets.Labels(
        is_new=jnp.ones(outcome.shape, bool),
        value=outcome,
        outcome=outcome,
        score=jnp.full(outcome.shape, trajectories.UNKNOWN_SCORE, jnp.int8),
    )


def column(game, games, lengths=None, **fields) -> trajectories.Trajectory:
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
    score = np.where(is_resigned, trajectories.UNKNOWN_SCORE, -game.final_score(after)[t, b])
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
