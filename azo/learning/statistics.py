"""Statistics of an iteration, and their names in `metrics.jsonl`.

Each device gathers sums over its own games, devices add them up, and the host describes the total.
"""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import learner, pending_plies, ply_records, run_state


@flax.struct.dataclass
class ByPly:
    """Sums over the positions of finished games by ply number, `P` = `max_plies`.

    v is the network's value and z the final result, both for the side to move.
    """

    count: jax.Array  # [P] float32
    value: jax.Array  # [P] float32, sum of v
    outcome: jax.Array  # [P] float32, sum of z
    value_squared: jax.Array  # [P] float32
    outcome_squared: jax.Array  # [P] float32
    product: jax.Array  # [P] float32, sum of v * z


@flax.struct.dataclass
class GameStatistics:
    """Sums over the games that ended.

    The drop of a move is the fall in the search's value for the player who moved. The move with the
    largest drop of a game is its crucial move.
    """

    num_games: jax.Array  # [] float32
    num_plies: jax.Array  # [] float32
    results: jax.Array  # [3] float32, games won, drawn and lost by the player who began
    resigned: jax.Array  # [] float32, games that did not reach their end
    adjudicated: jax.Array  # [] float32, games with a result of the solver
    drop: jax.Array  # [] float32, sum of the largest drops
    drop_squared: jax.Array  # [] float32
    crucial_by_ply: jax.Array  # [P] float32
    crucial_by_action: jax.Array  # [A] float32
    final_margins: jax.Array  # [3, 2 * squares + 1] float32, games played to their end by result
    # and by the final disc difference for the player who began


@flax.struct.dataclass
class SelfplayStatistics:
    """Sums over the self-play of an iteration."""

    by_ply: ByPly
    games: GameStatistics
    evaluations_by_ply: jax.Array  # [P] float32, of the new plies
    num_devices: jax.Array  # [] float32
    # Each [] float32: means over plies, summed over devices.
    predictions: ply_records.PredictionStatistics


@flax.struct.dataclass
class Metrics:
    """Report of an iteration; scalars except in `selfplay`."""

    losses: learner.Losses  # means over the steps; NaN if nothing is learned
    new_losses: learner.Losses  # of new examples, before any step on them; NaN if there are none
    selfplay: SelfplayStatistics | None  # over devices; None if nothing is played
    replay_size: jax.Array  # int32, positions in the buffer
    replay_age: jax.Array  # float32, mean age of the examples of a batch in iterations
    unique_share: jax.Array  # float32, distinct positions among the examples of a batch
    learning_rate: jax.Array  # float32, of the next step
    threshold: jax.Array | None  # float32, of resignation, if games may be resigned
    false_positive_share: jax.Array | None  # float32, of the threshold


def gather(
    game: protocol.Game, turns: ply_records.Turns, finalised: pending_plies.FinalisedPlies
) -> SelfplayStatistics:
    """Returns the sums of one device."""
    ply = turns.plies.ply
    evaluations = jnp.broadcast_to(turns.predictions.num_evaluations[:, None], ply.shape)
    return SelfplayStatistics(
        by_ply=_by_ply(game, finalised),
        games=_games(game, turns, finalised),
        evaluations_by_ply=_histogram(ply, game.max_plies, evaluations.astype(jnp.float32)),
        num_devices=jnp.float32(1),
        predictions=jax.tree.map(lambda x: x.astype(jnp.float32).mean(), turns.predictions),
    )


