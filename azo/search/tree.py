"""Batched tree search: the loops of `mctx.search`, rearranged so that they cost little.

Each of `B` games has a tree of `N` nodes, node 0 the root. One simulation goes down every tree to
a move not yet tried, evaluates the positions behind these moves in one batch, and adds the values
to the nodes on the way. The rules of choosing a move are given as functions of one node, in the
form of a `mctx.Tree` of that node alone, so that mctx's own action selection and q-transforms work
as they are.

What differs from mctx, which this reproduces visit for visit:

* Visits and values are kept once, at the nodes. The way down marks its nodes in a `[B, N]` array
  of signs, and the backup is one multiplication by it, without a loop and without scatters.
* The way down is one loop for the whole batch. The root's rule runs once, before it.
* A finished game ends the way down; nothing is searched below it.
* The node made by simulation `s` is node `s + 1` in every tree, so storing it is one slice.

A node's value is seen by the side to move there. Rewards come only with the last ply and points of
view alternate, so the value of a finished game is its result, and a move is worth minus the value
of the node behind it.
"""

import dataclasses
from collections.abc import Callable

import flax.struct
import jax
import jax.numpy as jnp
import mctx

from azo.games import protocol

UNVISITED = -1


@flax.struct.dataclass
class Evaluation:
    """What a network, or something in its place, says of positions."""

    prior_logits: jax.Array  # [B, A] float32, also of illegal moves, before softmax
    value: jax.Array  # [B] float32 in [-1, 1], for the side to move


@flax.struct.dataclass
class Tree:
    """The trees of a batch of games."""

    position: protocol.Position  # [B, N, ...]
    is_over: jax.Array  # [B, N] bool
    prior_logits: jax.Array  # [B, N, A] float32, illegal moves masked
    raw_value: jax.Array  # [B, N] float32, value of the position without search
    visits: jax.Array  # [B, N] int32
    value_sum: jax.Array  # [B, N] float32, sum of the values of all visits
    child: jax.Array  # [B, N, A] int32, node behind a move, or UNVISITED

    def value(self) -> jax.Array:
        """Returns `[B, N]` float32, the mean value of the visits to each node; 0 if none."""
        return self.value_sum / jnp.maximum(self.visits, 1)


# Chooses moves `[B]` int32, given trees that consist of the node to move from.
Select = Callable[[mctx.Tree], jax.Array]
Evaluate = Callable[[jax.Array, protocol.Position], Evaluation]


