"""The baselines: the unchanged loops of mctx, and the AlphaZero example of Pgx.

Pgx belongs to the extra `test`. It is imported late, because its import starts JAX's backend, and
the process must be pinned to its cores before.
"""

import functools
import importlib.util
import types
from collections.abc import Callable
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import mctx

from azo.games import protocol
from azo.search import improvement, search_tree, settings

# Evaluates planes `[B, 8, 8, 2]`.
Apply = Callable[[jax.Array], improvement.Evaluation]


def mctx_search(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    position: protocol.Position,
    *,
    config: improvement.SearchConfig,
    same_trees: bool = False,
    policies: types.ModuleType = mctx,
) -> mctx.PolicyOutput:
    """Searches with mctx, with azo's rules and evaluator: only the tree differs.

    Args:
      game: the rules.
      evaluate: as in `improvement.search`.
      key: for noise, the choice of a move, and `evaluate`.
      position: `[B]` positions.
      config: algorithm and simulations; with `same_trees` also other settings of Gumbel and PUCT.
      same_trees: select moves by azo's rules, so that visits are equal except for noise and ties.
        In PUCT an unvisited move then has its parent's value. Otherwise mctx's defaults hold.
      policies: module of the policies, mctx or `azo.compat.mctx`.
    """
    root_key, search_key = jax.random.split(key)

    def masked(evaluation: improvement.Evaluation, position: protocol.Position) -> jax.Array:
        return search_tree.mask_illegal(evaluation.prior_logits, game.legal_mask(position))

    def play(params: None, key: jax.Array, action: jax.Array, position: protocol.Position) -> Any:
        del params
        step = game.step(position, action)
        evaluation = evaluate(key, step.position)
        output = mctx.RecurrentFnOutput(
            reward=step.reward,
            discount=step.discount,
            prior_logits=masked(evaluation, step.position),
            value=jnp.where(step.discount == 0, 0.0, evaluation.value),
        )
        return output, step.position

    evaluation = evaluate(root_key, position)
    inputs: dict[str, Any] = {
        "params": None,
        "rng_key": search_key,
        "root": mctx.RootFnOutput(
            prior_logits=masked(evaluation, position), value=evaluation.value, embedding=position
        ),
        "recurrent_fn": play,
        "num_simulations": config.num_simulations,
        "invalid_actions": ~game.legal_mask(position),
    }
    if config.algorithm == "puct":
        return policies.muzero_policy(**inputs, **(_azo_puct(config) if same_trees else {}))
    return policies.gumbel_muzero_policy(**inputs, **(_azo_gumbel(config) if same_trees else {}))


def _azo_puct(config: improvement.SearchConfig) -> dict[str, Any]:
    def unscaled(tree: mctx.Tree, node: jax.Array) -> jax.Array:
        is_visited = tree.children_visits[node] > 0
        return jnp.where(is_visited, tree.qvalues(node), tree.node_values[node])

    return {
        "qtransform": unscaled,
        "pb_c_init": config.puct.c_puct,
        "pb_c_base": 1e12,  # so large that the constant does not grow
        "dirichlet_fraction": config.puct.root_noise_fraction,
    }


def _azo_gumbel(config: improvement.SearchConfig) -> dict[str, Any]:
    return {
        "qtransform": functools.partial(
            mctx.qtransform_completed_by_mix_value,
            value_scale=config.gumbel.value_scale,
            maxvisit_init=settings.VISIT_OFFSET,
            rescale_values=False,
        ),
        "max_num_considered_actions": config.gumbel.max_considered_actions,
        "gumbel_scale": config.temperature,
    }


def has_pgx() -> bool:
    """Returns whether Pgx is installed."""
    return importlib.util.find_spec("pgx") is not None


def pgx_othello() -> Any:
    """Returns Pgx's Othello environment."""
    import pgx

    return pgx.make("othello")