def describe_iteration(
    settings: run_state.RecipeConfig,
    state: run_state.RunState,
    metrics: Metrics,
    *,
    seconds: float,
) -> dict[str, Any]:
    """Returns the metrics of an iteration by their names in `metrics.jsonl`.

    Args:
      settings: of the run.
      state: after the iteration.
      metrics: of the iteration, on the host.
      seconds: duration of the iteration.
    """
    named: dict[str, Any] = {
        "generation": int(state.generation),
        "selfplay/games": int(state.num_games),
        "selfplay/evaluations": state.num_evaluations(),
    }
    if metrics.selfplay is not None:
        evaluations = float(metrics.selfplay.evaluations_by_ply.sum())
        positions = settings.selfplay.num_games * settings.selfplay.num_plies
        named |= {
            "selfplay/games_per_second": float(metrics.selfplay.games.num_games) / seconds,
            "selfplay/positions_per_second": positions / seconds,
            "selfplay/simulations_per_second": (evaluations - positions) / seconds,
            **describe(metrics.selfplay),
        }
    losses, new = metrics.losses, metrics.new_losses
    named |= {
        "learner/policy_loss": float(losses.policy),
        "learner/value_loss": float(losses.value),
        "learner/target_entropy": float(losses.policy_entropy),
        "learner/entropy": float(losses.entropy),
        "learner/gradient_norm": float(losses.gradient_norm),
        "learner/new_policy_loss": float(new.policy),
        "learner/new_value_loss": float(new.value),
        "learner/learning_rate": float(metrics.learning_rate),
        "replay/size": int(metrics.replay_size),
        "replay/age": float(metrics.replay_age),
        "replay/unique_share": float(metrics.unique_share),
    }
    if settings.network.has_ownership_head:
        named["learner/ownership_loss"] = float(losses.ownership)
    if settings.network.has_margin_head:
        named["learner/margin_loss"] = float(losses.margin)
    if metrics.threshold is not None and metrics.false_positive_share is not None:
        named["resignation/threshold"] = float(metrics.threshold)
        named["resignation/false_positive_share"] = float(metrics.false_positive_share)
    return named


def describe(sums: SelfplayStatistics) -> dict[str, Any]:
    """Returns the metrics of self-play by their names; NaN if no game ended."""
    sums = jax.tree.map(lambda x: np.asarray(x, np.float64), sums)
    games, by_ply = sums.games, sums.by_ply
    total = jax.tree.map(np.sum, by_ply)
    means = jax.tree.map(lambda x: float(x / sums.num_devices), sums.predictions)
    with np.errstate(invalid="ignore", divide="ignore"):
        drop = games.drop / games.num_games
        spread = np.sqrt(np.maximum(games.drop_squared / games.num_games - drop**2, 0))
        wins, draws, losses = games.results
        return {
            "selfplay/mean_plies": games.num_plies / games.num_games,
            "selfplay/first_player_score": (wins + draws / 2) / games.num_games,
            "selfplay/first_player_wins": wins,
            "selfplay/draws": draws,
            "selfplay/first_player_losses": losses,
            "selfplay/resigned_share": games.resigned / games.num_games,
            "selfplay/adjudicated_share": games.adjudicated / games.num_games,
            "selfplay/policy_entropy": means.policy_entropy,
            "selfplay/prior_entropy": means.prior_entropy,
            "selfplay/prior_divergence": means.prior_divergence,
            "selfplay/legal_mass": means.legal_mass,
            "selfplay/value_error": (total.value - total.outcome) / total.count,
            "selfplay/value_correlation": _correlation(total),
            "selfplay/value_correlation_by_ply": _correlation(by_ply),
            "selfplay/evaluations_by_ply": sums.evaluations_by_ply,
            "selfplay/largest_drop_mean": drop,
            "selfplay/largest_drop_std": spread,
            "selfplay/crucial_by_ply": games.crucial_by_ply,
            "selfplay/crucial_by_action": games.crucial_by_action,
            "selfplay/final_margins": games.final_margins,
        }


def _by_ply(game: protocol.Game, finalised: pending_plies.FinalisedPlies) -> ByPly:
    ply, outcome = finalised.plies.ply, finalised.outcome
    value = finalised.plies.raw_value.astype(jnp.float32)

    def summed(x: jax.Array) -> jax.Array:
        return _histogram(ply, game.max_plies, jnp.where(finalised.is_ready, x, 0.0))

    return ByPly(
        count=summed(jnp.ones_like(value)),
        value=summed(value),
        outcome=summed(outcome),
        value_squared=summed(value**2),
        outcome_squared=summed(outcome**2),
        product=summed(value * outcome),
    )


