"""The policies of mctx (https://github.com/google-deepmind/mctx), with a faster search.

All other public names of mctx are here too, so a program changes only its import: `import mctx`
becomes `from azo.compat import mctx`. `stochastic_muzero_policy` and `search` are mctx's own.

mctx itself handles the arguments, draws the noise and computes the results. Only the loop of the
simulations, which its policies take as an argument, is replaced. Trees are the same, node for node,
for any rewards and discounts, with two exceptions:

* A path ends at a move whose discount is 0, so nothing is searched behind the end of a game. mctx
  goes on there, although these values count nothing. Visits and values elsewhere are equal. Such a
  move is evaluated again at each visit, and is expected to give the same result.
* `muzero_policy` draws the noise of 1e-7 that breaks ties for many nodes at once.

The embeddings and logits of nodes without visits are arbitrary. A `qtransform` is called with a
tree of one node; mctx's own work unchanged. Numbers may be traced, except `num_simulations`.

Unlike the trees of `azo.search`, these have a place for each action, since only the caller knows
which moves are legal, and values without bounds. Three things make them faster than those of mctx:

* Statistics of moves are stored once, at the nodes behind them.
* One loop descends all trees of the batch, and one backs up. They carry no array `[B, N, A]`.
* The move that the next path takes from a node changes only if a path visits the node. So moves are
  selected after the backup, for the nodes of all paths in chunks of `B` nodes. The cost is that of
  the mean depth of the paths, not of the deepest one.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from mctx import *  # noqa: F403

__all__ = list(mctx.__all__)
__version__ = mctx.__version__

ROOT, UNVISITED = mctx.Tree.ROOT_INDEX, mctx.Tree.UNVISITED
_Rule = Callable[..., jax.Array]  # selects a move of one node, as in mctx
# A random key, trees, and the moves `[B, N]` that the next path takes. In the loop the fields
# `children_rewards` and `children_discounts` are `[B, N]`, of the move that leads to each node.
_State = tuple[jax.Array, mctx.Tree, jax.Array]


def _policy(of_mctx: Callable[..., mctx.PolicyOutput], rules: list[_Rule]) -> Callable:
    """Returns a policy of mctx with another loop; its signature and docstring stay.

    The rules of selection are for the root and for the nodes below it.
    """

    @functools.wraps(of_mctx)
    def policy(*args: Any, **kwargs: Any) -> mctx.PolicyOutput:
        call = inspect.signature(of_mctx).bind(*args, **kwargs)
        call.apply_defaults()
        root = call.arguments["root"]
        shape, value_shape = jnp.shape(root.prior_logits), jnp.shape(root.value)
        if len(shape) != 2 or value_shape != shape[:1]:
            raise ValueError(
                f"root has prior_logits {shape} and value {value_shape}, but should have [B, A] and"
                " [B] of a batch; for one position jax.tree.map(lambda x: x[None], root)"
            )
        call.arguments["loop_fn"] = functools.partial(_run, dict(call.arguments), rules)
        return of_mctx(*call.args, **call.kwargs)

    return policy


def _run(
    arguments: dict[str, Any], rules: list[_Rule], start: int, stop: int, body: object, state: tuple
) -> tuple[jax.Array, mctx.Tree]:
    """Runs the simulations of a policy with `arguments`, in place of mctx's loop over `body`."""
    del body
    key, tree = state
    qtransform = functools.partial(_checked, arguments["qtransform"])
    at_root, below = (_with(rule, arguments | {"qtransform": qtransform}) for rule in rules)
    zero = jnp.zeros_like(tree.node_values)
    tree = tree.replace(children_rewards=zero, children_discounts=zero)
    tree = tree.replace(children_visits=None, children_values=None)  # set after the loop
    simulate = functools.partial(_simulate, arguments, at_root, below)
    loop_state = key, tree, jnp.zeros_like(tree.parents)
    key, tree, _ = arguments["loop_fn"](start, stop, simulate, loop_state)
    rows = jnp.arange(zero.shape[0])
    return key, tree.replace(**_children(tree, rows, tree.children_index))


