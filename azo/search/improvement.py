"""Policy improvement: from a network's policy and value to those of a tree search.

All algorithms share the trees of `search_tree` and the loop of `mcts`. Their rules are in `gumbel`
and `puct`.

Positions, values and policies are seen by the side to move.
"""

import dataclasses
import functools
import importlib
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol, summaries
from azo.process import code_identity, extras
from azo.search import evaluations, mcts, proofs, rules, search_tree, settings
from azo.settings import setting_types

Evaluation = evaluations.Evaluation
Evaluate = evaluations.Evaluate
SearchConfig = settings.SearchConfig
GumbelConfig = settings.GumbelConfig
PuctConfig = settings.PuctConfig

_LOWEST_LOGIT = -1e30  # its exponential is 0; above the logits of illegal moves


@flax.struct.dataclass
class SearchResult:
    """Results of the search at each root, and the evaluations that it started from."""

    action: jax.Array  # [B] int32, the move to play
    policy: jax.Array  # [B, A] float32, the improved policy, a learning target
    value: jax.Array  # [B] float32, mean value of the root's visits, see `mix_values`
    prior: jax.Array  # [B, A] float32, the tempered policy before search and noise
    raw_policy: jax.Array  # [B, A] float32, the network's own policy, illegal moves not masked
    legal_mass: jax.Array  # [B] float32, probability of legal moves in the network's policy
    raw_value: jax.Array  # [B] float32, the network's value of the position, see `mix_values`
    tree: Any  # the whole trees, for analysis: `search_tree.Tree`, or `mctx.Tree` by that backend

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

    With several leaves per step, `evaluate` gets batches `[B * leaves]` below the root. `key`
    serves the noise, the choice of a move, and `evaluate`. `ply`, `[B]` int32 or a number, is the
    number of plies played so far, which decides the temperature. A greedy search plays the best
    move, without noise, as in matches. Positions of another batch shape raise ValueError.
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
    root_moves = search_tree.compact(game, position, root.prior_logits)
    temperature = config.temperature * (jnp.asarray(ply) < config.temperature_plies)
    temperature = jnp.broadcast_to(0.0 if is_greedy else temperature, root.value.shape)
    rule = rules.named(config.algorithm).begin(
        config, move_key, noise_key, root_moves, temperature, is_greedy=is_greedy
    )
    prior = root_moves.spread(jnp.exp(root_moves.logits), game.num_actions)
    raw_policy = jax.nn.softmax(root.prior_logits * config.prior_temperature)
    legal_mass = jnp.where(game.legal_mask(position), raw_policy, 0).sum(axis=-1)
    if config.backend == "mctx":
        with extras.needed("search.backend mctx", "mctx"):
            mctx_backend = importlib.import_module("azo.search.mctx_backend")
        result = mctx_backend.search(game, adapted, tree_key, position, root.value, rule, config)
        return SearchResult(
            result.action,
            result.policy,
            result.value,
            prior,
            raw_policy,
            legal_mass,
            root.value,
            result.tree,
        )
    tree = mcts.run(game, adapted, tree_key, position, root.value, rule, config)
    is_best = rule.moves.is_legal()
    if config.has_proofs:
        tree, is_best = proofs.look_ahead_at_root(game, tree)
    root_bounds = search_tree.Bounds(tree.bounds.lower[:, 0], tree.bounds.upper[:, 0])
    certain = root_bounds.clip(jnp.float32(-1), tree.score_share)
    searched = search_tree.node_of(tree, jnp.zeros_like(tree.visits[:, 0]))
    slot, policy = rule.decide(searched, is_best, certain)
    return SearchResult(
        action=rule.moves.at(slot),
        policy=rule.moves.spread(policy, game.num_actions),
        value=tree.value()[:, 0],
        prior=prior,
        raw_policy=raw_policy,
        legal_mass=legal_mass,
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
    """Searches `B` positions at once, with a program that is compiled at the first call.

        network = azo.load_network("zero-fast")
        start = network.game.start(16)
        result = azo.search_moves(network.game, network.evaluate, jax.random.key(0), start)

    Each combination of game, evaluator, configuration and number of positions is compiled
    separately, so pass the same evaluator to each call. Configurations share a program if they
    differ only in temperatures, scales, `c_puct` or the root's noise; a function around this one
    may trace these numbers. Arrays that the evaluator holds are constants of the program: inside a
    jitted function whose parameters change, call `improvement.search`.

    `game` is any implementation of `protocol.Game`. `evaluate` is a pure function of a key and
    positions `[B]` that returns an `azo.Evaluation`: logits `[B, A]` and values `[B]` in [-1, 1],
    for the side to move. The games at these positions are not over. Without `is_greedy`, moves have
    noise and temperature, as in self-play.

    Logits may be infinite. Legal moves with +inf share the whole prior. Legal moves with -inf get
    none of it, unless all have -inf: then they share it. Where `evaluate` gives NaN as the logit of
    a legal move, or a value that is not finite, the `value` of the result is NaN.

    Raises:
      ValueError: The batch axes of the positions are not `[B]`; or a value is NaN, see above,
        unless a function around this one is being traced.
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
    numbers: setting_types.Numbers,
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
