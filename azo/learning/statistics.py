"""What an iteration reports of its self-play: sums over games, from which figures are worked out.

Devices add up their sums; `describe` turns the total into the figures of `metrics.jsonl`.
"""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import pending_plies, selfplay


@flax.struct.dataclass
class ByPly:
    """SelfplayStatistics over decided positions by the number of plies played before, `P` = `max_plies`.

    v is the network's own value, z the final result, both for the side to move.
    """

    count: jax.Array  # [P] float32
    value: jax.Array  # [P] float32, sum of v
    outcome: jax.Array  # [P] float32, sum of z
    value_squared: jax.Array  # [P] float32
    outcome_squared: jax.Array  # [P] float32
    product: jax.Array  # [P] float32, sum of v * z


@flax.struct.dataclass
class GameStatistics:
    """SelfplayStatistics over the games that ended.

    A drop is how much the search's value for the player who moved falls by that move; the largest
    of a game window_starts its crucial move.
    """

    num_games: jax.Array  # [] float32
    num_plies: jax.Array  # [] float32
    results: jax.Array  # [3] float32, games won, drawn and lost by the player who began
    resigned: jax.Array  # [] float32
    adjudicated: jax.Array  # [] float32, results found by the solver
    drop: jax.Array  # [] float32, sum of the largest drops
    drop_squared: jax.Array  # [] float32
    crucial_by_ply: jax.Array  # [P] float32
    crucial_by_action: jax.Array  # [A] float32
    final_margins: jax.Array  # [3, 2 * squares + 1] float32, games played to their end by result
    # and by the final disc difference for the player who began


@flax.struct.dataclass
class SelfplayStatistics:
    """All of it, to be added up over devices."""

    by_ply: ByPly
    games: GameStatistics
    evaluations_by_ply: jax.Array  # [P] float32, of the new plies
    num_devices: jax.Array  # [] float32
    predictions: (
        selfplay.PredictionStatistics
    )  # each [] float32, means over plies; sums over devices


def gather(
    game: protocol.Game, played: selfplay.Played, finalised: pending_plies.FinalisedPlies
) -> SelfplayStatistics:
    """Returns the sums of one device."""
    plies = played.plies
    evaluations = jnp.broadcast_to(played.predictions.num_evaluations[:, None], plies.ply.shape)
    return SelfplayStatistics(
        by_ply=_by_ply(game, finalised),
        games=_games(game, played, finalised),
        evaluations_by_ply=_histogram(plies.ply, game.max_plies, evaluations.astype(jnp.float32)),
        num_devices=jnp.float32(1),
        predictions=jax.tree.map(lambda x: x.astype(jnp.float32).mean(), played.predictions),
    )


def describe(sums: SelfplayStatistics) -> dict[str, Any]:
    """Returns the figures by their names in `metrics.jsonl`; NaN where there is no game."""
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
    game: protocol.Game, played: selfplay.Played, finalised: pending_plies.FinalisedPlies
) -> GameStatistics:
    plies, is_ready = finalised.plies, finalised.is_ready
    is_end = is_ready & (plies.discount == 0)
    ended = is_end.astype(jnp.float32)
    sign = jnp.where(plies.ply % 2 == 0, 1, -1)
    result = (sign * plies.reward).astype(jnp.int32)  # of the player who began
    outcome = 1 - result  # 0 won, 1 drawn, 2 lost

    last = finalised.after
    is_over = game.is_over(last)
    discs = game.planes(last).astype(jnp.int32)
    # Seen by the side that would move next, so by the player who began after an odd ply.
    margin = -sign * (discs[..., 0] - discs[..., 1]).sum(axis=(-2, -1))
    rows, columns = game.board_shape
    num_margins = 2 * rows * columns + 1
    cell = outcome * num_margins + margin + rows * columns
    is_played = jnp.where(is_over, ended, 0.0)
    margins = _histogram(cell, 3 * num_margins, is_played).reshape(3, num_margins)

    num_adjudicated = jnp.int32(0)
    if played.adjudicated is not None:
        num_adjudicated = played.adjudicated.begin.sum()

    drop, place = _largest_drops(finalised)
    starts = is_ready & jnp.concatenate(
        [jnp.ones_like(is_ready[:1]), ~is_ready[:-1] | (plies.discount[:-1] == 0)]
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
        crucial_by_ply=_histogram(plies.ply.reshape(-1)[crucial], game.max_plies, first),
        crucial_by_action=_histogram(plies.action.reshape(-1)[crucial], game.num_actions, first),
        final_margins=margins,
    )


def _largest_drops(finalised: pending_plies.FinalisedPlies) -> tuple[jax.Array, jax.Array]:
    """Returns the largest drop from each ply to the end of its game, and its place in the window.

    The place counts entries of `[W, B]` row by row. Values are the search's.
    """
    plies = finalised.plies
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
