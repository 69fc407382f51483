"""The simulations of a batched tree search: `descend`, `evaluate_leaves`, `expand`, `back_up`.

One step descends every tree along a path to a move without a node behind it, evaluates the
positions behind these moves in one batch, and adds the values to the nodes of the paths. The trees
are those of `mctx.search`, visit for visit, at lower cost:

* A path is recorded on the way down as one sign for each node: `[B, N]`, 1 or -1 by depth, 0 off
  the path. The backup is one multiplication by it, without a loop and without scatters.
* One loop descends all trees of the batch. The root's rule runs once, before the loop.
* A finished game and a proven result end a path: nothing is searched below them.
* The node that simulation `s` makes is node `s + 1` of every tree, so storing it is one slice.

The scopes `descent`, `rules`, `evaluation` and `proofs` name the parts in profiles.

A step may descend each tree along `L` paths, one after the other, before it evaluates their
leaves. Each pending path adds virtual losses until its leaf is evaluated (Chaslot et al., 2008,
https://doi.org/10.1007/978-3-540-87608-3_6), so that later paths go elsewhere. A path that still
reaches a pending leaf ends there and counts the value of that leaf once more; the node that it
would have made stays unused.
"""

import dataclasses
import functools
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.process import kernels
from azo.search import evaluations, proofs, rules, search_tree, settings

UNVISITED = search_tree.UNVISITED


