"""Rules that select a move at a node.

A node is a `mctx.Tree` of that node alone; see `search_tree.view`. Its actions are slots, and its
logits are normalised, `log P`. In the formulas:

* N is the number of visits to the node, its own evaluation included.
* n is the number of visits to the node behind a move.
* Q in [-1, 1] is the mean value of a move for the side to move.

N and n include virtual losses, and are then not always integers. Ties go to the lowest action.
"""

import jax
import jax.numpy as jnp
import mctx


def puct_action(node: mctx.Tree, *, c_puct: float) -> jax.Array:
    """Returns `[B]` int32, the slot with the highest `Q + c_puct * P * sqrt(N) / (1 + n)`.

    Q of an unvisited move is the value of the node so far. Since N counts the node's own
    evaluation, the prior decides from the first move on.
    """
    visits = node.children_visits[:, 0]
    q = jnp.where(visits > 0, _q(node), node.node_values)
    prior = jnp.exp(node.children_prior_logits[:, 0])
    explore = c_puct * prior * jnp.sqrt(node.node_visits) / (1 + visits)
    return _best(q + explore, _is_legal(node))


def puct_over_visits_action(node: mctx.Tree, *, c_puct: float) -> jax.Array:
    """Returns `[B]` int32, the slot with the highest `Q + c_puct * P * sqrt(N) / n`.

    Unvisited moves come first, in the order of their prior.
    """
    visits, log_prior = node.children_visits[:, 0], node.children_prior_logits[:, 0]
    # The score of an unvisited move is not used.
    visits_or_one = jnp.where(visits > 0, visits, 1)
    explore = c_puct * jnp.exp(log_prior) * jnp.sqrt(node.node_visits) / visits_or_one
    is_legal = _is_legal(node)
    is_unvisited = is_legal & (visits == 0)
    likeliest = _best(log_prior, is_unvisited)
    return jnp.where(is_unvisited.any(axis=-1), likeliest, _best(_q(node) + explore, is_legal))


def _q(node: mctx.Tree) -> jax.Array:
    """Returns Q `[B, S]`, 0 for unvisited moves."""
    return -node.children_values[:, 0]


def _is_legal(node: mctx.Tree) -> jax.Array:
    logits = node.children_prior_logits[:, 0]
    return logits > jnp.finfo(logits.dtype).min


def _best(score: jax.Array, is_allowed: jax.Array) -> jax.Array:
    return jnp.argmax(jnp.where(is_allowed, score, -jnp.inf), axis=-1).astype(jnp.int32)