def _with(rule: _Rule, arguments: dict[str, Any]) -> _Rule:
    """Returns a rule with those of the arguments that are its settings, for `[B]` nodes."""
    parameters = inspect.signature(rule).parameters.values()
    names = [x.name for x in parameters if x.kind == x.KEYWORD_ONLY and x.name in arguments]
    chosen = functools.partial(rule, **{name: arguments[name] for name in names})
    return jax.vmap(lambda key, view: chosen(key, view, ROOT), (None, 0))


def _checked(qtransform: Callable[..., jax.Array], tree: mctx.Tree, node: Any) -> jax.Array:
    try:
        return qtransform(tree, node)
    except (TypeError, AttributeError) as error:
        raise ValueError(
            "qtransform failed with a tree of one node; it may read the visits, values, rewards,"
            f" discounts and prior logits of its node, but not other nodes: {error}"
        ) from error


def _simulate(
    arguments: dict[str, Any], select_at_root: _Rule, select: _Rule, index: Any, state: _State
) -> _State:
    key, tree, choice = state
    key, select_key, step_key = jax.random.split(key, 3)  # as in mctx
    batch, num_nodes = choice.shape
    rows, root = jnp.arange(batch), jnp.full(batch, ROOT)
    view = _view(tree, rows, root).replace(
        root_invalid_actions=tree.root_invalid_actions, extra_data=tree.extra_data
    )
    choice = choice.at[:, ROOT].set(select_at_root(select_key, view))
    max_depth = arguments["max_depth"]
    parent, depth = _descend(tree, choice, num_nodes if max_depth is None else max_depth)
    action = choice[rows, parent]
    before = jax.tree.map(lambda x: x[rows, parent], tree.embeddings)
    played = arguments["recurrent_fn"](arguments["params"], step_key, action, before)
    tree, leaf = _expand(tree, index + 1, parent, action, *played)
    tree, path = _back_up(tree, leaf, depth)

    def select_part(part: jax.Array, choice: jax.Array) -> jax.Array:
        # Entries after the last path are 0, the first root, which has its own rule.
        at = jnp.divmod(jax.lax.dynamic_slice_in_dim(path, part * batch, batch), num_nodes)
        part_key = jax.random.fold_in(select_key, part)
        return choice.at[at].set(select(part_key, _view(tree, *at)))

    num_parts = (depth.sum() + batch - 1) // batch
    return key, tree, jax.lax.fori_loop(0, num_parts, select_part, choice)


def _children(tree: mctx.Tree, row: jax.Array, index: jax.Array) -> dict[str, jax.Array]:
    """Returns the fields of children at `index` `[M, N, A]` of trees `[M]`."""
    at = row[:, None, None], jnp.maximum(index, 0)
    fields = {
        "children_visits": tree.node_visits,
        "children_values": tree.node_values,
        "children_rewards": tree.children_rewards,
        "children_discounts": tree.children_discounts,
    }
    return {name: jnp.where(index != UNVISITED, x[at], 0) for name, x in fields.items()}


def _view(tree: mctx.Tree, row: jax.Array, node: jax.Array) -> mctx.Tree:
    """Returns nodes `[M]` of trees `[M]` as trees of one node, for the rules of selection."""
    index = tree.children_index[row, node][:, None]
    names = ("node_visits", "raw_values", "node_values", "children_prior_logits")
    return tree.replace(
        **{name: getattr(tree, name)[row, node][:, None] for name in names},
        **_children(tree, row, index),
        # No rule can follow a number that is not whole, or None, to other nodes.
        children_index=index.astype(jnp.float32),
        parents=None,
        action_from_parent=None,
        embeddings=None,
        root_invalid_actions=jnp.zeros_like(index[:, 0]),
        extra_data=None,
    )