def run(
    game: protocol.Game,
    evaluate: evaluations.Evaluate,
    key: jax.Array,
    root: protocol.Position,
    root_value: jax.Array,
    rule: rules.Rule,
    config: settings.SearchConfig,
) -> search_tree.Tree:
    """Runs the simulations from positions `[B]`, and returns trees of `num_simulations + 1` nodes.

    `evaluate` gets batches `[B * L]`, where `L` is `leaves_per_step`, and its values are those that
    the search maximises. The root's moves are those of the rule. Nodes of paths that ended at an
    existing node are unused. The tree of a finished game is finite, but meaningless.
    """
    num_leaves = config.leaves_per_step

    def step(index: jax.Array, tree: search_tree.Tree) -> search_tree.Tree:
        return search_tree.lay_games_last(simulate(index, search_tree.lay_games_last(tree)))

    def simulate(index: jax.Array, tree: search_tree.Tree) -> search_tree.Tree:
        new_node = index * num_leaves + 1 + jnp.arange(num_leaves)
        with jax.named_scope("descent"):
            paths = descend(tree, new_node, rule, config)
        with jax.named_scope("rules"):
            played = play(game, tree, paths)
        leaves = evaluate_leaves(game, evaluate, jax.random.fold_in(key, index), played, config)
        add = functools.partial(add_leaves, game)
        if not has_kernels(rule, config):
            return add(tree, new_node, paths, leaves)
        from azo.search.kernels import expansion

        by_kernel = functools.partial(expansion.add_leaf, game)
        return jax.lax.platform_dependent(
            tree, new_node, paths, leaves, cuda=by_kernel, default=add
        )

    tree = search_tree.lay_games_last(_init_tree(game, root, rule.moves, root_value, config))
    return jax.lax.fori_loop(0, config.num_simulations // num_leaves, step, tree)


@flax.struct.dataclass
class Path:
    """A path down each tree, to a move without a node behind it, or to a node that ends it.

    A node ends the path if its game is over, or if its evaluation is pending. Several paths have an
    axis `L` after `B`.
    """

    node: jax.Array  # [B] int32, the node at which the last move was selected
    slot: jax.Array  # [B] int32, that move
    sign: jax.Array  # [B, N] int8, 1 or -1 by depth at the nodes of the path, 0 elsewhere
    leaf_sign: jax.Array  # [B] int8, the sign of the leaf, which `sign` does not have yet
    end_node: jax.Array  # [B] int32, the existing node that ended the path, or UNVISITED

    def with_leaf(self, new_node: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the leaf `[B]`, `new_node` if no node ended the path, and `sign` with it."""
        leaf = jnp.where(self.end_node == UNVISITED, new_node, self.end_node)
        nodes = jnp.arange(self.sign.shape[-1])
        is_leaf = nodes.reshape((1,) * leaf.ndim + nodes.shape) == leaf[..., None]
        return leaf, jnp.where(is_leaf, self.leaf_sign[..., None], self.sign)


def descend(
    tree: search_tree.Tree, new_node: jax.Array, rule: rules.Rule, config: settings.SearchConfig
) -> Path:
    """Descends each tree along `L` paths, one after the other, and returns these."""
    if new_node.shape[0] == 1:
        kernels: dict[str, Any] = {}
        if has_kernels(rule, config):
            from azo.search.kernels import descent  # imports Pallas, which takes a second

            kernels = {"cuda": functools.partial(descent.descend, descend_once, rule=rule)}
        loop = functools.partial(descend_once, rule=rule)
        path = jax.lax.platform_dependent(
            tree, **kernels, tpu=lambda tree: loop(search_tree.games_last(tree)), default=loop
        )
        return jax.tree.map(lambda x: x[:, None], path)

    def next_path(state: tuple, new_node: jax.Array) -> tuple[tuple, Path]:
        child, virtual = state
        path = descend_once(dataclasses.replace(tree, child=child), rule, virtual)
        _, sign = path.with_leaf(new_node[None])
        virtual += config.virtual_loss * (sign != 0)
        return (_link(child, path, new_node), virtual), path

    start = tree.child, jnp.zeros(tree.visits.shape)
    _, paths = jax.lax.scan(next_path, start, new_node)
    return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), paths)


def has_kernels(rule: rules.Rule, config: settings.SearchConfig) -> bool:
    """Returns whether programs for NVIDIA GPUs use `kernels`: one leaf per step, rules of azo."""
    is_wanted = config.kernels == "on" or (config.kernels == "auto" and kernels.are_trusted())
    return is_wanted and config.leaves_per_step == 1 and type(rule) in rules.OF_AZO


def descend_once(
    tree: search_tree.Tree, rule: rules.Rule, virtual: jax.Array | None = None
) -> Path:
    """Returns one path down each tree; `virtual` `[B, N]` are the losses of pending paths.

    A kernel traces this function for a single tree, whose arrays are lazy.
    """
    batch, num_nodes = tree.visits.shape
    nodes = jnp.arange(num_nodes)[None]
    root = jnp.zeros(batch, jnp.int32)

    def laid(sign: jax.Array) -> jax.Array:
        is_on_tpu = isinstance(tree.visits, search_tree.GamesLast)
        return search_tree.with_games_last(sign) if is_on_tpu else sign

    def follow(path: Path) -> tuple[Path, jax.Array]:
        """Returns the path with its `end_node`, and the node to descend to, or UNVISITED."""
        child = search_tree.at_node(tree.child, path.node).astype(jnp.int32)
        child = search_tree.in_slot(child, path.slot)
        index = jnp.maximum(child, 0)
        is_end = search_tree.at_node(tree.bounds, index).is_proven()
        if virtual is not None:
            is_end |= search_tree.at_node(tree.visits, index) == 0
        is_end &= child != UNVISITED
        path = dataclasses.replace(path, end_node=jnp.where(is_end, child, UNVISITED))
        return path, jnp.where(is_end, UNVISITED, child)

    def is_descending(state: tuple[Path, jax.Array]) -> jax.Array:
        return state[1].max() > UNVISITED

    def select_next(state: tuple[Path, jax.Array]) -> tuple[Path, jax.Array]:
        path, child = state
        moves = child != UNVISITED
        node = search_tree.node_of(tree, jnp.maximum(child, 0), virtual)
        path = dataclasses.replace(
            path,
            node=jnp.where(moves, child, path.node),
            slot=jnp.where(moves, rule.select_below(node), path.slot),
            # No node has the number UNVISITED, so a path that has ended gets no more signs.
            sign=laid(jnp.where(nodes == child[:, None], path.leaf_sign[:, None], path.sign)),
            leaf_sign=jnp.where(moves, -path.leaf_sign, path.leaf_sign),
        )
        return follow(path)

    path = Path(
        node=root,
        slot=rule.select_at_root(search_tree.node_of(tree, root, virtual)),
        sign=laid(jnp.broadcast_to((nodes == 0).astype(jnp.int8), (batch, num_nodes))),
        leaf_sign=jnp.full(batch, -1, jnp.int8),
        end_node=jnp.full(batch, UNVISITED),
    )
    return jax.lax.while_loop(is_descending, select_next, follow(path))[0]


def play(game: protocol.Game, tree: search_tree.Tree, paths: Path) -> protocol.Step:
    """Plays the last moves of paths `[B, L]`; returns the steps of `[B * L]` positions."""
    position, moves = search_tree.at_node((tree.position, tree.moves), paths.node)
    position, moves, slot = _merge_leaves((position, moves, paths.slot))
    return game.step(position, moves.at(slot))


@flax.struct.dataclass
class Leaves:
    """Positions behind the last moves of paths, with what was found out about them."""

    position: protocol.Position  # [B * L, ...]
    bounds: search_tree.Bounds  # [B * L]
    moves: search_tree.Moves  # [B * L, S]
    value: jax.Array  # [B * L] float32


def evaluate_leaves(
    game: protocol.Game,
    evaluate: evaluations.Evaluate,
    key: jax.Array,
    played: protocol.Step,
    config: settings.SearchConfig,
) -> Leaves:
    """Evaluates the positions of steps `[B * L]`; a finished game has the value of its result."""
    position, is_over = played.position, played.discount == 0
    evaluation = evaluate(key, position)
    with jax.named_scope("rules"):
        moves = search_tree.compact(game, position, evaluation.prior_logits)
    bounds = _result_bounds(is_over, -played.reward)
    value = bounds.clip(evaluation.value, config.score_share)
    if config.score_share:
        score = game.final_score(position)
        end = search_tree.value_of_score(game, score, config.score_share)
        value = jnp.where(is_over, end, value)
    if config.has_proofs:
        with jax.named_scope("proofs"):
            bounds, value = proofs.look_ahead(
                game, position, moves, bounds, value, config.score_share
            )
    return Leaves(position, bounds, moves, value)


def expand(
    tree: search_tree.Tree, new_node: jax.Array, paths: Path, leaves: Leaves
) -> tuple[search_tree.Tree, jax.Array]:
    """Returns trees with the leaves stored at new nodes `[L]`, and the parents `[B, L]` of these.

    A path that ended at an existing node has no parent: UNVISITED.
    """
    tree = dataclasses.replace(tree, child=_link(tree.child, paths, new_node))
    parent = jnp.where(paths.end_node == UNVISITED, paths.node, UNVISITED)
    parts = leaves.position, leaves.bounds, leaves.moves, leaves.value
    split = _split_leaves(parts, new_node.shape[0])
    return _store(tree, new_node[0], parent, *split), parent


def _init_tree(
    game: protocol.Game,
    root: protocol.Position,
    root_moves: search_tree.Moves,
    root_value: jax.Array,
    config: settings.SearchConfig,
) -> search_tree.Tree:
    """Returns trees whose only visited node is the root."""
    (batch, num_slots), num_nodes = root_moves.action.shape, config.num_simulations + 1

    def zeros(x: jax.Array) -> jax.Array:
        return jnp.zeros((batch, num_nodes, *x.shape[1:]), x.dtype)

    tree = search_tree.Tree(
        position=jax.tree.map(zeros, root),
        parent=jnp.full((batch, num_nodes), UNVISITED, jnp.int16),
        bounds=search_tree.Bounds(
            lower=jnp.full((batch, num_nodes), search_tree.LOSS, jnp.int8),
            upper=jnp.full((batch, num_nodes), search_tree.WIN, jnp.int8),
        ),
        moves=jax.tree.map(zeros, root_moves),
        raw_value=zeros(root_value),
        visits=jnp.zeros((batch, num_nodes), jnp.int32).at[:, 0].set(1),
        value_sum=zeros(root_value).at[:, 0].set(root_value),
        child=jnp.full((batch, num_nodes, num_slots), UNVISITED, jnp.int16),
        has_proofs=config.has_proofs,
        score_share=config.score_share,
    )
    no_parent = jnp.full((batch, 1), UNVISITED)
    bounds = _result_bounds(game.is_over(root), game.result(root))
    return _store(tree, 0, no_parent, *_split_leaves((root, bounds, root_moves, root_value), 1))


def _result_bounds(is_over: jax.Array, result: jax.Array) -> search_tree.Bounds:
    """Returns the bounds `[B]` of positions of which some are finished games with a result."""
    return search_tree.Bounds(
        lower=jnp.where(is_over, result, search_tree.LOSS).astype(jnp.int8),
        upper=jnp.where(is_over, result, search_tree.WIN).astype(jnp.int8),
    )


def _store(
    tree: search_tree.Tree,
    first: jax.Array | int,
    parent: jax.Array,
    position: protocol.Position,
    bounds: search_tree.Bounds,
    moves: search_tree.Moves,
    value: jax.Array,
) -> search_tree.Tree:
    """Returns trees with `L` nodes stored from node `first` on; arguments are `[B, L, ...]`."""

    def put(old: jax.Array, new: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(old, new, first, axis=1)

    return dataclasses.replace(
        tree,
        position=jax.tree.map(put, tree.position, position),
        parent=put(tree.parent, parent.astype(tree.parent.dtype)),
        bounds=jax.tree.map(put, tree.bounds, bounds),
        moves=jax.tree.map(put, tree.moves, moves),
        raw_value=put(tree.raw_value, value),
    )


def _link(child: jax.Array, paths: Path, new_node: jax.Array) -> jax.Array:
    """Returns the children `[B, N, S]` with new nodes behind the last moves of paths.

    There is one path for each tree, or as many `[B, L]` as new nodes `[L]`.
    """
    batch, num_nodes, _ = child.shape
    # A path that an existing node ended makes no node: the scatter drops a row out of range.
    node = jnp.where(paths.end_node == UNVISITED, paths.node, num_nodes)
    tree = jnp.arange(batch).reshape(batch, *(1,) * (node.ndim - 1))
    new_node = jnp.broadcast_to(new_node.astype(child.dtype), node.shape)

    def scatter(child: jax.Array) -> jax.Array:
        return child.at[tree, node, paths.slot].set(new_node, mode="drop")

    def choose(child: jax.Array) -> jax.Array:
        """Does the same on a TPU, whose scatter wants another layout of the array."""
        nodes, slots, numbers = (x.reshape(batch, -1) for x in (node, paths.slot, new_node))
        for leaf in range(nodes.shape[1]):
            at_node, at_slot, number = (x[:, leaf, None, None] for x in (nodes, slots, numbers))
            is_node = jnp.arange(num_nodes)[None, :, None] == at_node
            is_slot = jnp.arange(child.shape[2])[None, None] == at_slot
            child = jnp.where(is_node & is_slot, number, child)
        return jax.lax.optimization_barrier(child)

    return jax.lax.platform_dependent(child, tpu=choose, default=scatter)


def back_up(tree: search_tree.Tree, paths: Path, new_node: jax.Array) -> search_tree.Tree:
    """Returns trees with the leaves' values added along the paths, seen by each node's mover."""
    leaf, sign = paths.with_leaf(new_node[None])
    bounds, value = search_tree.at_node((tree.bounds, tree.raw_value), leaf)
    value = paths.leaf_sign * bounds.clip(value, tree.score_share)
    return dataclasses.replace(
        tree,
        visits=tree.visits + (sign != 0).sum(axis=1),
        value_sum=tree.value_sum + (sign * value[..., None]).sum(axis=1),
    )


def add_leaves(
    game: protocol.Game,
    tree: search_tree.Tree,
    new_node: jax.Array,
    paths: Path,
    leaves: Leaves,
) -> search_tree.Tree:
    """Returns trees with the leaves at new nodes `[L]`, whose values and proofs have passed up."""
    tree, parent = expand(tree, new_node, paths, leaves)
    if tree.has_proofs:
        with jax.named_scope("proofs"):
            tree = proofs.pass_up(game, tree, parent)
    return back_up(tree, paths, new_node)


def _merge_leaves(x: Any) -> Any:
    """Returns `[B * L, ...]` of `[B, L, ...]`."""
    return jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:]), x)


def _split_leaves(x: Any, num_leaves: int) -> Any:
    """Returns `[B, L, ...]` of `[B * L, ...]`."""
    return jax.tree.map(lambda y: y.reshape(-1, num_leaves, *y.shape[1:]), x)
