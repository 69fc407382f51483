"""Self-play on 4x4 Othello, which has passes, with flat logits in place of a network."""

import functools

import jax
import jax.numpy as jnp

from azo.games import othello
from azo.learning import initial_games, selfplay
from azo.search import improvement

GAME = othello.Othello(4)
NUM_GAMES, NUM_PLIES = 16, 30


@functools.cache
def played():
    """Returns the games before, the games after, and the plies between, on the host."""
    search = improvement.SearchConfig(num_simulations=4, gumbel={"max_considered_actions": 4})
    config = selfplay.SelfplayConfig(num_games=NUM_GAMES, num_plies=NUM_PLIES)

    @jax.jit
    def begin_and_play(key):
        begin_key, play_key = jax.random.split(key)
        games = initial_games.spread_games(GAME, begin_key, NUM_GAMES)
        played = selfplay.play(GAME, flat, play_key, games, search=search, config=config)
        return games, *played[:2]

    return jax.device_get(begin_and_play(jax.random.key(0)))


def flat(key, position):
    """Returns a network's evaluation that prefers nothing."""
    del key
    legal = GAME.legal_mask(position)
    return improvement.Evaluation(
        prior_logits=jnp.zeros(legal.shape), value=jnp.zeros(legal.shape[:-1])
    )