def _games(
    game: protocol.Game, turns: ply_records.Turns, finalised: pending_plies.FinalisedPlies
) -> GameStatistics:
    plies = turns.plies
    ended = (plies.discount == 0).astype(jnp.float32)
    sign = jnp.where(plies.ply % 2 == 0, 1, -1)
    result = (sign * plies.reward).astype(jnp.int32)  # of the player who began
    outcome = 1 - result  # 0 won, 1 drawn, 2 lost

    is_over = game.is_over(turns.after)
    discs = game.planes(turns.after).astype(jnp.int32)
    # Seen by the side that would move next, so by the player who began after an odd ply.
    margin = -sign * (discs[..., 0] - discs[..., 1]).sum(axis=(-2, -1))
    rows, columns = game.board_shape
    num_margins = 2 * rows * columns + 1
    cell = outcome * num_margins + margin + rows * columns
    is_played = jnp.where(is_over, ended, 0.0)
    margins = _histogram(cell, 3 * num_margins, is_played).reshape(3, num_margins)

    num_adjudicated = jnp.int32(0)
    if turns.is_adjudicated is not None:
        num_adjudicated = turns.is_adjudicated.sum()

    drop, place = _largest_drops(finalised.plies)
    is_ready, window = finalised.is_ready, finalised.plies
    starts = is_ready & jnp.concatenate(
        [jnp.ones_like(is_ready[:1]), ~is_ready[:-1] | (window.discount[:-1] == 0)]
    )
    first = starts.astype(jnp.float32)
    crucial = place.reshape(-1)
    return GameStatistics(
        num_games=ended.sum(),
        num_plies=(ended * (plies.ply + 1)).sum(),
        results=_histogram(outcome, 3, ended),
        resigned=jnp.where(is_over, 0.0, ended).sum(),
        adjudicated=num_adjudicated.astype(jnp.float32),
        drop=(first * drop).sum(),
        drop_squared=(first * drop**2).sum(),
        crucial_by_ply=_histogram(window.ply.reshape(-1)[crucial], game.max_plies, first),
        crucial_by_action=_histogram(window.action.reshape(-1)[crucial], game.num_actions, first),
        final_margins=margins,
    )


def _largest_drops(plies: ply_records.Plies) -> tuple[jax.Array, jax.Array]:
    """Returns the largest drop from each ply to the end of its game, and its place in the window.

    The place counts entries of `[W, B]` row by row. Values are the search's.
    """
    value = plies.value.astype(jnp.float32)
    number = jnp.arange(value.size, dtype=jnp.int32).reshape(value.shape)

    def step_back(later, ply):
        later_value, later_drop, later_place = later
        value_t, reward_t, discount_t, number_t = ply
        goes_on = discount_t != 0
        drop = value_t - jnp.where(goes_on, -later_value, reward_t)
        is_later = goes_on & (later_drop > drop)
        largest = jnp.where(is_later, later_drop, drop)
        place = jnp.where(is_later, later_place, number_t)
        return (value_t, largest, place), (largest, place)

    nothing = jnp.zeros_like(value[0]), jnp.zeros_like(value[0]), number[0]
    inputs = (value, plies.reward, plies.discount, number)
    _, (drop, place) = jax.lax.scan(step_back, nothing, inputs, reverse=True)
    return drop, place


def _histogram(index: jax.Array, size: int, weight: jax.Array) -> jax.Array:
    """Returns `[size]` float32, the sum of the weights at each index."""
    return jnp.zeros(size).at[index.reshape(-1)].add(weight.reshape(-1), mode="drop")


def _correlation(sums: Any) -> np.ndarray:
    """Returns the correlation of v and z from the sums of `ByPly`, in NumPy's arrays."""
    n = sums.count
    covariance = sums.product / n - sums.value / n * sums.outcome / n
    value_variance = sums.value_squared / n - (sums.value / n) ** 2
    outcome_variance = sums.outcome_squared / n - (sums.outcome / n) ** 2
    # Less than rounding leaves of equal numbers: not a variance.
    is_varied = np.minimum(value_variance, outcome_variance) > 1e-6
    scale = np.sqrt(np.where(is_varied, value_variance * outcome_variance, np.nan))
    return covariance / scale
