"""Positions of tic-tac-toe with made-up policies, results and final boards, to learn from."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import tictactoe
from azo.learning import replay
from support import random_games

GAME = tictactoe.TicTacToe()
NUM_EXAMPLES = 16


@functools.cache
def examples():
    """Positions under way, each with a policy over its legal moves and a result."""
    games = random_games.play(GAME, 8, seed=0)
    chosen = jax.tree.map(lambda x: jnp.asarray(x[1:3]).reshape(-1), games.position)
    legal = np.asarray(GAME.legal_mask(chosen))
    rng = np.random.default_rng(0)
    weights = rng.random(legal.shape) * legal
    return replay.Examples(
        board=GAME.pack(chosen),
        policy=jnp.asarray(weights / weights.sum(axis=1, keepdims=True), jnp.float32),
        value=jnp.asarray(rng.choice([-1.0, 0.0, 1.0], NUM_EXAMPLES), jnp.float32),
    )


@functools.cache
def finished():
    """The same with final boards; of the first half's two are unknown, of the second's five."""
    rng = np.random.default_rng(1)
    is_finished = np.ones(NUM_EXAMPLES, np.float32)
    is_finished[[1, 6, 8, 9, 11, 12, 15]] = 0
    return dataclasses.replace(
        examples(),
        ownership=jnp.asarray(rng.choice([-1, 0, 1], (NUM_EXAMPLES, 9)), jnp.float32),
        is_finished=jnp.asarray(is_finished),
    )
