"""Self-play of tic-tac-toe with a given evaluator."""

import functools

import jax
import jax.numpy as jnp

from azo.games import tictactoe
from azo.learning import ply_records, selfplay

GAME = tictactoe.TicTacToe()


@functools.partial(jax.jit, static_argnames=("evaluate", "search", "config"))
def play(key, evaluate, search, config):
    """Returns the turns of games of tic-tac-toe from their start."""
    games = ply_records.GamesInProgress(
        GAME.start(config.num_games), jnp.zeros(config.num_games, jnp.int32), None
    )
    return selfplay.play(
        GAME,
        evaluate,
        key,
        games,
        search=search,
        config=config,
        iteration=6,
        actor_version=3,
    )[1]
