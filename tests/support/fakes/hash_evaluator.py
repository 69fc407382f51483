"""A fixed evaluation of every position, in place of a network for live games."""

import functools

import jax
import jax.numpy as jnp

from azo.engine import network_evaluator
from azo.games import othello
from support.fakes import fake_evaluation


class HashEvaluator:
    """Evaluates positions by `fake_evaluation.hashed`, and records the sizes of its batches."""

    simulate = None

    def __init__(self, game: othello.Othello, num_streams: int = 1):
        self.game = game
        self.batches: list[int] = []  # sizes of the batches so far
        self.num_streams = num_streams

    def request(self, player, opponent, *, batch_size, stream=0):
        assert len(player) <= batch_size
        assert 0 <= stream < self.num_streams
        self.batches.append(len(player))
        return _prediction(self.game, network_evaluator.packed(player, opponent, batch_size))


@functools.partial(jax.jit, static_argnums=0)
def _prediction(game, words):
    prediction = fake_evaluation.hashed(game)(jax.random.key(0), game.unpack(words))
    expected = jnp.stack([prediction.value, prediction.score], axis=1)
    return jnp.concatenate([prediction.prior_logits, expected], axis=1)
