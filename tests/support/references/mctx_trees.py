"""Whole search trees in the form of mctx, to compare them with mctx and to read them by action."""

import functools

import jax
import jax.numpy as jnp
import mctx

from azo.search import search_tree


@functools.partial(jax.jit, static_argnums=1)
def to_mctx(tree: search_tree.Tree, num_actions: int) -> mctx.Tree:
    """Returns the whole trees with axes `[B, N, A]`.

    Fields that mctx leaves undefined are 0, such as the rewards of unvisited moves.
    """
    batch, num_nodes, num_slots = tree.child.shape

    def spread(x: jax.Array, empty: float = 0) -> jax.Array:
        flat = jax.tree.map(lambda y: y.reshape(-1, num_slots), (tree.moves, x))
        filled = flat[0].spread(flat[1], num_actions, empty)
        return filled.reshape(batch, num_nodes, num_actions)

    is_visited = tree.child != search_tree.UNVISITED
    index = jnp.maximum(tree.child, 0).reshape(batch, -1)

    def of_children(x: jax.Array) -> jax.Array:
        entries = search_tree.at_node(x, index).reshape(is_visited.shape)
        return spread(jnp.where(is_visited, entries, 0))

    children_index = spread(tree.child.astype(jnp.int32), search_tree.UNVISITED)
    rows = jnp.arange(batch)[:, None, None]
    child = jnp.where(children_index >= 0, children_index, num_nodes)
    to_node = jnp.broadcast_to(jnp.arange(num_actions), child.shape)
    none = jnp.full((batch, num_nodes), mctx.Tree.NO_PARENT)
    ends_game = of_children(tree.bounds.is_proven().astype(jnp.float32)) > 0
    visits = of_children(tree.visits)
    return mctx.Tree(
        node_visits=tree.visits,
        raw_values=tree.raw_value,
        node_values=tree.value(),
        parents=tree.parent.astype(jnp.int32),
        action_from_parent=none.at[rows, child].set(to_node, mode="drop"),
        children_index=children_index,
        children_prior_logits=spread(tree.moves.logits, float(jnp.finfo(jnp.float32).min)),
        children_visits=visits,
        children_rewards=jnp.where(ends_game, -of_children(tree.raw_value), 0.0),
        children_discounts=jnp.where(ends_game, 0.0, jnp.where(visits > 0, -1.0, 0.0)),
        children_values=of_children(tree.value()),
        embeddings=tree.position,
        root_invalid_actions=1.0 - spread(tree.moves.is_legal().astype(jnp.float32))[:, 0],
        extra_data=None,
    )
