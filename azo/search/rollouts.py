"""Random games as evaluations: the classic baseline of tree search without a network."""

from typing import Any

import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.search import evaluations


def evaluator(game: protocol.Game) -> evaluations.Evaluate:
    """Returns an evaluator with a uniform prior and the result of a random game as value."""

    def evaluate(key: jax.Array, position: protocol.Position) -> evaluations.Evaluation:
        value = random_result(game, key, position)
        return evaluations.Evaluation(
            prior_logits=jnp.zeros((*value.shape, game.num_actions)), value=value
        )

    return evaluate


def random_result(game: protocol.Game, key: jax.Array, position: protocol.Position) -> jax.Array:
    """Returns the results `[B]` float32 of random games, for the side to move in `position`.

    The result of a finished game is that of its position.
    """
    sign = jnp.ones(game.is_over(position).shape)

    def is_unfinished(state: Any) -> jax.Array:
        return ~game.is_over(state[1]).all()

    def play(state: Any) -> Any:
        ply, position, sign = state
        action = game.random_action(jax.random.fold_in(key, ply), position)
        is_over = game.is_over(position)
        after = game.step(position, action).position
        return ply + 1, after, jnp.where(is_over, sign, -sign)

    _, final, sign = jax.lax.while_loop(is_unfinished, play, (jnp.int32(0), position, sign))
    return sign * game.result(final)
