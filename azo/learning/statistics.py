"""Statistics of an iteration, and their names in `metrics.jsonl`.

Each device gathers sums over its own games, devices add them up, and the host describes the total.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import learner, pending_plies, ply_records, run_state

# Far from healthy runs, where the entropy is at least 0.67 nats on 8x8 and the mean value at most
# 0.3: docs/reliability.md.
_COLLAPSED_ENTROPY = 0.02  # nats, of the network's policy, mean over plies
_STUCK_MEAN = 0.5  # of the network's value, for the side to move
_STUCK_RATIO = 2.0  # mean by standard deviation


@flax.struct.dataclass
class SelfplayStatistics:
    """Sums over the self-play of an iteration, each [] float32 except the results.

    v is the network's value and z the value of the end, both for the side to move.
    """

    num_positions: jax.Array  # of finished games
    value: jax.Array  # sum of v over these positions
    outcome: jax.Array  # of z
    value_squared: jax.Array  # of v * v
    outcome_squared: jax.Array  # of z * z
    product: jax.Array  # of v * z
    num_games: jax.Array  # games that ended
    num_plies: jax.Array  # of the games that began with an opening
    results: jax.Array  # [3] float32, these games won, drawn and lost by the player who began
    start_regret: jax.Array  # sum over the games that began at archived positions
    resigned: jax.Array  # games that did not reach their end
    adjudicated: jax.Array  # games with a result of the solver
    num_devices: jax.Array
    predictions: ply_records.PredictionStatistics  # means over plies, summed over devices


@flax.struct.dataclass
class Finite:
    """Which numbers of an iteration are neither infinite nor NaN, each [] bool."""

    losses: jax.Array  # means over the steps; True if none is taken
    gradient_norm: jax.Array  # likewise
    parameters: jax.Array  # after the steps, with the state of the optimiser
    search_values: jax.Array  # and values and entropies of the network; True if nothing is played


@flax.struct.dataclass
class Metrics:
    """Report of an iteration; scalars except in `selfplay`."""

    finite: Finite
    losses: learner.Losses  # means over the steps; NaN if nothing is learned
    new_losses: learner.Losses  # of new examples, before any step on them; NaN if there are none
    selfplay: SelfplayStatistics | None  # over devices; None if nothing is played
    replay_size: jax.Array  # int32, positions in the buffer
    replay_age: jax.Array  # float32, mean age of the examples of a batch in iterations
    unique_share: jax.Array  # float32, distinct positions among the examples of a batch
    learning_rate: jax.Array  # float32, of the next step
    threshold: jax.Array | None  # float32, of resignation, if games may be resigned
    false_positive_share: jax.Array | None  # float32, of the threshold


def all_finite(tree: Any) -> jax.Array:
    """Returns whether all floating-point entries of a pytree are finite, [] bool.

    Infinities and NaN times 0 are NaN. XLA's CPU backend computes this sum 4 to 7 times faster than
    `isfinite(x).all()`.
    """
    floats = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([(x * 0).sum() == 0 for x in floats]).all()


def check_finite(
    state: learner.TrainState,
    losses: learner.Losses,
    has_learned: jax.Array | bool = True,
    turns: ply_records.Turns | None = None,
) -> Finite:
    """Returns which numbers of an iteration on this device are finite.

    Args:
      state: after the steps.
      losses: means over the steps, with a gradient norm.
      has_learned: whether steps were taken, [] bool.
      turns: the plies played, if any.
    """
    is_unknown = ~jnp.asarray(has_learned)
    played = () if turns is None else (turns.plies.value, turns.plies.raw_value, turns.predictions)
    return Finite(
        losses=is_unknown | all_finite(dataclasses.replace(losses, gradient_norm=jnp.float32(0))),
        gradient_norm=is_unknown | jnp.isfinite(losses.gradient_norm),
        parameters=all_finite(state),
        search_values=all_finite((jnp.float32(0), played)),
    )


def gather(
    game: protocol.Game,
    turns: ply_records.UnlabelledTurns,
    finalised: pending_plies.FinalisedPlies,
    predictions: ply_records.PredictionStatistics,
) -> SelfplayStatistics:
    """Returns the sums of one device over labelled turns, and means of predictions."""
    value, outcome = finalised.plies.raw_value.astype(jnp.float32), finalised.outcome

    def summed(x: jax.Array) -> jax.Array:
        return jnp.where(finalised.is_ready, x, 0.0).sum()

    plies = turns.plies
    ended = (plies.discount == 0).astype(jnp.float32)
    sign = jnp.where(plies.ply % 2 == 0, 1, -1)
    result = sign * jnp.sign(plies.reward)  # of the player who began
    is_opened, start_regret = ended, jnp.float32(0)
    if turns.start_regret is not None:
        is_opened = jnp.where(turns.start_regret < 0, ended, 0.0)
        start_regret = ((ended - is_opened) * turns.start_regret).sum()
    num_adjudicated = jnp.int32(0)
    if turns.is_adjudicated is not None:
        num_adjudicated = turns.is_adjudicated.sum()
    return SelfplayStatistics(
        num_positions=summed(jnp.ones_like(value)),
        value=summed(value),
        outcome=summed(outcome),
        value_squared=summed(value**2),
        outcome_squared=summed(outcome**2),
        product=summed(value * outcome),
        num_games=ended.sum(),
        num_plies=(is_opened * (plies.ply + 1)).sum(),
        results=jnp.stack([(is_opened * (result == kind)).sum() for kind in (1, 0, -1)]),
        start_regret=start_regret,
        resigned=jnp.where(game.is_over(turns.after), 0.0, ended).sum(),
        adjudicated=num_adjudicated.astype(jnp.float32),
        num_devices=jnp.float32(1),
        predictions=jax.tree.map(lambda x: x.astype(jnp.float32).mean(), predictions),
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
      settings: of the iteration.
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
        sums = metrics.selfplay
        positions = settings.selfplay.num_games * settings.selfplay.num_plies
        named |= {
            "selfplay/games_per_second": float(sums.num_games) / seconds,
            "selfplay/positions_per_second": positions / seconds,
            "selfplay/simulations_per_second": settings.search.num_simulations
            * positions
            / seconds,
            **describe(sums),
        }
        if settings.selfplay.archive_share:
            named |= describe_archive(sums)
    losses, new = metrics.losses, metrics.new_losses
    named |= {
        "learner/policy_loss": float(losses.policy),
        "learner/value_loss": float(losses.value),
        "learner/score_loss": float(losses.score),
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
    if metrics.threshold is not None and metrics.false_positive_share is not None:
        named["resignation/threshold"] = float(metrics.threshold)
        named["resignation/false_positive_share"] = float(metrics.false_positive_share)
    return named


def warnings(figures: Mapping[str, Any]) -> dict[str, str]:
    """Returns what is wrong with the predictions of an iteration, by a short name.

    Args:
      figures: of the iteration, by their names in `metrics.jsonl`.
    """
    found = {}
    entropy = figures.get("selfplay/prior_entropy", math.nan)
    if entropy < _COLLAPSED_ENTROPY:
        found["collapsed policy"] = (
            f"warning: the policy has collapsed: its mean entropy is {entropy:.4f} nats, less than"
            f" {_COLLAPSED_ENTROPY:g}"
        )
    mean = figures.get("selfplay/value_mean", math.nan)
    deviation = figures.get("selfplay/value_deviation", math.nan)
    if abs(mean) > max(_STUCK_MEAN, _STUCK_RATIO * deviation):
        found["stuck value"] = (
            f"warning: the value is stuck at one sign: {mean:+.3f} on average, with a standard"
            f" deviation of {deviation:.3f}"
        )
    return found


def describe(sums: SelfplayStatistics) -> dict[str, Any]:
    """Returns the metrics of self-play by their names; NaN if no game ended."""
    sums = jax.tree.map(lambda x: np.asarray(x, np.float64), sums)
    means = jax.tree.map(lambda x: float(x / sums.num_devices), sums.predictions)
    with np.errstate(invalid="ignore", divide="ignore"):
        wins, draws, losses = sums.results
        num_opened = sums.results.sum()
        return {
            "selfplay/mean_plies": sums.num_plies / num_opened,
            "selfplay/first_player_score": (wins + draws / 2) / num_opened,
            "selfplay/first_player_wins": wins,
            "selfplay/draws": draws,
            "selfplay/first_player_losses": losses,
            "selfplay/resigned_share": sums.resigned / sums.num_games,
            "selfplay/adjudicated_share": sums.adjudicated / sums.num_games,
            "selfplay/policy_entropy": means.policy_entropy,
            "selfplay/prior_entropy": means.prior_entropy,
            "selfplay/prior_divergence": means.prior_divergence,
            "selfplay/legal_mass": means.legal_mass,
            "selfplay/value_mean": sums.value / sums.num_positions,
            "selfplay/value_deviation": np.sqrt(np.maximum(_value_variance(sums), 0)),
            "selfplay/value_error": (sums.value - sums.outcome) / sums.num_positions,
            "selfplay/value_correlation": _correlation(sums),
        }


def describe_archive(sums: SelfplayStatistics) -> dict[str, Any]:
    """Returns the metrics of an archive of starts; NaN if no game ended or none began there."""
    num_games = np.asarray(sums.num_games, np.float64)
    num_archived = num_games - np.asarray(sums.results).sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "selfplay/archive_share": num_archived / num_games,
            "selfplay/start_regret": np.asarray(sums.start_regret) / num_archived,
        }


def _value_variance(sums: SelfplayStatistics) -> Any:
    return sums.value_squared / sums.num_positions - (sums.value / sums.num_positions) ** 2


def _correlation(sums: SelfplayStatistics) -> Any:
    """Returns the correlation of v and z, NaN if one of them does not vary."""
    n = sums.num_positions
    covariance = sums.product / n - sums.value / n * sums.outcome / n
    value_variance = _value_variance(sums)
    outcome_variance = sums.outcome_squared / n - (sums.outcome / n) ** 2
    # Less than rounding leaves of equal numbers: not a variance.
    is_varied = np.minimum(value_variance, outcome_variance) > 1e-6
    scale = np.sqrt(np.where(is_varied, value_variance * outcome_variance, np.nan))
    return covariance / scale