def _descend(
    tree: mctx.Tree, choice: jax.Array, max_depth: int | jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Returns the nodes `[B]` of the last moves, and the number of moves `[B]`.

    The last move has no node behind it, or a discount of 0, or is the last that `max_depth` allows.
    """
    rows = jnp.arange(choice.shape[0])

    def descend(state: tuple) -> tuple:
        node, depth, _ = state
        child = tree.children_index[rows, node, choice[rows, node]]
        is_end = (child == UNVISITED) | (tree.children_discounts[rows, child] == 0)
        goes_on = ~is_end & (depth < max_depth)
        return jnp.where(goes_on, child, node), depth + goes_on, goes_on

    start = jnp.full_like(rows, ROOT), jnp.ones_like(rows), jnp.ones_like(rows, bool)
    node, depth, _ = jax.lax.while_loop(lambda state: state[2].any(), descend, start)
    return node, depth


def _expand(
    tree: mctx.Tree,
    new_node: int | jax.Array,
    parent: jax.Array,
    action: jax.Array,
    step: mctx.RecurrentFnOutput,
    embedding: Any,
) -> tuple[mctx.Tree, jax.Array]:
    """Returns trees with the results of moves `[B]`, and the nodes `[B]` behind the moves.

    A node behind a move that was played before is not new. All paths end there, so nothing reads
    its embedding and its logits.
    """
    rows = jnp.arange(parent.shape[0])
    child = tree.children_index[rows, parent, action]
    leaf = jnp.where(child == UNVISITED, new_node, child)

    def put(x: jax.Array, new: jax.Array) -> jax.Array:
        new = new[:, None].astype(x.dtype)
        return jax.lax.dynamic_update_slice_in_dim(x, new, new_node, axis=1)

    def at_leaf(x: jax.Array, new: jax.Array) -> jax.Array:
        return x.at[rows, leaf].set(new.astype(x.dtype))

    tree = tree.replace(
        embeddings=jax.tree.map(put, tree.embeddings, embedding),
        children_prior_logits=put(tree.children_prior_logits, step.prior_logits),
        children_index=tree.children_index.at[rows, parent, action].set(leaf),
        children_rewards=at_leaf(tree.children_rewards, step.reward),
        children_discounts=at_leaf(tree.children_discounts, step.discount),
        parents=at_leaf(tree.parents, parent),
        action_from_parent=at_leaf(tree.action_from_parent, action),
        node_visits=tree.node_visits.at[rows, leaf].add(1),
        raw_values=at_leaf(tree.raw_values, step.value),
        node_values=at_leaf(tree.node_values, step.value),
    )
    return tree, leaf


def _back_up(tree: mctx.Tree, leaf: jax.Array, depth: jax.Array) -> tuple[mctx.Tree, jax.Array]:
    """Returns trees with the values of leaves `[B]` added along the paths, and all paths.

    The paths are `[B * N]` int32, `row * N + node`: `depth` `[B]` nodes of each row, from the leaf
    to the root, which is left out. Zeros follow the last.
    """
    batch, num_nodes = tree.parents.shape
    rows, start = jnp.arange(batch), jnp.cumsum(depth) - depth

    def climb(state: tuple) -> tuple:
        node, value, visits, values, path, height = state
        climbs = node != ROOT
        # Scatters drop what is out of range.
        place = jnp.where(climbs, start + height, path.size)
        path = path.at[place].set(rows * num_nodes + node, mode="drop")
        value = tree.children_rewards[rows, node] + tree.children_discounts[rows, node] * value
        parent = jnp.where(climbs, tree.parents[rows, node], ROOT)
        count = visits[rows, parent]
        mean = (values[rows, parent] * count + value) / (count + 1.0)
        at = jnp.where(climbs, rows, batch), parent
        visits, values = visits.at[at].add(1, mode="drop"), values.at[at].set(mean, mode="drop")
        return parent, value, visits, values, path, height + 1

    path = jnp.zeros(batch * num_nodes, jnp.int32)
    state = leaf, tree.raw_values[rows, leaf], tree.node_visits, tree.node_values, path, 0
    state = jax.lax.while_loop(lambda state: (state[0] != ROOT).any(), climb, state)
    return tree.replace(node_visits=state[2], node_values=state[3]), state[4]


_puct = mctx.muzero_action_selection
_gumbel_below = functools.partial(mctx.gumbel_muzero_interior_action_selection, depth=1)
muzero_policy = _policy(
    mctx.muzero_policy, [functools.partial(_puct, depth=depth) for depth in (0, 1)]
)
gumbel_muzero_policy = _policy(
    mctx.gumbel_muzero_policy, [mctx.gumbel_muzero_root_action_selection, _gumbel_below]
)
