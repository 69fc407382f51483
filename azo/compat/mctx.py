"""The policies of mctx (https://github.com/google-deepmind/mctx), with a faster search.

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

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import mctx

ROOT, UNVISITED = mctx.Tree.ROOT_INDEX, mctx.Tree.UNVISITED
# The arguments of a policy of mctx by name, and the rules of selection at the root and below it.
_Arguments = dict[str, Any]
_Rules = tuple[Callable[..., jax.Array], Callable[..., jax.Array]]


def _policy(of_mctx: Callable[..., Any], rules: Callable[[_Arguments], _Rules]) -> Callable:
    """Returns a policy of mctx with another loop; its signature and docstring stay."""

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
        search = _Search(dict(call.arguments), *rules(call.arguments))
        call.arguments["loop_fn"] = search.run
        return of_mctx(*call.args, **call.kwargs)

    return policy


def _muzero_rules(arguments: _Arguments) -> _Rules:
    rule = functools.partial(
        mctx.muzero_action_selection,
        pb_c_init=arguments["pb_c_init"],
        pb_c_base=arguments["pb_c_base"],
        qtransform=functools.partial(_checked, arguments["qtransform"]),
    )
    return functools.partial(rule, depth=0), functools.partial(rule, depth=1)


def _gumbel_rules(arguments: _Arguments) -> _Rules:
    qtransform = functools.partial(_checked, arguments["qtransform"])
    at_root = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=arguments["num_simulations"],
        max_num_considered_actions=arguments["max_num_considered_actions"],
        qtransform=qtransform,
    )
    below = mctx.gumbel_muzero_interior_action_selection
    return at_root, functools.partial(below, depth=1, qtransform=qtransform)


def _checked(qtransform: Callable[..., jax.Array], tree: mctx.Tree, node: Any) -> jax.Array:
    try:
        return qtransform(tree, node)
    except (TypeError, AttributeError) as error:
        raise ValueError(
            "qtransform failed with a tree of one node; it may read the visits, values, rewards,"
            f" discounts and prior logits of its node, but not other nodes: {error}"
        ) from error


@flax.struct.dataclass
class _Trees:
    """The trees of `B` searches, with `N` nodes each."""

    nodes: mctx.Tree  # the statistics of children are set after the search
    reward: jax.Array  # [B, N], of the move that leads to the node
    discount: jax.Array  # [B, N], of that move
    choice: jax.Array  # [B, N] int32, the move that the next path takes from the node

    def children(self, row: jax.Array, index: jax.Array) -> dict[str, jax.Array]:
        """Returns the fields of `mctx.Tree` for children at `index` `[M, N, A]` of trees `[M]`."""
        is_visited, at = index != UNVISITED, (row[:, None, None], jnp.maximum(index, 0))
        fields = {
            "children_visits": self.nodes.node_visits,
            "children_values": self.nodes.node_values,
            "children_rewards": self.reward,
            "children_discounts": self.discount,
        }
        return {name: jnp.where(is_visited, x[at], 0) for name, x in fields.items()}

    def view(self, row: jax.Array, node: jax.Array) -> mctx.Tree:
        """Returns nodes `[M]` of trees `[M]` as trees of one node, for the rules of selection."""
        tree = self.nodes
        index = tree.children_index[row, node][:, None]
        return mctx.Tree(
            node_visits=tree.node_visits[row, node][:, None],
            raw_values=tree.raw_values[row, node][:, None],
            node_values=tree.node_values[row, node][:, None],
            children_prior_logits=tree.children_prior_logits[row, node][:, None],
            # No rule can follow a number that is not whole, or None, to other nodes.
            children_index=index.astype(jnp.float32),
            parents=None,
            action_from_parent=None,
            embeddings=None,
            root_invalid_actions=jnp.zeros_like(index[:, 0]),
            extra_data=None,
            **self.children(row, index),
        )


@dataclasses.dataclass(frozen=True)
class _Search:
    """The loop of the simulations. The rules of selection are those of mctx, for one node."""

    arguments: _Arguments
    at_root: Callable[..., jax.Array]
    below: Callable[..., jax.Array]

    def run(
        self, start: int, stop: int, body: object, state: tuple[jax.Array, mctx.Tree]
    ) -> tuple[jax.Array, mctx.Tree]:
        """Returns the state after all simulations, in place of mctx's loop over its own `body`."""
        del body
        key, tree = state
        zero = jnp.zeros_like(tree.node_values)
        trees = _Trees(tree, reward=zero, discount=zero, choice=jnp.zeros_like(tree.parents))
        key, trees = self.arguments["loop_fn"](start, stop, self._simulate, (key, trees))
        rows = jnp.arange(zero.shape[0])
        return key, trees.nodes.replace(**trees.children(rows, trees.nodes.children_index))

    def _simulate(self, index: Any, state: tuple[jax.Array, _Trees]) -> tuple[jax.Array, _Trees]:
        key, trees = state
        key, select_key, step_key = jax.random.split(key, 3)  # as in mctx
        tree = trees.nodes
        batch, num_nodes = tree.node_values.shape
        rows, root = jnp.arange(batch), jnp.full(batch, ROOT)
        view = trees.view(rows, root).replace(
            root_invalid_actions=tree.root_invalid_actions, extra_data=tree.extra_data
        )
        selected = jax.vmap(self.at_root, (None, 0, None))(select_key, view, ROOT)
        trees = dataclasses.replace(trees, choice=trees.choice.at[:, ROOT].set(selected))
        max_depth = self.arguments["max_depth"]
        parent, depth = _descend(trees, num_nodes if max_depth is None else max_depth)
        action = trees.choice[rows, parent]
        before = jax.tree.map(lambda x: x[rows, parent], tree.embeddings)
        recurrent_fn, params = self.arguments["recurrent_fn"], self.arguments["params"]
        step, embedding = recurrent_fn(params, step_key, action, before)
        trees, leaf = _expand(trees, index + 1, parent, action, step, embedding)
        trees, path = _back_up(trees, leaf, step.value, depth)

        def select(part: jax.Array, choice: jax.Array) -> jax.Array:
            # Entries after the last path are 0, the first root, which has a rule of its own.
            at = jnp.divmod(jax.lax.dynamic_slice_in_dim(path, part * batch, batch), num_nodes)
            part_key = jax.random.fold_in(select_key, part)
            selected = jax.vmap(self.below, (None, 0, None))(part_key, trees.view(*at), ROOT)
            return choice.at[at].set(selected)

        num_parts = (depth.sum() + batch - 1) // batch
        choice = jax.lax.fori_loop(0, num_parts, select, trees.choice)
        return key, dataclasses.replace(trees, choice=choice)


