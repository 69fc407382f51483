"""Positions of tic-tac-toe with made-up policies and results, to learn from."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import tictactoe
from azo.learning import replay, trajectories
from support.builders import random_games

GAME = tictactoe.TicTacToe()
NUM_EXAMPLES = 16


@functools.cache
def examples():
    """Positions under way, each with a policy over its legal moves, a result and its score."""
    games = random_games.play(GAME, 8, seed=0)
    chosen = jax.tree.map(lambda x: jnp.asarray(x[1:3]).reshape(-1), games.position)
    legal = np.asarray(GAME.legal_mask(chosen))
    rng = np.random.default_rng(0)
    weights = rng.random(legal.shape) * legal
    result = rng.choice([-1, 0, 1], NUM_EXAMPLES)
    return replay.Examples(
        board=GAME.pack(chosen),
        policy=jnp.asarray(weights / weights.sum(axis=1, keepdims=True), jnp.float32),
        value=jnp.asarray(result, jnp.float32),
        score=jnp.asarray(result),
    )


@functools.cache
def finished():
    """The same; two ends of the first half are unknown, five of the second."""
    score = np.array(examples().score)
    score[[1, 6, 8, 9, 11, 12, 15]] = trajectories.UNKNOWN_SCORE
    return dataclasses.replace(examples(), score=jnp.asarray(score))
