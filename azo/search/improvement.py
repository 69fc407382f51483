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
from collections.abc import Callable

import flax.struct
import jax
import jax.numpy as jnp
import mctx
import numpy as np

from azo.games import code_identity, protocol, setting_types, summaries
from azo.search import proofs, search_tree, selection, settings, simulation

Evaluation = search_tree.Evaluation
Evaluate = search_tree.Evaluate
SearchConfig = settings.SearchConfig
GumbelConfig = settings.GumbelConfig
PuctConfig = settings.PuctConfig

# Moves sampled by Q: at temperature 1 this difference in Q makes a move e times likelier.
Q_UNIT = 0.1
_LOWEST_LOGIT = -1e30  # its exponential is 0; above the logits of illegal moves


@flax.struct.dataclass
class SearchResult:
    """Results of the search at each root, and the evaluations that it started from."""

    action: jax.Array  # [B] int32, the move to play
    policy: jax.Array  # [B, A] float32, the improved policy, a learning target
    value: jax.Array  # [B] float32, mean value of the root's visits, see `mix_values`
    prior: jax.Array  # [B, A] float32, the tempered policy before search and noise
    legal_mass: jax.Array  # [B] float32, probability of legal moves in the network's policy
    raw_value: jax.Array  # [B] float32, the network's own value of the position, likewise
    tree: search_tree.Tree  # the whole trees, for analysis

    __repr__ = summaries.short


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
    """Searches positions `[B]`. Results for a finished game are finite, but meaningless.

    With several leaves a step, `evaluate` gets batches `[B * leaves]` below the root. The `key` is
    for noise, the choice of a move, and `evaluate`; the plies played so far, `[B]` int32 or a
    number, are for the temperature. A greedy search plays the best move, without noise, as in
    matches. Positions of another batch shape raise ValueError.
    """
    batch_shape = jax.eval_shape(game.is_over, position).shape
    if len(batch_shape) != 1:
        raise ValueError(
            f"positions of batch shape {batch_shape}: a search takes [B], such as game.start(1)"
        )
    noise_key, root_key, tree_key, move_key = jax.random.split(key, 4)

    def adapted(key: jax.Array, position: protocol.Position) -> Evaluation:
        with jax.named_scope("evaluation"):
            evaluation = evaluate(key, position)
        value = evaluation.value
        if config.score_share:
            assert evaluation.score is not None, "this evaluator gives no scores"
            value = search_tree.mix_values(value, evaluation.score, config.score_share)
        return Evaluation(evaluation.prior_logits / config.prior_temperature, value)

    root = adapted(root_key, position)
    no_noise = setting_types.is_zero(config.puct.root_noise_fraction)
    root_moves = search_tree.compact(game, position, root.prior_logits)
    moves = root_moves
    if config.algorithm != "gumbel" and not is_greedy and not no_noise:
        moves = _with_noise(noise_key, moves, config)

    def run(**rules: search_tree.Select) -> tuple[search_tree.Tree, mctx.Tree, jax.Array]:
        tree = simulation.run(
            game, adapted, tree_key, position, moves, root.value, config=config, **rules
        )
        is_best = tree.moves.is_legal()[:, 0]
        if config.has_proofs:
            tree, is_best = proofs.look_ahead_at_root(game, tree)
        return tree, search_tree.view(tree, jnp.zeros_like(tree.visits[:, 0])), is_best

    temperature = config.temperature * (jnp.asarray(ply) < config.temperature_plies)
    temperature = jnp.broadcast_to(0.0 if is_greedy else temperature, root.value.shape)
    if config.algorithm == "gumbel":
        tree, slot, policy = _gumbel(run, noise_key, moves, temperature, config)
    else:
        tree, slot, policy = _by_formula(run, move_key, moves, temperature, config)
    raw_policy = jax.nn.softmax(root.prior_logits * config.prior_temperature)
    return SearchResult(
        action=moves.at(slot),
        policy=moves.spread(policy, game.num_actions),
        value=tree.value()[:, 0],
        prior=moves.spread(jnp.exp(root_moves.logits), game.num_actions),
        legal_mass=jnp.where(game.legal_mask(position), raw_policy, 0).sum(axis=-1),
        raw_value=root.value,
        tree=tree,
    )