def mask_illegal(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Returns logits whose softmax gives illegal moves nothing; finite, so never NaN."""
    logits = logits - jnp.max(jnp.where(legal, logits, -jnp.inf), axis=-1, keepdims=True)
    return jnp.where(legal, logits, jnp.finfo(logits.dtype).min)


def grow(
    game: protocol.Game,
    evaluate: Evaluate,
    key: jax.Array,
    root: protocol.Position,
    root_logits: jax.Array,
    root_value: jax.Array,
    *,
    num_simulations: int,
    select_at_root: Select,
    select_below: Select,
) -> Tree:
    """Runs the simulations.

    Args:
      game: the rules.
      evaluate: evaluates a batch of positions; illegal moves need not be masked.
      key: for `evaluate`.
      root: `[B]` positions. Where the game is over already, nothing useful comes out.
      root_logits: `[B, A]` float32, illegal moves masked.
      root_value: `[B]` float32, for the side to move.
      num_simulations: number of evaluations after the root's.
      select_at_root: rule for the first move.
      select_below: rule for the moves after it.

    Returns:
      Trees with `num_simulations + 1` nodes, not all of them in use where games ended.
    """
    tree = _plant(game, root, root_logits, root_value, num_simulations + 1)

    def simulate(simulation: jax.Array, tree: Tree) -> Tree:
        way = _descend(tree, select_at_root, select_below)
        here = jax.tree.map(lambda x: _at_node(x, way.node), tree.position)
        position = game.step(here, way.action).position
        evaluation = evaluate(jax.random.fold_in(key, simulation), position)
        is_over = game.is_over(position)
        value = jnp.where(is_over, game.result(position), evaluation.value)
        logits = mask_illegal(evaluation.prior_logits, game.legal_mask(position))
        tree = _store(tree, simulation + 1, position, is_over, logits, value)
        tree = dataclasses.replace(tree, child=_link(tree.child, way, simulation + 1))
        return _back_up(tree, way, simulation + 1, value)

    return jax.lax.fori_loop(0, num_simulations, simulate, tree)


def view(tree: Tree, node: jax.Array, extra_data: object = None) -> mctx.Tree:
    """Returns one node `[B]` of each tree as mctx sees it: index 0 of a tree of one node.

    The fields that describe the rest of the tree hold what a root has.
    """
    child = _at_node(tree.child, node)
    is_visited = child != UNVISITED
    known = jnp.maximum(child, 0)
    visits = jnp.where(is_visited, jnp.take_along_axis(tree.visits, known, axis=1), 0)
    sums = jnp.where(is_visited, jnp.take_along_axis(tree.value_sum, known, axis=1), 0.0)
    logits = _at_node(tree.prior_logits, node)
    is_legal = logits > jnp.finfo(logits.dtype).min
    node_visits = _at_node(tree.visits, node)
    node_value = _at_node(tree.value_sum, node) / node_visits

    def alone(x):
        return x[:, None]

    no_parent = jnp.full((node.shape[0], 1), mctx.Tree.NO_PARENT)
    return mctx.Tree(
        node_visits=alone(node_visits),
        raw_values=alone(_at_node(tree.raw_value, node)),
        node_values=alone(node_value),
        parents=no_parent,
        action_from_parent=no_parent,
        children_index=alone(child),
        children_prior_logits=alone(logits),
        children_visits=alone(visits),
        children_rewards=alone(jnp.zeros_like(sums)),
        children_discounts=alone(jnp.full_like(sums, -1.0)),
        children_values=alone(sums / jnp.maximum(visits, 1)),
        embeddings=None,
        root_invalid_actions=(~is_legal).astype(jnp.float32),
        extra_data=extra_data,
    )


@flax.struct.dataclass
class _Way:
    """The way down each tree, to a move not yet tried or to a finished game."""

    node: jax.Array  # [B] int32, where the last move was chosen
    action: jax.Array  # [B] int32, that move
    sign: jax.Array  # [B, N] float32, 1 or -1 by depth at the nodes on the way, 0 elsewhere
    leaf_sign: jax.Array  # [B] float32, what `sign` is to be at the end of the way
    finished: jax.Array  # [B] int32, node of the finished game at the end, or UNVISITED


def _plant(
    game: protocol.Game,
    root: protocol.Position,
    root_logits: jax.Array,
    root_value: jax.Array,
    num_nodes: int,
) -> Tree:
    batch, num_actions = root_logits.shape

    def room(x):
        return jnp.zeros((batch, num_nodes, *x.shape[1:]), x.dtype)

    tree = Tree(
        position=jax.tree.map(room, root),
        is_over=jnp.zeros((batch, num_nodes), bool),
        prior_logits=room(root_logits),
        raw_value=room(root_value),
        visits=jnp.zeros((batch, num_nodes), jnp.int32).at[:, 0].set(1),
        value_sum=room(root_value).at[:, 0].set(root_value),
        child=jnp.full((batch, num_nodes, num_actions), UNVISITED),
    )
    return _store(tree, 0, root, game.is_over(root), root_logits, root_value)


def _descend(tree: Tree, select_at_root: Select, select_below: Select) -> _Way:
    batch, num_nodes = tree.visits.shape
    nodes = jnp.arange(num_nodes)[None]
    root = jnp.zeros(batch, jnp.int32)

    def follow(way: _Way) -> tuple[_Way, jax.Array]:
        """Returns the way with its end worked out, and the node to go on from, if any."""
        child = jnp.take_along_axis(_at_node(tree.child, way.node), way.action[:, None], axis=1)
        child = child[:, 0]
        ends_game = (child != UNVISITED) & _at_node(tree.is_over, jnp.maximum(child, 0))
        way = dataclasses.replace(way, finished=jnp.where(ends_game, child, UNVISITED))
        return way, jnp.where(ends_game, UNVISITED, child)

    def is_going_on(state: tuple[_Way, jax.Array]) -> jax.Array:
        return (state[1] != UNVISITED).any()

    def go_on(state: tuple[_Way, jax.Array]) -> tuple[_Way, jax.Array]:
        way, child = state
        moves = child != UNVISITED
        chosen = select_below(view(tree, jnp.maximum(child, 0)))
        on_child = (nodes == child[:, None]) & moves[:, None]
        way = dataclasses.replace(
            way,
            node=jnp.where(moves, child, way.node),
            action=jnp.where(moves, chosen, way.action),
            sign=jnp.where(on_child, way.leaf_sign[:, None], way.sign),
            leaf_sign=jnp.where(moves, -way.leaf_sign, way.leaf_sign),
        )
        return follow(way)

    way = _Way(
        node=root,
        action=select_at_root(view(tree, root)),
        sign=jnp.broadcast_to((nodes == 0).astype(jnp.float32), tree.visits.shape),
        leaf_sign=jnp.full(batch, -1.0),
        finished=jnp.full(batch, UNVISITED),
    )
    return jax.lax.while_loop(is_going_on, go_on, follow(way))[0]


def _store(
    tree: Tree,
    node: jax.Array | int,
    position: protocol.Position,
    is_over: jax.Array,
    logits: jax.Array,
    value: jax.Array,
) -> Tree:
    def put(old, new):
        return jax.lax.dynamic_update_index_in_dim(old, new, node, axis=1)

    return dataclasses.replace(
        tree,
        position=jax.tree.map(put, tree.position, position),
        is_over=put(tree.is_over, is_over),
        prior_logits=put(tree.prior_logits, logits),
        raw_value=put(tree.raw_value, value),
    )


def _link(child: jax.Array, way: _Way, new_node: jax.Array) -> jax.Array:
    batch, num_nodes, _ = child.shape
    # A node out of range is dropped: nothing new lies behind a finished game.
    node = jnp.where(way.finished == UNVISITED, way.node, num_nodes)
    return child.at[jnp.arange(batch), node, way.action].set(new_node, mode="drop")


def _back_up(tree: Tree, way: _Way, new_node: jax.Array, value: jax.Array) -> Tree:
    leaf = jnp.where(way.finished == UNVISITED, new_node, way.finished)
    nodes = jnp.arange(tree.visits.shape[1])[None]
    sign = jnp.where(nodes == leaf[:, None], way.leaf_sign[:, None], way.sign)
    return dataclasses.replace(
        tree,
        visits=tree.visits + (sign != 0),
        value_sum=tree.value_sum + sign * (way.leaf_sign * value)[:, None],
    )


def _at_node(x: jax.Array, node: jax.Array) -> jax.Array:
    """Returns `[B, ...]`, the entries of `[B, N, ...]` at one node `[B]` of each tree."""
    return jax.vmap(lambda row, index: row[index])(x, node)
