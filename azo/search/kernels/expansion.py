"""Storing a leaf, passing its proof up and backing up its value, as one kernel.

The program of each game does to its own tree what `mcts.add_leaves` does to all. It writes into the
arrays that it is given. Threads of one program need not see what others have just written, so all
that is read is the tree before the leaf, and the leaf and its ancestors are corrected in registers.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas
from jax.experimental.pallas import triton

from azo.games import protocol
from azo.search import proofs, search_tree
from azo.search.kernels import rows

UNVISITED = search_tree.UNVISITED


def add_leaf(
    game: protocol.Game,
    tree: search_tree.Tree,
    new_node: jax.Array,
    paths: Any,
    leaves: Any,
    *,
    is_interpreted: bool = False,
) -> search_tree.Tree:
    """See `mcts.add_leaves`, for one leaf of each tree. Interpreted, it runs on any device."""
    path = jax.tree.map(lambda x: x[:, 0], paths)
    position = jax.tree.map(
        # A kernel has no other shapes than those of words `[B, N]`.
        lambda old, x: old if _is_word(old) else old.at[:, new_node[0]].set(x),
        tree.position,
        leaves.position,
    )
    is_word = [_is_word(x) for x in jax.tree.leaves(position)]
    words = [x for x, chosen in zip(jax.tree.leaves(position), is_word, strict=True) if chosen]
    new_words = [
        x for x, chosen in zip(jax.tree.leaves(leaves.position), is_word, strict=True) if chosen
    ]
    rest = dataclasses.replace(tree, position=None)
    stored, stored_tree = jax.tree.flatten((rest, words))
    leaf = dataclasses.replace(leaves, position=new_words)
    inputs, inputs_tree = jax.tree.flatten((path, leaf, new_node))

    def kernel(*refs: Any) -> None:
        one = pallas.program_id(0)
        given = [rows.Rows(ref, one) for ref in refs]
        before, _ = jax.tree.unflatten(stored_tree, given[: len(stored)])
        path, leaf, number = jax.tree.unflatten(inputs_tree, given[len(stored) : -len(stored)])
        after, words = jax.tree.unflatten(stored_tree, given[-len(stored) :])
        path, leaf = jax.tree.map(rows.Rows.whole, (path, leaf))
        new_node = jnp.broadcast_to(number.number(), (1,))
        for word, x in zip(words, leaf.position, strict=True):
            word.put_at(new_node, x)
        _add_leaf(game, rows.of_tree(before), after, new_node, path, leaf)

    call = pallas.pallas_call(
        kernel,
        grid=tree.visits.shape[:1],
        out_shape=[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in stored],
        input_output_aliases={number: number for number in range(len(stored))},
        compiler_params=triton.CompilerParams(num_warps=1),
        interpret=is_interpreted,
        name="expansion",
    )
    rest, words = jax.tree.unflatten(stored_tree, call(*stored, *inputs))
    parts = iter(words)
    whole = [
        next(parts) if chosen else x
        for x, chosen in zip(jax.tree.leaves(position), is_word, strict=True)
    ]
    position = jax.tree.unflatten(jax.tree.structure(position), whole)
    return dataclasses.replace(rest, position=position)


def _is_word(x: jax.Array) -> bool:
    return x.ndim == 2 and jnp.issubdtype(x.dtype, jnp.number)


def _add_leaf(
    game: protocol.Game,
    before: Any,
    after: Any,
    new_node: jax.Array,
    path: Any,
    leaf: Any,
) -> None:
    """Writes into a tree of `Rows`; `after` is the tree `before` in the same memory."""
    is_new = path.end_node == UNVISITED
    after.parent.put_at(new_node, jnp.where(is_new, path.node, UNVISITED))
    jax.tree.map(
        lambda array, x: array.put_at(new_node, x),
        (after.bounds, after.moves, after.raw_value),
        (leaf.bounds, leaf.moves, leaf.value),
    )
    children = search_tree.at_node(before.child, path.node).astype(jnp.int32)
    is_leaf = _slots(children) == path.slot[:, None]
    linked = jnp.where(is_leaf & is_new[:, None], new_node[:, None], children)
    after.child.put_at(path.node, linked)
    if before.has_proofs:
        _pass_up(game, before, after, path, leaf)

    end = jnp.maximum(path.end_node, 0)
    bounds, value = search_tree.at_node((before.bounds, before.raw_value), end)
    bounds, value = protocol.where(is_new, (leaf.bounds, leaf.value), (bounds, value))
    value = path.leaf_sign * bounds.clip(value, before.score_share)
    end = jnp.where(is_new, new_node, path.end_node)
    visits, value_sum = before.visits.whole(), before.value_sum.whole()
    sign = jnp.where(_slots(visits) == end[:, None], path.leaf_sign[:, None], path.sign)
    after.visits.put(visits + (sign != 0))
    after.value_sum.put(value_sum + sign * value[:, None])


def _pass_up(game: protocol.Game, before: Any, after: Any, path: Any, leaf: Any) -> None:
    """See `proofs.pass_up`."""
    num_slots = before.child.ref.shape[-1]

    def step(state: tuple) -> tuple:
        node, slot, behind = state
        at = jnp.maximum(node, 0)
        edges, old = search_tree.move_bounds(before, at), search_tree.at_node(before.bounds, at)
        is_changed = _slots(edges.lower) == slot[:, None]
        edges = search_tree.Bounds(
            lower=jnp.where(is_changed, -behind.upper[:, None], edges.lower),
            upper=jnp.where(is_changed, -behind.lower[:, None], edges.upper),
        )
        has_all = (num_slots >= game.max_legal) | (before.moves.action.at_last(at) < 0)
        new = proofs.tightened(old, edges, has_all)
        is_better = (new.lower > old.lower) | (new.upper < old.upper)
        jax.tree.map(lambda array, x: array.put_at(at, x), after.bounds, new)
        parent = search_tree.at_node(before.parent, at).astype(jnp.int32)
        parent = jnp.where(is_better, parent, UNVISITED)
        siblings = search_tree.at_node(before.child, jnp.maximum(parent, 0)).astype(jnp.int32)
        slot = jnp.where(siblings == at[:, None], _slots(siblings), 0).sum(axis=-1)
        return parent, slot, new

    node = jnp.where(path.end_node == UNVISITED, path.node, UNVISITED)
    jax.lax.while_loop(lambda state: state[0].max() >= 0, step, (node, path.slot, leaf.bounds))


def _slots(x: jax.Array) -> jax.Array:
    """Returns the indices along the last axis of `[1, S]`."""
    return jnp.arange(x.shape[-1])[None]