def search_moves(
    game: protocol.Game,
    evaluate: Evaluate,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: SearchConfig | None = None,
    is_greedy: bool = True,
) -> SearchResult:
    """Searches `B` positions at once, in a program that is compiled at the first call.

        network = azo.load_network("zero-fast")
        start = network.game.start(16)
        result = azo.search_moves(network.game, network.evaluate, jax.random.key(0), start)

    Each game, evaluator, configuration and number of positions has a program of its own, so pass
    the same evaluator to each call. Configurations that differ in temperatures, scales, `c_puct` or
    the root's noise alone share a program, and these may be traced by a function around this one.
    Arrays that the evaluator holds are constants of the program: inside a jitted function whose
    parameters change, call `improvement.search`.

    Any implementation of `protocol.Game` will do. `evaluate` is a pure function of a key and
    positions `[B]` that returns an `azo.Evaluation`: logits `[B, A]` and values `[B]` in [-1, 1],
    for the side to move. The positions are not over. Without `is_greedy`, moves have noise and
    temperature, as in self-play.

    Logits may be infinite: legal moves with +inf share the whole prior, those with -inf have none
    of it, and if all have -inf, they share it. Where `evaluate` gives NaN as the logit of a legal
    move, or a value that is not finite, the `value` of the result is NaN.

    Raises:
      ValueError: The positions have other batch axes than `[B]`; or a value is NaN, see above,
        unless a function around this one is traced.
    """
    fixed, numbers = setting_types.split_numbers(config or SearchConfig())
    result = _search_moves(
        game, evaluate, key, position, numbers, config=fixed, is_greedy=is_greedy
    )
    if not isinstance(result.value, jax.core.Tracer):
        bad = np.flatnonzero(np.isnan(result.value))
        if bad.size:
            raise ValueError(
                "evaluate gives NaN as the logit of a legal move, or a value that is not finite, in"
                f" the search of position {bad[0]}"
            )
    return result


@code_identity.jit(static_argnums=(0, 1), static_argnames=("config", "is_greedy"))
def _search_moves(
    game: protocol.Game,
    evaluate: Evaluate,
    key: jax.Array,
    position: protocol.Position,
    numbers: dict[str, jax.Array],
    *,
    config: SearchConfig,
    is_greedy: bool,
) -> SearchResult:
    config = setting_types.with_numbers(config, numbers)
    guarded = functools.partial(_guarded, game, evaluate)
    return search(game, guarded, key, position, config=config, is_greedy=is_greedy)


def _guarded(
    game: protocol.Game, evaluate: Evaluate, key: jax.Array, position: protocol.Position
) -> Evaluation:
    """Returns an evaluation whose logits are finite, and whose value is NaN if it is no number.

    Finite evaluations of legal moves keep every bit. What is said of finished games is not read.
    """
    evaluation = evaluate(key, position)
    logits, legal = evaluation.prior_logits, game.legal_mask(position)
    is_over = game.is_over(position)
    is_bad = (legal & jnp.isnan(logits)).any(axis=-1) | ~jnp.isfinite(evaluation.value)
    is_certain = legal & (logits == jnp.inf)
    logits = jnp.where(
        is_certain.any(axis=-1, keepdims=True), jnp.where(is_certain, 0.0, -jnp.inf), logits
    )
    logits = jnp.where(jnp.isfinite(logits), logits, _LOWEST_LOGIT)
    value = jnp.where(is_over, 0.0, jnp.where(is_bad, jnp.nan, evaluation.value))
    return dataclasses.replace(evaluation, prior_logits=logits, value=value)


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


