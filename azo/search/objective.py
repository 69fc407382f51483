"""The quantity that the search maximises: the result of the game, mixed with its final score.

Both are in [-1, 1] for the side to move: the result is 1, 0 or -1, the score is divided by the
largest score of the game. With a share of 0 only the result counts.
"""

import jax
import jax.numpy as jnp

from azo.games import protocol


def mix(result: jax.Array, score: jax.Array, score_share: float) -> jax.Array:
    """Returns the value `[...]` float32 of results and scores, both `[...]` in [-1, 1]."""
    return (1 - score_share) * result + score_share * score


def of_score(game: protocol.Game, score: jax.Array, score_share: float) -> jax.Array:
    """Returns the value `[...]` float32 of final scores `[...]`, see `Game.scores`."""
    result = jnp.sign(score).astype(jnp.float32)
    return mix(result, score.astype(jnp.float32) / int(game.scores[-1]), score_share)
