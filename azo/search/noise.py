"""Dirichlet noise in the prior of the root, so that self-play explores unlikely moves.

It is drawn over the legal moves (Silver et al., 2017, arXiv:1712.01815). mctx draws it over all
actions and masks the illegal ones, so most of the noise is lost: with 10 legal moves of 65 the
effective share is 5 % instead of 25 %.
"""

import dataclasses

import jax
import jax.numpy as jnp

from azo.search import search_tree


def add_dirichlet(
    key: jax.Array,
    moves: search_tree.Moves,
    *,
    fraction: float,
    alpha: float | None,
) -> search_tree.Moves:
    """Returns moves `[B, S]` with noise mixed into their prior, which still sums to 1.

    Args:
      key: for the noise.
      moves: with logits as `search_tree.compact` returns them.
      fraction: share of the noise in the new prior.
      alpha: concentration of the noise; None means min(1, 10 / legal moves).
    """
    legal = moves.is_legal()
    num_legal = legal.sum(axis=-1, keepdims=True)
    if alpha is None:
        alphas = jnp.minimum(1.0, 10.0 / num_legal)
    else:
        alphas = jnp.full(num_legal.shape, alpha)
    log_gamma = jax.random.loggamma(key, jnp.broadcast_to(alphas, legal.shape))
    noise = jax.nn.softmax(jnp.where(legal, log_gamma, -jnp.inf))
    prior = (1 - fraction) * jnp.exp(moves.logits) + fraction * noise
    tiny = jnp.finfo(prior.dtype).tiny
    logits = jnp.where(legal, jnp.log(jnp.maximum(prior, tiny)), moves.logits)
    return dataclasses.replace(moves, logits=logits)
