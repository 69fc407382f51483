"""The same search by DeepMind's mctx itself: `search.backend = "mctx"`.

azo's own search is compared with it; users who know mctx can run it. Gumbel is
`mctx.gumbel_muzero_policy` as it is; PUCT is `mctx.search` with the rules of `puct`.

With the same roots and evaluations, the visits of greedy searches are those of `"azo"`. They can
differ where two moves are nearly equal, since mctx keeps means in place of sums. With Gumbel noise
they differ, since mctx draws it for all actions and azo for the legal ones. Bounds of results,
several leaves per step and your own rules exist only in azo.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from azo.games import protocol
from azo.search import evaluations, gumbel, puct, search_tree, settings


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a search of `B` positions has decided."""

    action: jax.Array  # [B] int32, the move to play
    policy: jax.Array  # [B, A] float32, the improved policy
    value: jax.Array  # [B] float32, mean value of the root's visits
    tree: mctx.Tree


def search(
    game: protocol.Game,
    evaluate: evaluations.Evaluate,
    key: jax.Array,
    position: protocol.Position,
    root_value: jax.Array,
    rule: Any,
    config: settings.SearchConfig,
) -> Decision:
    """Searches positions `[B]`; arguments are those of `mcts.run`."""
    root = mctx.RootFnOutput(
        prior_logits=_logits(game, rule.moves), value=root_value, embedding=position
    )
    inputs = {
        "params": None,
        "root": root,
        "recurrent_fn": functools.partial(_play, game, evaluate, config),
        "num_simulations": config.num_simulations,
        "invalid_actions": 1.0 - game.legal_mask(position),
    }
    if isinstance(rule, puct.Puct):
        tree = mctx.search(
            rng_key=key,
            root_action_selection_fn=functools.partial(_select, rule.select_at_root),
            interior_action_selection_fn=functools.partial(_select, rule.select_below),
            **inputs,
        )
        slot, policy = rule.decide(
            _root_in_slots(tree, rule.moves), rule.moves.is_legal(), jnp.full_like(root_value, -1)
        )
        action, policy = rule.moves.at(slot), rule.moves.spread(policy, game.num_actions)
    else:
        assert isinstance(rule, gumbel.Gumbel), f"mctx has no rules like those of {rule}"
        output = mctx.gumbel_muzero_policy(
            rng_key=key,
            max_num_considered_actions=config.gumbel.max_considered_actions,
            gumbel_scale=rule.temperature[:, None],
            qtransform=functools.partial(
                mctx.qtransform_completed_by_mix_value,
                value_scale=config.gumbel.value_scale,
                maxvisit_init=settings.VISIT_OFFSET,
                rescale_values=False,
            ),
            **inputs,
        )
        tree, action, policy = output.search_tree, output.action, output.action_weights
    return Decision(action.astype(jnp.int32), policy, tree.summary().value, tree)


def _play(
    game: protocol.Game,
    evaluate: evaluations.Evaluate,
    config: settings.SearchConfig,
    params: None,
    key: jax.Array,
    action: jax.Array,
    position: protocol.Position,
) -> tuple[mctx.RecurrentFnOutput, protocol.Position]:
    """Returns the outcome of actions `[B]` in the form of mctx, and the positions behind them."""
    del params
    played = game.step(position, action)
    evaluation = evaluate(key, played.position)
    reward = played.reward
    if config.score_share:
        score = game.final_score(played.position)
        end = -search_tree.value_of_score(game, score, config.score_share)
        goes_on = game.is_over(position) | (played.discount != 0)
        reward = jnp.where(goes_on, 0.0, end)
    moves = search_tree.compact(game, played.position, evaluation.prior_logits)
    output = mctx.RecurrentFnOutput(
        reward=reward,
        discount=played.discount,
        prior_logits=_logits(game, moves),
        value=evaluation.value,
    )
    return output, played.position


def _logits(game: protocol.Game, moves: search_tree.Moves) -> jax.Array:
    """Returns the logits `[B, A]` of moves; illegal ones have the lowest float."""
    lowest = float(jnp.finfo(moves.logits.dtype).min)
    return moves.spread(moves.logits, game.num_actions, lowest)


def _select(
    select: Callable[[search_tree.Node], jax.Array],
    key: jax.Array,
    tree: mctx.Tree,
    node: jax.Array,
    depth: jax.Array | int = 0,
) -> jax.Array:
    """Returns the action `[]` that a rule's method selects at a node of one tree."""
    del key, depth
    logits = tree.children_prior_logits[node]
    one = search_tree.Node(
        visits=tree.node_visits[node],
        value=tree.node_values[node],
        raw_value=tree.raw_values[node],
        logits=logits,
        move_visits=tree.children_visits[node],
        q=tree.qvalues(node),
        is_legal=logits > jnp.finfo(logits.dtype).min,
    )
    return select(jax.tree.map(lambda x: x[None], one))[0]


def _root_in_slots(tree: mctx.Tree, moves: search_tree.Moves) -> search_tree.Node:
    """Returns the roots of trees as nodes of azo, whose moves are in slots."""
    action = jnp.maximum(moves.action, 0).astype(jnp.int32)

    def in_slots(x: jax.Array) -> jax.Array:
        return jnp.where(moves.is_legal(), jnp.take_along_axis(x, action, axis=1), 0)

    root = mctx.Tree.ROOT_INDEX
    q = tree.children_rewards[:, root] + (
        tree.children_discounts[:, root] * tree.children_values[:, root]
    )
    return search_tree.Node(
        visits=tree.node_visits[:, root],
        value=tree.node_values[:, root],
        raw_value=tree.raw_values[:, root],
        logits=moves.logits,
        move_visits=in_slots(tree.children_visits[:, root]),
        q=in_slots(q),
        is_legal=moves.is_legal(),
    )