# Runs the simulations, by the rules `select_at_root` and `select_below`. Returns trees, their roots
# as `search_tree.view` shows them, and the moves `[B, S]` bool that may be played, see `proofs`.
_Run = Callable[..., tuple[search_tree.Tree, mctx.Tree, jax.Array]]
# Every algorithm returns trees, slots to play `[B]` and improved policies `[B, S]`.
_Improvement = tuple[search_tree.Tree, jax.Array, jax.Array]


def _by_formula(
    run: _Run,
    key: jax.Array,
    moves: search_tree.Moves,
    temperature: jax.Array,
    config: SearchConfig,
) -> _Improvement:
    """Searches by one formula at all nodes."""
    over_visits = config.algorithm == "puct_over_visits"
    formula = selection.puct_over_visits_action if over_visits else selection.puct_action
    select = functools.partial(formula, c_puct=config.puct.c_puct)
    tree, root, is_best = run(select_at_root=select, select_below=select)
    visits = root.children_visits[:, 0]
    if config.has_proofs:
        visits = _visits_of_best(tree, root, is_best)
    scale = jnp.where(temperature > 0, temperature, 1.0)[:, None]
    if config.puct.move_choice == "visits":
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
    run: _Run,
    key: jax.Array,
    moves: search_tree.Moves,
    temperature: jax.Array,
    config: SearchConfig,
) -> _Improvement:
    """Searches by sequential halving at the root and by the improved policy below it."""
    gumbel = temperature[:, None] * jax.random.gumbel(key, moves.logits.shape)
    extra_data = mctx.GumbelMuZeroExtraData(root_gumbel=gumbel)
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.gumbel.value_scale,
        maxvisit_init=settings.VISIT_OFFSET,
        rescale_values=False,
    )
    at_root = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=config.num_simulations,
        max_num_considered_actions=config.gumbel.max_considered_actions,
        qtransform=qtransform,
    )
    below = functools.partial(
        mctx.gumbel_muzero_interior_action_selection, depth=None, qtransform=qtransform
    )

    def select(rule: Callable, node: mctx.Tree) -> jax.Array:
        return jax.vmap(lambda one: rule(None, one, 0))(node)

    def select_at_root(node: mctx.Tree) -> jax.Array:
        # Virtual visits are whole numbers in float32; sequential halving indexes by visits.
        visits = node.children_visits.astype(jnp.int32)
        slot = select(at_root, node.replace(children_visits=visits, extra_data=extra_data))
        if not config.has_proofs:
            return slot
        q = jax.vmap(lambda one: qtransform(one, 0))(node)
        return _unless_excluded(slot, node, visits[:, 0], gumbel + moves.logits + q)

    tree, root, is_best = run(
        select_at_root=select_at_root, select_below=functools.partial(select, below)
    )
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


def _with_noise(
    key: jax.Array, moves: search_tree.Moves, config: SearchConfig
) -> search_tree.Moves:
    """Returns moves `[B, S]` with noise mixed into their prior, which still sums to 1.

    The noise is drawn over the legal moves (Silver et al., 2017, arXiv:1712.01815). mctx draws it
    over all actions and masks the illegal ones, so most of the noise is lost: with 10 legal moves
    of 65 the effective share is 5 % instead of 25 %.
    """
    legal, alpha = moves.is_legal(), config.puct.root_noise_alpha
    usual = jnp.minimum(1.0, 10.0 / legal.sum(axis=-1, keepdims=True))
    alphas = usual if alpha is None else jnp.float32(alpha)
    log_gamma = jax.random.loggamma(key, jnp.broadcast_to(alphas, legal.shape))
    noise = jax.nn.softmax(jnp.where(legal, log_gamma, -jnp.inf))
    fraction = config.puct.root_noise_fraction
    prior = (1 - fraction) * jnp.exp(moves.logits) + fraction * noise
    tiny = jnp.finfo(prior.dtype).tiny
    logits = jnp.where(legal, jnp.log(jnp.maximum(prior, tiny)), moves.logits)
    return dataclasses.replace(moves, logits=logits)
