"""Rules of choosing a move at a node, and of taking exploration out of its visits again.

A node is given as a `mctx.Tree` of that node alone, see `azo.search.tree.view`; its actions are
slots, and its logits are normalised, `log P`. In the formulas N counts the visits to the node, its
own evaluation included, n those to the node behind a move, and Q in [-1, 1] is a move's mean value
for the side to move. N and n include virtual visits, and need not be whole then. Ties go to the
lowest action.
"""

from typing import Literal

import jax
import jax.numpy as jnp
import mctx


def puct_action(
    node: mctx.Tree, *, c_puct: float, unvisited_value: Literal["parent", "draw", "loss"]
) -> jax.Array:
    """Returns `[B]` int32, the slot with the best `Q + c_puct * P * sqrt(N) / (1 + n)`.

    Since N counts the node's own evaluation, the prior decides from the first move on.
    """
    visits = node.children_visits[:, 0]
    unvisited = {"parent": node.node_values, "draw": 0.0, "loss": -1.0}[unvisited_value]
    q = jnp.where(visits > 0, _q(node), unvisited)
    prior = jnp.exp(node.children_prior_logits[:, 0])
    explore = c_puct * prior * jnp.sqrt(node.node_visits) / (1 + visits)
    return _best(q + explore, _is_legal(node))


def uct_action(node: mctx.Tree, *, c_puct: float) -> jax.Array:
    """Returns `[B]` int32, the slot with the best `Q + c_puct * sqrt(ln N / n)`.

    UCT (Kocsis and Szepesvari, 2006, https://doi.org/10.1007/11871842_29). Moves not yet tried
    come first, in the order of their prior.
    """
    explore = c_puct * jnp.sqrt(jnp.log(node.node_visits) / _tried(node))
    return _untried_first(node, _q(node) + explore)


def puct_over_visits_action(node: mctx.Tree, *, c_puct: float) -> jax.Array:
    """Returns `[B]` int32, the slot with the best `Q + c_puct * P * sqrt(N) / n`.

    Moves not yet tried come first, in the order of their prior.
    """
    prior = jnp.exp(node.children_prior_logits[:, 0])
    explore = c_puct * prior * jnp.sqrt(node.node_visits) / _tried(node)
    return _untried_first(node, _q(node) + explore)


def pruned_visits(
    node: mctx.Tree, prior: jax.Array, *, c_puct: float, visit_offset: int
) -> jax.Array:
    """Returns `[B, S]` float32, the visits without those that only exploration asked for.

    Policy-target pruning of KataGo (Wu, 2019, arXiv:1902.10565, section 3.2). A move's score is
    `Q + c_puct * prior * sqrt(N) / (visit_offset + n)`, with Q and N as they are in the end. The
    most visited move keeps its visits. Every other is left with the fewest for which its score is
    not above that of the most visited, and with none if that is one or less.

    Args:
      node: the root after the search.
      prior: `[B, S]` float32, without noise.
      c_puct: as in the search.
      visit_offset: 1 for `puct`, 0 for `puct_over_visits`.
    """
    visits = node.children_visits[:, 0].astype(jnp.float32)
    q = _q(node)
    explore = c_puct * prior * jnp.sqrt(node.node_visits)
    best = jnp.argmax(visits, axis=-1, keepdims=True)
    score = q + explore / jnp.maximum(visit_offset + visits, 1)
    lead = jnp.take_along_axis(score, best, axis=-1) - q
    # The score is a falling function of n, so n is found by solving for it.
    needed = jnp.ceil(explore / jnp.where(lead > 0, lead, 1)) - visit_offset
    left = jnp.where(lead > 0, jnp.clip(needed, 0, visits), visits)
    is_best = jnp.arange(visits.shape[-1])[None] == best
    return jnp.where(is_best, visits, jnp.where(left > 1, left, 0))


def _q(node: mctx.Tree) -> jax.Array:
    return -node.children_values[:, 0]


def _is_legal(node: mctx.Tree) -> jax.Array:
    logits = node.children_prior_logits[:, 0]
    return logits > jnp.finfo(logits.dtype).min


def _tried(node: mctx.Tree) -> jax.Array:
    """Returns n, and 1 for moves not yet tried, whose score is not asked for."""
    visits = node.children_visits[:, 0]
    return jnp.where(visits > 0, visits, 1)


def _untried_first(node: mctx.Tree, score: jax.Array) -> jax.Array:
    is_untried = _is_legal(node) & (node.children_visits[:, 0] == 0)
    likeliest = _best(node.children_prior_logits[:, 0], is_untried)
    return jnp.where(is_untried.any(axis=-1), likeliest, _best(score, _is_legal(node)))


def _best(score: jax.Array, is_allowed: jax.Array) -> jax.Array:
    return jnp.argmax(jnp.where(is_allowed, score, -jnp.inf), axis=-1).astype(jnp.int32)
