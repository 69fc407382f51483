"""Policy improvement: from a network's policy and value to those of a tree search.

All algorithms share the trees of `search_tree` and the loop of `simulation`:

* `gumbel`: Gumbel AlphaZero (Danihelka et al., 2022, https://openreview.net/forum?id=bERaNdoegnO)
  by mctx's functions, with Q not rescaled. It improves the policy even with few simulations.
* `puct`: AlphaZero (Silver et al., 2017, arXiv:1712.01815), with Q in [-1, 1], not rescaled.
  Dirichlet noise is drawn over the legal moves only.
* `puct_over_visits`: as `puct`, with another formula; see `selection`.

Positions, values and policies are seen by the side to move.
"""

import functools

import flax.struct
import jax
import jax.numpy as jnp
import mctx

from azo.games import protocol
from azo.search import noise, objective, proofs, search_tree, selection, settings, simulation

Evaluation = search_tree.Evaluation
Evaluate = search_tree.Evaluate
SearchConfig = settings.SearchConfig

# Moves sampled by Q: at temperature 1 this difference in Q makes a move e times likelier.
Q_UNIT = 0.1


@flax.struct.dataclass
class SearchResult:
    """Results of the search at each root, and the evaluations that it started from."""

    action: jax.Array  # [B] int32, the move to play
    policy: jax.Array  # [B, A] float32, the improved policy, a learning target
    value: jax.Array  # [B] float32, mean value of the root's visits, see `objective`
    prior: jax.Array  # [B, A] float32, the tempered policy before search and noise
    legal_mass: jax.Array  # [B] float32, probability of legal moves in the network's policy
    raw_value: jax.Array  # [B] float32, the network's own value of the position, likewise
    tree: search_tree.Tree  # the whole trees, for analysis


def search(
    game: protocol.Game,
    evaluate: Evaluate,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: SearchConfig,
    ply: jax.Array | int = 0,
    is_greedy: bool = False,
) -> SearchResult:
    """Searches a batch of positions.

    Args:
      game: the rules.
      evaluate: returns logits `[B, A]` and values `[B]` of a batch of positions, given a key. With
        several leaves a step its batches below the root are `[B * leaves]`.
      key: for noise, the choice of a move, and `evaluate`.
      position: `[B]` positions. Results for a finished game are finite, but meaningless.
      config: the settings.
      ply: `[B]` int32 or a number, plies played so far, for the temperature.
      is_greedy: play the best move, without noise, as in matches.
    """
    noise_key, root_key, tree_key, move_key = jax.random.split(key, 4)

    def adapted(key: jax.Array, position: protocol.Position) -> Evaluation:
        with jax.named_scope("evaluation"):
            evaluation = evaluate(key, position)
        value = evaluation.value
        if config.score_share:
            assert evaluation.score is not None, "this evaluator gives no scores"
            value = objective.mix(value, evaluation.score, config.score_share)
        return Evaluation(evaluation.prior_logits / config.prior_temperature, value)

    root = adapted(root_key, position)
    root_moves = search_tree.compact(game, position, root.prior_logits)
    moves = root_moves
    if config.algorithm != "gumbel" and not is_greedy and config.root_noise_fraction > 0:
        moves = noise.add_dirichlet(
            noise_key,
            moves,
            fraction=config.root_noise_fraction,
            alpha=config.root_noise_alpha,
        )

    run = functools.partial(
        simulation.run,
        game,
        adapted,
        tree_key,
        position,
        moves,
        root.value,
        num_simulations=config.num_simulations,
        leaves_per_step=config.leaves_per_step,
        virtual_loss=config.virtual_loss,
        has_proofs=config.has_proofs,
        score_share=config.score_share,
    )
    temperature = 0.0 if is_greedy else temperature_at(config, jnp.asarray(ply))
    temperature = jnp.broadcast_to(temperature, root.value.shape)
    prior = jnp.exp(root_moves.logits)
    if config.algorithm == "gumbel":
        tree, slot, policy = _gumbel(game, run, noise_key, moves, temperature, config)
    else:
        tree, slot, policy = _by_formula(game, run, move_key, moves, temperature, config)
    raw_policy = jax.nn.softmax(root.prior_logits * config.prior_temperature)
    return SearchResult(
        action=moves.at(slot),
        policy=moves.spread(policy, game.num_actions),
        value=tree.value()[:, 0],
        prior=moves.spread(prior, game.num_actions),
        legal_mass=jnp.where(game.legal_mask(position), raw_policy, 0).sum(axis=-1),
        raw_value=root.value,
        tree=tree,
    )


def temperature_at(config: SearchConfig, ply: jax.Array) -> jax.Array:
    """Returns `[...]` float32, the temperature of the move after `ply` `[...]` int32 plies."""
    is_early = ply < config.temperature_plies
    return jnp.where(is_early, config.temperature, config.final_temperature)


def _visits_of_best(tree: search_tree.Tree, root: mctx.Tree, is_best: jax.Array) -> jax.Array:
    """Returns the visits `[B, S]` of the moves that may be played, see `proofs`; 0 elsewhere.

    A proven move takes no further visits. So a move whose Q is below what is certain counts 0, and
    if all moves that may be played have no visit, each counts one.
    """
    root_bounds = search_tree.Bounds(tree.bounds.lower[:, :1], tree.bounds.upper[:, :1])
    certain = root_bounds.clip(jnp.float32(-1), tree.score_share)
    is_good = -root.children_values[:, 0] >= certain
    visits = jnp.where(is_best & is_good, root.children_visits[:, 0], 0)
    return jnp.where(visits.any(axis=-1, keepdims=True), visits, is_best.astype(visits.dtype))