def _descend(trees: _Trees, max_depth: int | jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the nodes `[B]` of the last moves, and the number of moves `[B]`.

    The last move has no node behind it, or a discount of 0, or is the last that `max_depth` allows.
    """
    rows = jnp.arange(trees.choice.shape[0])

    def descend(state: tuple) -> tuple:
        node, depth, _ = state
        child = trees.nodes.children_index[rows, node, trees.choice[rows, node]]
        index = jnp.maximum(child, 0)
        goes_on = (child != UNVISITED) & (trees.discount[rows, index] != 0) & (depth < max_depth)
        return jnp.where(goes_on, index, node), depth + goes_on, goes_on

    start = jnp.full_like(rows, ROOT), jnp.ones_like(rows), jnp.ones_like(rows, bool)
    node, depth, _ = jax.lax.while_loop(lambda state: state[2].any(), descend, start)
    return node, depth


def _expand(
    trees: _Trees,
    new_node: int | jax.Array,
    parent: jax.Array,
    action: jax.Array,
    step: mctx.RecurrentFnOutput,
    embedding: Any,
) -> tuple[_Trees, jax.Array]:
    """Returns trees with the results of moves `[B]`, and the nodes `[B]` behind the moves.

    A node behind a move that was played before is not new. All paths end there, so nothing reads
    its embedding and its logits.
    """
    tree, rows = trees.nodes, jnp.arange(parent.shape[0])
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
        parents=at_leaf(tree.parents, parent),
        action_from_parent=at_leaf(tree.action_from_parent, action),
        node_visits=tree.node_visits.at[rows, leaf].add(1),
        raw_values=at_leaf(tree.raw_values, step.value),
        node_values=at_leaf(tree.node_values, step.value),
    )
    reward, discount = at_leaf(trees.reward, step.reward), at_leaf(trees.discount, step.discount)
    return dataclasses.replace(trees, nodes=tree, reward=reward, discount=discount), leaf


def _back_up(
    trees: _Trees, leaf: jax.Array, value: jax.Array, depth: jax.Array
) -> tuple[_Trees, jax.Array]:
    """Returns trees with the values `[B]` of leaves added along the paths, and all paths.

    The paths are `[B * N]` int32, `row * N + node`: `depth` `[B]` nodes of each row, from the leaf
    to the root, which is left out. Zeros follow the last.
    """
    batch, num_nodes = trees.choice.shape
    rows, start = jnp.arange(batch), jnp.cumsum(depth) - depth

    def climb(state: tuple) -> tuple:
        node, value, visits, values, path, height = state
        climbs = node != ROOT
        # Scatters drop what is out of range.
        place = jnp.where(climbs, start + height, path.size)
        path = path.at[place].set(rows * num_nodes + node, mode="drop")
        value = trees.reward[rows, node] + trees.discount[rows, node] * value
        parent = jnp.where(climbs, trees.nodes.parents[rows, node], ROOT)
        count = visits[rows, parent]
        mean = (values[rows, parent] * count + value) / (count + 1.0)
        at = jnp.where(climbs, rows, batch), parent
        visits, values = visits.at[at].add(1, mode="drop"), values.at[at].set(mean, mode="drop")
        return parent, value, visits, values, path, height + 1

    tree, path = trees.nodes, jnp.zeros(batch * num_nodes, jnp.int32)
    state = leaf, value.astype(tree.node_values.dtype), tree.node_visits, tree.node_values, path, 0
    state = jax.lax.while_loop(lambda state: (state[0] != ROOT).any(), climb, state)
    tree = tree.replace(node_visits=state[2], node_values=state[3])
    return dataclasses.replace(trees, nodes=tree), state[4]


muzero_policy = _policy(mctx.muzero_policy, _muzero_rules)
gumbel_muzero_policy = _policy(mctx.gumbel_muzero_policy, _gumbel_rules)