def pgx_auto_reset(env: Any) -> Callable[[Any, jax.Array, jax.Array], Any]:
    """Returns `step(state, action, key)` of a batch. It creates a new state for every game."""
    from pgx import experimental

    step = jax.vmap(experimental.auto_reset(env.step, env.init))
    return lambda state, action, key: step(state, action, jax.random.split(key, action.shape[0]))


def pgx_begin(env: Any, key: jax.Array, num_games: int) -> Any:
    """Returns states at plies spread evenly over a game, as `initial_games.spread_games` does."""
    init_key, play_key = jax.random.split(key)
    start = jax.vmap(env.init)(jax.random.split(init_key, num_games))
    num_squares = env.num_actions - 1
    target = jnp.arange(num_games) % num_squares
    step = pgx_auto_reset(env)

    def advance(ply: jax.Array, state: Any) -> Any:
        action_key, step_key = jax.random.split(jax.random.fold_in(play_key, ply))
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        after = step(state, jax.random.categorical(action_key, logits), step_key)
        is_due = ply < target

        def choose(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(is_due.reshape(-1, *[1] * (old.ndim - 1)), new, old)

        return jax.tree.map(choose, after, state)

    state = jax.lax.fori_loop(0, num_squares, advance, start)
    # `auto_reset` leaves a new game marked as over until its first step.
    return state.replace(terminated=jnp.zeros_like(state.terminated))


@flax.struct.dataclass
class PgxPlies:
    """The plies that the example records, time first."""

    observation: jax.Array  # [T, B, 8, 8, 2] bool
    policy: jax.Array  # [T, B, A] float32
    reward: jax.Array  # [T, B] float32, of the player who moved
    is_over: jax.Array  # [T, B] bool
    discount: jax.Array  # [T, B] float32


def pgx_search(
    env: Any, apply: Apply, key: jax.Array, state: Any, *, num_simulations: int
) -> mctx.PolicyOutput:
    """Searches like the example: states of Pgx in the tree, Gumbel, mctx's defaults."""

    def play(params: None, key: jax.Array, action: jax.Array, state: Any) -> Any:
        del params, key
        after = jax.vmap(env.step)(state, action)
        evaluation = apply(after.observation)
        output = mctx.RecurrentFnOutput(
            reward=_rewards_of(state.current_player, after),
            discount=jnp.where(after.terminated, 0.0, -1.0),
            prior_logits=search_tree.mask_illegal(evaluation.prior_logits, after.legal_action_mask),
            value=jnp.where(after.terminated, 0.0, evaluation.value),
        )
        return output, after

    evaluation = apply(state.observation)
    return mctx.gumbel_muzero_policy(
        params=None,
        rng_key=key,
        root=mctx.RootFnOutput(
            prior_logits=evaluation.prior_logits, value=evaluation.value, embedding=state
        ),
        recurrent_fn=play,
        num_simulations=num_simulations,
        invalid_actions=~state.legal_action_mask,
    )


def pgx_play(
    env: Any, apply: Apply, key: jax.Array, state: Any, *, num_simulations: int, num_plies: int
) -> tuple[Any, PgxPlies]:
    """Plays like `selfplay` in `examples/alphazero/train.py` of Pgx 2.6, on one device.

    Returns:
      The states after `num_plies` plies `T`, and the plies `[T, B]`.
    """
    step = pgx_auto_reset(env)

    def play_ply(state: Any, key: jax.Array) -> tuple[Any, PgxPlies]:
        search_key, step_key = jax.random.split(key)
        output = pgx_search(env, apply, search_key, state, num_simulations=num_simulations)
        after = step(state, output.action, step_key)
        record = PgxPlies(
            observation=state.observation,
            policy=output.action_weights,
            reward=_rewards_of(state.current_player, after),
            is_over=after.terminated,
            discount=jnp.where(after.terminated, 0.0, -1.0),
        )
        return after, record

    return jax.lax.scan(play_ply, state, jax.random.split(key, num_plies))


def _rewards_of(player: jax.Array, state: Any) -> jax.Array:
    return jnp.take_along_axis(state.rewards, player[:, None], axis=1)[:, 0]
