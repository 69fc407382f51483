"""The share of noise on the legal moves; `test_improvement` tests its distribution."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import othello
from azo.search import noise, search_tree

_NUM_DRAWS = 4096
_NUM_ERRORS = 4  # standard errors that a mean may be off; the seeds are fixed


def test_a_quarter_of_noise_is_one_over_the_legal_moves():
    # At the start of Othello the network's policy is one of four moves, so the others get three
    # quarters of the noise, on average.
    game = othello.Othello(8)
    start = game.start(_NUM_DRAWS)
    logits = jnp.zeros((_NUM_DRAWS, 65)).at[:, 19].set(100.0)
    moves = search_tree.compact(game, start, logits)
    assert (moves.action[:, :4] == jnp.array([[19, 26, 37, 44]])).all()
    mix = functools.partial(noise.add_dirichlet, fraction=0.25, alpha=None)
    noisy = jax.jit(mix)(jax.random.key(2), moves)
    prior = np.asarray(jnp.exp(noisy.logits))
    np.testing.assert_allclose(prior.sum(axis=-1), 1, rtol=1e-5)
    shares = prior[:, 1:].sum(axis=-1) * 4 / 3
    error = shares.std() / np.sqrt(_NUM_DRAWS)
    assert abs(shares.mean() - 0.25) < _NUM_ERRORS * error < 0.05 * 0.25
