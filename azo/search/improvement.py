"""Policy improvement: from a network's policy and value to those of a tree search.

All algorithms share the trees of `search_tree` and the loop of `simulation`:

* `gumbel`: Gumbel AlphaZero (Danihelka et al., 2022, https://openreview.net/forum?id=bERaNdoegnO)
  by mctx's functions, with Q not rescaled. It improves the policy even with few simulations.
* `puct`: AlphaZero (Silver et al., 2017, arXiv:1712.01815), with Q in [-1, 1], not rescaled.
  Dirichlet noise is drawn over the legal moves only.
* `puct_over_visits`: as `puct`, with another formula; see `selection`.

Positions, values and policies are seen by the side to move.
"""

import dataclasses
import functools

import flax.struct
import jax
import jax.numpy as jnp
import mctx

from azo.games import protocol
from azo.search import noise, search_tree, selection, settings, simulation

Evaluation = search_tree.Evaluation
Evaluate = search_tree.Evaluate
SearchConfig = settings.SearchConfig

# Moves chosen by Q need this share of the visits of the most visited move.
MUCH_VISITED = 0.1
# Moves sampled by Q: at temperature 1 this difference in Q makes a move e times likelier.
Q_UNIT = 0.1


@flax.struct.dataclass
class SearchResult:
    """Results of the search at each root, and the evaluations that it started from."""

    action: jax.Array  # [B] int32, the move to play
    policy: jax.Array  # [B, A] float32, the improved policy, a learning target
    value: jax.Array  # [B] float32, mean value of the root's visits, for the side to move
    prior: jax.Array  # [B, A] float32, the tempered policy before search and noise
    legal_mass: jax.Array  # [B] float32, probability of legal moves in the network's policy
    raw_value: jax.Array  # [B] float32, the network's own value of the position
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

    def tempered(evaluation: Evaluation) -> Evaluation:
        logits = evaluation.prior_logits / config.prior_temperature
        return dataclasses.replace(evaluation, prior_logits=logits)

    root = evaluate(root_key, position)
    root_moves = search_tree.compact(game, position, tempered(root).prior_logits)
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
        lambda key, position: tempered(evaluate(key, position)),
        tree_key,
        position,
        moves,
        root.value,
        num_simulations=config.num_simulations,
        leaves_per_step=config.leaves_per_step,
        virtual_loss=config.virtual_loss,
    )
    temperature = 0.0 if is_greedy else temperature_at(config, jnp.asarray(ply))
    temperature = jnp.broadcast_to(temperature, root.value.shape)
    prior = jnp.exp(root_moves.logits)
    if config.algorithm == "gumbel":
        tree, slot, policy = _gumbel(run, noise_key, moves, temperature, config)
    else:
        tree, slot, policy = _by_formula(run, move_key, moves, temperature, config)
    raw_policy = jax.nn.softmax(root.prior_logits)
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


# Every algorithm returns trees, slots to play `[B]` and improved policies `[B, S]`.
_Improvement = tuple[search_tree.Tree, jax.Array, jax.Array]


def _by_formula(
    run, key, moves: search_tree.Moves, temperature, config: SearchConfig
) -> _Improvement:
    """Searches by one formula at all nodes."""
    select = functools.partial(
        selection.puct_action, c_puct=config.c_puct, unvisited_value=config.unvisited_value
    )
    if config.algorithm == "puct_over_visits":
        select = functools.partial(selection.puct_over_visits_action, c_puct=config.c_puct)
    tree = run(select_at_root=select, select_below=select)
    root = search_tree.view(tree, jnp.zeros_like(tree.visits[:, 0]))
    visits = root.children_visits[:, 0]
    scale = jnp.where(temperature > 0, temperature, 1.0)[:, None]
    if config.move_choice == "visits":
        logits = jnp.where(visits > 0, jnp.log(jnp.maximum(visits, 1)), -jnp.inf)
        score = jnp.where(moves.is_legal(), visits, -1)
    else:
        is_much_visited = visits >= MUCH_VISITED * visits.max(axis=-1, keepdims=True)
        score = jnp.where(is_much_visited & (visits > 0), -root.children_values[:, 0], -jnp.inf)
        logits = score / Q_UNIT
    sampled = jax.random.categorical(key, logits / scale)
    slot = jnp.where(temperature > 0, sampled, jnp.argmax(score, axis=-1))
    return tree, slot, visits / visits.sum(axis=-1, keepdims=True)


def _gumbel(run, key, moves: search_tree.Moves, temperature, config: SearchConfig) -> _Improvement:
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
        return select(at_root, node.replace(children_visits=visits, extra_data=extra_data))

    tree = run(select_at_root=select_at_root, select_below=functools.partial(select, below))
    root = search_tree.view(tree, jnp.zeros_like(tree.visits[:, 0]))
    visits = root.children_visits[:, 0]
    q = jax.vmap(lambda one: qtransform(one, 0))(root)
    # The best of the most visited moves, as in `mctx.gumbel_muzero_policy`.
    is_finalist = moves.is_legal() & (visits == visits.max(axis=-1, keepdims=True))
    final_score = jnp.where(is_finalist, gumbel + moves.logits + q, -jnp.inf)
    slot = jnp.argmax(final_score, axis=-1).astype(jnp.int32)
    return tree, slot, jax.nn.softmax(search_tree.mask_illegal(moves.logits + q, moves.is_legal()))
