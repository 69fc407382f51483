"""Proven results: bounds that pass up the tree (MCTS-Solver).

After Winands, Björnsson and Saito (2008, https://doi.org/10.1007/978-3-540-87608-3_3). A new node
looks one ply ahead for moves that end the game, in Othello also by taking all discs. Better bounds
of a node pass up to its ancestors. A node with equal bounds is proven: paths end there. A move
whose upper bound is not above the lower bound of its node is not searched.
"""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.search import search_tree
from azo.search.search_tree import LOSS, WIN, Bounds


def reply_bounds(
    game: protocol.Game,
    position: protocol.Position,
    moves: search_tree.Moves,
    score_share: float,
) -> tuple[Bounds, jax.Array]:
    """Returns the bounds of the moves of positions `[B]`, and the value of the best end or -1.

    Bounds `[B, S]` are the result of a move that ends the game, and a loss in an empty slot. The
    value `[B]` float32 is that of the best move that ends the game.
    """
    before = jax.tree.map(lambda x: x[:, None], position)
    replies = game.step(before, jnp.maximum(moves.action, 0).astype(jnp.int32))
    legal, is_last = moves.is_legal(), replies.discount == 0
    value = replies.reward
    if score_share:
        value = search_tree.value_of_score(game, -game.final_score(replies.position), score_share)
    bounds = Bounds(
        lower=jnp.where(legal & is_last, replies.reward, LOSS).astype(jnp.int8),
        upper=jnp.where(legal, jnp.where(is_last, replies.reward, WIN), LOSS).astype(jnp.int8),
    )
    return bounds, jnp.where(legal & is_last, value, LOSS).max(axis=-1)


def look_ahead(
    game: protocol.Game,
    position: protocol.Position,
    moves: search_tree.Moves,
    bounds: Bounds,
    value: jax.Array,
    score_share: float,
) -> tuple[Bounds, jax.Array]:
    """Returns bounds and values `[B]` of positions, improved by the moves that end the game."""
    replies, best_end = reply_bounds(game, position, moves, score_share)
    better = tightened(bounds, replies, _has_all(game, moves))
    seen = jnp.where(better.is_proven(), best_end, better.clip(value, score_share))
    return protocol.where(bounds.is_proven(), (bounds, value), (better, seen))


def pass_up(game: protocol.Game, tree: search_tree.Tree, node: jax.Array) -> search_tree.Tree:
    """Returns trees in which the bounds of new nodes have passed up from their parents.

    The parents `node` are `[B, L]` int32, or -1; the bounds of other nodes are up to date.
    """

    def on_tpu(tree: search_tree.Tree, node: jax.Array) -> Bounds:
        lazy = dataclasses.replace(search_tree.games_last(tree), bounds=tree.bounds)
        return _passed_up(game, _tightened_by_choice, lazy, node)

    loop = functools.partial(_passed_up, game, _tightened_by_scatter)
    bounds = jax.lax.platform_dependent(tree, node, tpu=on_tpu, default=loop)
    return dataclasses.replace(tree, bounds=bounds)


def _passed_up(
    game: protocol.Game,
    put: Callable[[Bounds, jax.Array, jax.Array, Bounds], Bounds],
    tree: search_tree.Tree,
    node: jax.Array,
) -> Bounds:
    def is_active(state: tuple[Bounds, jax.Array]) -> jax.Array:
        return (state[1] >= 0).any()

    def step(state: tuple[Bounds, jax.Array]) -> tuple[Bounds, jax.Array]:
        bounds, node = state
        at = jnp.maximum(node, 0)
        old = search_tree.at_node(bounds, at)
        moves = search_tree.move_bounds(dataclasses.replace(tree, bounds=bounds), at)
        has_all = _has_all(game, search_tree.at_node(tree.moves, at))
        new = tightened(old, moves, has_all)
        is_better = (node >= 0) & ((new.lower > old.lower) | (new.upper < old.upper))
        bounds = put(bounds, at, is_better, new)
        parent = search_tree.at_node(tree.parent, at).astype(jnp.int32)
        return bounds, jnp.where(is_better, parent, -1)

    return jax.lax.while_loop(is_active, step, (tree.bounds, node))[0]


def _tightened_by_scatter(
    bounds: Bounds, node: jax.Array, is_better: jax.Array, new: Bounds
) -> Bounds:
    """Returns the bounds `[B, N]`, tightened at nodes `[B, L]` where new ones are better."""
    num_games = node.shape[0]
    row = jnp.where(is_better, jnp.arange(num_games)[:, None], num_games)
    return Bounds(
        lower=bounds.lower.at[row, node].max(new.lower, mode="drop"),
        upper=bounds.upper.at[row, node].min(new.upper, mode="drop"),
    )


def _tightened_by_choice(
    bounds: Bounds, node: jax.Array, is_better: jax.Array, new: Bounds
) -> Bounds:
    """Returns the same without a scatter, before which a TPU sorts."""
    lower, upper = bounds.lower, bounds.upper
    for leaf in range(node.shape[1]):
        one = slice(leaf, leaf + 1)
        is_there = (jnp.arange(lower.shape[1])[None] == node[:, one]) & is_better[:, one]
        lower = jnp.where(is_there, jnp.maximum(lower, new.lower[:, one]), lower)
        upper = jnp.where(is_there, jnp.minimum(upper, new.upper[:, one]), upper)
    return Bounds(lower=lower, upper=upper)


def look_ahead_at_root(
    game: protocol.Game, tree: search_tree.Tree
) -> tuple[search_tree.Tree, jax.Array]:
    """Returns trees whose roots looked one ply ahead, and the moves `[B, S]` bool for the roots.

    These moves reach the root's lower bound, or may do better. All moves remain if the root is
    lost.
    """
    root = jnp.zeros_like(tree.visits[:, 0])
    moves = search_tree.at_node(tree.moves, root)
    position = search_tree.at_node(tree.position, root)
    ending, _ = reply_bounds(game, position, moves, tree.score_share)
    visited = search_tree.move_bounds(tree, root)
    move_bounds = Bounds(
        lower=jnp.maximum(ending.lower, visited.lower),
        upper=jnp.minimum(ending.upper, visited.upper),
    )
    before = search_tree.at_node(tree.bounds, root)
    after = tightened(before, move_bounds, _has_all(game, moves))
    after = protocol.where(before.is_proven(), before, after)  # of a finished game
    bounds = jax.tree.map(lambda all_nodes, x: all_nodes.at[:, 0].set(x), tree.bounds, after)
    tree = dataclasses.replace(tree, bounds=bounds)
    sure = after.lower[:, None]
    is_best = (move_bounds.upper > sure) | (move_bounds.lower >= jnp.maximum(sure, 0))
    return tree, jnp.where(is_best.any(axis=-1, keepdims=True), is_best, moves.is_legal())


def tightened(bounds: Bounds, moves: Bounds, has_all: jax.Array) -> Bounds:
    """Returns bounds `[...]` tightened by those of the moves `[..., S]`, if all moves are there."""
    upper = jnp.where(has_all, moves.upper.max(axis=-1), bounds.upper)
    return Bounds(
        lower=jnp.maximum(bounds.lower, moves.lower.max(axis=-1)),
        upper=jnp.minimum(bounds.upper, upper),
    )


def _has_all(game: protocol.Game, moves: search_tree.Moves) -> jax.Array:
    """Returns `[...]` bool, whether the slots hold all legal moves, see `search_tree.compact`."""
    num_slots = moves.action.shape[-1]
    return (moves.action[..., -1] < 0) | (num_slots >= game.max_legal)