def _look_ahead(
    game: protocol.Game, tree: search_tree.Tree, config: SearchConfig
) -> tuple[search_tree.Tree, jax.Array]:
    """Returns trees and the moves `[B, S]` bool that may be played; without proofs all moves."""
    if config.has_proofs:
        return proofs.look_ahead_at_root(game, tree)
    return tree, tree.moves.is_legal()[:, 0]


# Every algorithm returns trees, slots to play `[B]` and improved policies `[B, S]`.
_Improvement = tuple[search_tree.Tree, jax.Array, jax.Array]


def _by_formula(
    game, run, key, moves: search_tree.Moves, temperature, config: SearchConfig
) -> _Improvement:
    """Searches by one formula at all nodes."""
    select = functools.partial(
        selection.puct_action, c_puct=config.c_puct, unvisited_value=config.unvisited_value
    )
    if config.algorithm == "puct_over_visits":
        select = functools.partial(selection.puct_over_visits_action, c_puct=config.c_puct)
    tree = run(select_at_root=select, select_below=select)
    tree, is_best = _look_ahead(game, tree, config)
    root = search_tree.view(tree, jnp.zeros_like(tree.visits[:, 0]))
    visits = root.children_visits[:, 0]
    if config.has_proofs:
        visits = _visits_of_best(tree, root, is_best)
    scale = jnp.where(temperature > 0, temperature, 1.0)[:, None]
    if config.move_choice == "visits":
        logits = jnp.where(visits > 0, jnp.log(jnp.maximum(visits, 1)), -jnp.inf)
        score = jnp.where(moves.is_legal(), visits, -1)
    else:
        is_much_visited = visits >= settings.MUCH_VISITED * visits.max(axis=-1, keepdims=True)
        score = jnp.where(is_much_visited & (visits > 0), -root.children_values[:, 0], -jnp.inf)
        logits = score / Q_UNIT
    sampled = jax.random.categorical(key, logits / scale)
    slot = jnp.where(temperature > 0, sampled, jnp.argmax(score, axis=-1))
    return tree, slot, visits / visits.sum(axis=-1, keepdims=True)


def _gumbel(
    game, run, key, moves: search_tree.Moves, temperature, config: SearchConfig
) -> _Improvement:
    """Searches by sequential halving at the root and by the improved policy below it."""
    gumbel = temperature[:, None] * jax.random.gumbel(key, moves.logits.shape)
    extra_data = mctx.GumbelMuZeroExtraData(root_gumbel=gumbel)
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.value_scale,
        maxvisit_init=config.visit_offset,
        rescale_values=False,
    )
    at_root = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=config.num_simulations,
        max_num_considered_actions=config.max_considered_actions,
        qtransform=qtransform,
    )
    below = functools.partial(
        mctx.gumbel_muzero_interior_action_selection, depth=None, qtransform=qtransform
    )

    def select(rule, node: mctx.Tree) -> jax.Array:
        return jax.vmap(lambda one: rule(None, one, 0))(node)

    def select_at_root(node: mctx.Tree) -> jax.Array:
        # Virtual visits are whole numbers in float32; sequential halving indexes by visits.
        visits = node.children_visits.astype(jnp.int32)
        slot = select(at_root, node.replace(children_visits=visits, extra_data=extra_data))
        if not config.has_proofs:
            return slot
        q = jax.vmap(lambda one: qtransform(one, 0))(node)
        return _unless_excluded(slot, node, visits[:, 0], gumbel + moves.logits + q)

    tree = run(select_at_root=select_at_root, select_below=functools.partial(select, below))
    tree, is_best = _look_ahead(game, tree, config)
    root = search_tree.view(tree, jnp.zeros_like(tree.visits[:, 0]))
    visits = root.children_visits[:, 0]
    q = jax.vmap(lambda one: qtransform(one, 0))(root)
    # The best of the most visited moves, as in `mctx.gumbel_muzero_policy`.
    visits = jnp.where(is_best, visits, -1)
    is_finalist = is_best & (visits == visits.max(axis=-1, keepdims=True))
    final_score = jnp.where(is_finalist, gumbel + moves.logits + q, -jnp.inf)
    slot = jnp.argmax(final_score, axis=-1).astype(jnp.int32)
    return tree, slot, jax.nn.softmax(search_tree.mask_illegal(moves.logits + q, is_best))


def _unless_excluded(
    slot: jax.Array, node: mctx.Tree, visits: jax.Array, score: jax.Array
) -> jax.Array:
    """Returns the slots `[B]` that sequential halving selected, others in place of excluded moves.

    The turn of an excluded move goes to the best of the moves with the next higher number of
    visits, and to the best of all moves if none has more.
    """
    is_open = node.children_prior_logits[:, 0] > jnp.finfo(jnp.float32).min
    turn = jnp.take_along_axis(visits, slot[:, None], axis=1)
    more = jnp.where(is_open & (visits >= turn), visits, settings.MAX_SIMULATIONS)
    is_next = is_open & (visits == more.min(axis=-1, keepdims=True))
    is_next = jnp.where(is_next.any(axis=-1, keepdims=True), is_next, is_open)
    other = jnp.argmax(jnp.where(is_next, score, -jnp.inf), axis=-1).astype(slot.dtype)
    return jnp.where(jnp.take_along_axis(is_open, slot[:, None], axis=1)[:, 0], slot, other)
