"""Batched tree search: the loops of `mctx.search`, rearranged so that they cost little.

One step goes down every tree to a move not yet tried, evaluates the positions behind these moves in
one batch, and adds the values to the nodes on the way. What differs from mctx, which this
reproduces visit for visit:

* The way down is recorded as it is walked, as marks on the nodes passed: a `[B, N]` array of signs,
  and the backup is one multiplication by it, without a loop and without scatters.
* The way down is one loop for the whole batch. The root's rule runs once, before it.
* A finished game ends the way down; nothing is searched below it.
* The node made by simulation `s` is node `s + 1` in every tree, so storing it is one slice.

A step may also take several ways `L` down each tree, one after the other, before it evaluates what
they have found. A way counts at once, as virtual visits that whoever chose it has lost (Chaslot et
al., 2008, https://doi.org/10.1007/978-3-540-87608-3_6), so that the next goes elsewhere; the
backup then replaces them. Where a later way reaches a leaf of the same step all the same, it ends
there and counts that leaf's value again; the node it would have made stays unused.
"""

import dataclasses

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.search import search_tree

UNVISITED = search_tree.UNVISITED


def grow(
    game: protocol.Game,
    evaluate: search_tree.Evaluate,
    key: jax.Array,
    root: protocol.Position,
    root_moves: search_tree.Moves,
    root_value: jax.Array,
    *,
    num_simulations: int,
    leaves_per_step: int,
    virtual_loss: float,
    select_at_root: search_tree.Select,
    select_below: search_tree.Select,
) -> search_tree.Tree:
    """Runs the simulations.

    Args:
      game: the rules.
      evaluate: evaluates a batch `[B * L]` of positions; illegal moves need not be masked.
      key: for `evaluate`.
      root: `[B]` positions. Where the game is over already, nothing useful comes out.
      root_moves: of these positions, from `trees.compact`.
      root_value: `[B]` float32, for the side to move.
      num_simulations: number of evaluations after the root's, at most `trees.MAX_SIMULATIONS`.
      leaves_per_step: `L`, evaluations of each tree in one batch; divides `num_simulations`.
      virtual_loss: visits that a way counts as until it is evaluated, at least 1; of no effect
        if `L` is 1.
      select_at_root: rule for the first move.
      select_below: rule for the moves after it.

    Returns:
      Trees with `num_simulations + 1` nodes, not all of them in use where ways ended at nodes
      that were there already.
    """
    tree = _plant(game, root, root_moves, root_value, num_simulations + 1)
    walker = _Walker(select_at_root, select_below, virtual_loss)

    def step(index: jax.Array, tree: search_tree.Tree) -> search_tree.Tree:
        new_node = index * leaves_per_step + 1 + jnp.arange(leaves_per_step)
        child, ways = walker.ways(tree, new_node)
        here, moves = search_tree.at_node((tree.position, tree.moves), ways.node)
        here, moves, slot = _merged((here, moves, ways.slot))
        played = game.step(here, moves.at(slot))
        evaluation = evaluate(jax.random.fold_in(key, index), played.position)
        is_over = played.discount == 0
        value = jnp.where(is_over, -played.reward, evaluation.value)
        moves = search_tree.compact(game, played.position, evaluation.prior_logits)
        made = _split((played.position, is_over, moves, value), leaves_per_step)
        tree = dataclasses.replace(_store(tree, new_node[0], *made), child=child)
        return _back_up(tree, ways, new_node)

    return jax.lax.fori_loop(0, num_simulations // leaves_per_step, step, tree)


@flax.struct.dataclass
class _Way:
    """The way down each tree, to a move not yet tried or to a node that ends it.

    A node ends the way if the game is over there, or if it still waits for its evaluation. Several
    ways have an axis `L` after `B`.
    """

    node: jax.Array  # [B] int32, where the last move was chosen
    slot: jax.Array  # [B] int32, that move
    sign: jax.Array  # [B, N] int8, 1 or -1 by depth at the nodes on the way, 0 elsewhere
    leaf_sign: jax.Array  # [B] int8, what `sign` is to be at the end of the way
    known_end: jax.Array  # [B] int32, the node that ended the way, or UNVISITED

    def with_end(self, new_node: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the last node `[B]`, `new_node` if there was none, and `sign` with it marked."""
        end = jnp.where(self.known_end == UNVISITED, new_node, self.known_end)
        nodes = jnp.arange(self.sign.shape[-1])
        is_end = nodes.reshape((1,) * end.ndim + nodes.shape) == end[..., None]
        return end, jnp.where(is_end, self.leaf_sign[..., None], self.sign)


@dataclasses.dataclass(frozen=True)
class _Walker:
    """Goes down the trees."""

    select_at_root: search_tree.Select
    select_below: search_tree.Select
    virtual_loss: float

    def ways(self, tree: search_tree.Tree, new_node: jax.Array) -> tuple[jax.Array, _Way]:
        """Returns the children `[B, N, S]` with new nodes `[L]` among them, and the ways there."""
        if new_node.shape[0] == 1:
            way = self._descend(tree, None)
            child = _link(tree.child, way, new_node[0])
            return child, jax.tree.map(lambda x: x[:, None], way)

        def next_way(state: tuple, new_node: jax.Array) -> tuple[tuple, _Way]:
            child, virtual = state
            way = self._descend(dataclasses.replace(tree, child=child), virtual)
            _, sign = way.with_end(new_node[None])
            virtual += self.virtual_loss * (sign != 0)
            return (_link(child, way, new_node), virtual), way

        start = tree.child, jnp.zeros(tree.visits.shape)
        (child, _), ways = jax.lax.scan(next_way, start, new_node)
        return child, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), ways)

    def _descend(self, tree: search_tree.Tree, virtual: jax.Array | None) -> _Way:
        batch, num_nodes = tree.visits.shape
        nodes = jnp.arange(num_nodes)[None]
        root = jnp.zeros(batch, jnp.int32)

        def follow(way: _Way) -> tuple[_Way, jax.Array]:
            """Returns the way with its end worked out, and the node to go on from, if any."""
            child = search_tree.at_node(search_tree.at_node(tree.child, way.node), way.slot)
            child = child.astype(jnp.int32)
            known = jnp.maximum(child, 0)
            is_end = search_tree.at_node(tree.is_over, known)
            if virtual is not None:
                is_end |= search_tree.at_node(tree.visits, known) == 0
            is_end &= child != UNVISITED
            way = dataclasses.replace(way, known_end=jnp.where(is_end, child, UNVISITED))
            return way, jnp.where(is_end, UNVISITED, child)

        def is_going_on(state: tuple[_Way, jax.Array]) -> jax.Array:
            return (state[1] != UNVISITED).any()

        def go_on(state: tuple[_Way, jax.Array]) -> tuple[_Way, jax.Array]:
            way, child = state
            moves = child != UNVISITED
            chosen = self.select_below(search_tree.view(tree, jnp.maximum(child, 0), virtual))
            way = dataclasses.replace(
                way,
                node=jnp.where(moves, child, way.node),
                slot=jnp.where(moves, chosen, way.slot),
                # No node is UNVISITED, so what does not go on is marked nowhere.
                sign=jnp.where(nodes == child[:, None], way.leaf_sign[:, None], way.sign),
                leaf_sign=jnp.where(moves, -way.leaf_sign, way.leaf_sign),
            )
            return follow(way)

        way = _Way(
            node=root,
            slot=self.select_at_root(search_tree.view(tree, root, virtual)),
            sign=jnp.broadcast_to((nodes == 0).astype(jnp.int8), tree.visits.shape),
            leaf_sign=jnp.full(batch, -1, jnp.int8),
            known_end=jnp.full(batch, UNVISITED),
        )
        return jax.lax.while_loop(is_going_on, go_on, follow(way))[0]


def _plant(
    game: protocol.Game,
    root: protocol.Position,
    root_moves: search_tree.Moves,
    root_value: jax.Array,
    num_nodes: int,
) -> search_tree.Tree:
    batch, num_slots = root_moves.action.shape

    def room(x):
        return jnp.zeros((batch, num_nodes, *x.shape[1:]), x.dtype)

    tree = search_tree.Tree(
        position=jax.tree.map(room, root),
        is_over=jnp.zeros((batch, num_nodes), bool),
        moves=jax.tree.map(room, root_moves),
        raw_value=room(root_value),
        visits=jnp.zeros((batch, num_nodes), jnp.int32).at[:, 0].set(1),
        value_sum=room(root_value).at[:, 0].set(root_value),
        child=jnp.full((batch, num_nodes, num_slots), UNVISITED, jnp.int16),
    )
    return _store(tree, 0, *_split((root, game.is_over(root), root_moves, root_value), 1))


def _store(
    tree: search_tree.Tree,
    first: jax.Array | int,
    position: protocol.Position,
    is_over: jax.Array,
    moves: search_tree.Moves,
    value: jax.Array,
) -> search_tree.Tree:
    """Returns trees with `L` nodes from the first on, all given as `[B, L, ...]`."""

    def put(old, new):
        return jax.lax.dynamic_update_slice_in_dim(old, new, first, axis=1)

    return dataclasses.replace(
        tree,
        position=jax.tree.map(put, tree.position, position),
        is_over=put(tree.is_over, is_over),
        moves=jax.tree.map(put, tree.moves, moves),
        raw_value=put(tree.raw_value, value),
    )


def _link(child: jax.Array, way: _Way, new_node: jax.Array) -> jax.Array:
    batch, num_nodes, _ = child.shape
    # A node out of range is dropped: nothing new lies behind a node that ended the way.
    node = jnp.where(way.known_end == UNVISITED, way.node, num_nodes)
    new_node = new_node.astype(child.dtype)
    return child.at[jnp.arange(batch), node, way.slot].set(new_node, mode="drop")


def _back_up(tree: search_tree.Tree, ways: _Way, new_node: jax.Array) -> search_tree.Tree:
    end, sign = ways.with_end(new_node[None])
    value = ways.leaf_sign * search_tree.at_node(tree.raw_value, end)
    return dataclasses.replace(
        tree,
        visits=tree.visits + (sign != 0).sum(axis=1),
        value_sum=tree.value_sum + (sign * value[..., None]).sum(axis=1),
    )


def _merged(x):
    """Returns `[B * L, ...]` of `[B, L, ...]`."""
    return jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:]), x)


def _split(x, num_leaves: int):
    """Returns `[B, L, ...]` of `[B * L, ...]`."""
    return jax.tree.map(lambda y: y.reshape(-1, num_leaves, *y.shape[1:]), x)
