"""Accuracy of a network against known scores: its values, its moves, and its calibration.

Scores are those of `position_sets`: exact, or the estimates of an engine. A value is the expected
result in [-1, 1] for the side to move, of the network alone or of a search with it. Values are
calibrated if positions with a value near v have the mean result v. The calibration error is the
mean over positions of |mean value - mean result| in the bin of the position's value: the expected
calibration error (Guo et al., 2017, arXiv:1706.04599), here from 0 to 2.
"""

import dataclasses
import functools
import itertools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

from azo.games import othello
from azo.learning import heads, network
from azo.measure import arena, players, position_sets
from azo.search import improvement

HEADING = (
    "| positions from | number | player | value error | right sign | best move | discs lost |"
    " disc error | rank correlation | calibration error |"
)
RULE = "|" + " --- |" * 10
MAX_CURVES = 5  # players in a figure, beside the line of perfect values; limited by the colours

_BATCH = 256  # positions searched at once, so that memory does not grow with the set
_NUM_BINS = 10
_MIN_CORRELATED = 4  # positions, for an interval

Player = players.NetworkPlayer | players.PolicyPlayer


@flax.struct.dataclass
class Assessment:
    """The values and moves of a network, or of a search with it, for `M` positions."""

    value: jax.Array  # [M] float32 in [-1, 1], for the side to move
    action: jax.Array  # [M] int32, the chosen move
    score: jax.Array | None  # [M] float32, expected final score in discs, of the network alone


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean of numbers, which count as independent."""

    mean: float
    interval: tuple[float, float] | None  # 95 %; None for the mean of fewer than two numbers
    count: int


@dataclasses.dataclass(frozen=True)
class Bin:
    """Positions with similar values."""

    low: float
    high: float
    value: float  # mean of the values, NaN of none
    result: float  # mean of the results in [-1, 1], NaN of none
    interval: tuple[float, float]  # of the result: 95 % by Wilson, a draw being half a win
    count: int


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Mean results of positions by their values."""

    bins: tuple[Bin, ...]  # ascending, from -1 to 1
    error: float


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """Accuracy of an assessment; None where no position has the score that it needs."""

    value_error: Estimate | None  # |value - result|, 0 to 2
    right_sign: Estimate | None  # share of values with the result's sign, where it is not a draw
    best_move: Estimate | None  # share of best moves, in positions with a stored one and a choice
    discs_lost: Estimate | None  # by the moves, where all moves have scores, and two are legal
    disc_error: Estimate | None  # |expected score - utility| in discs
    rank_correlation: Estimate | None  # Spearman's, of value and utility
    calibration: Calibration


def assess(
    game: othello.Othello, player: Player, key: jax.Array, position: othello.Position
) -> Assessment:
    """Returns the assessment of positions `[M]` by a network with a search, or without one.

    The last position fills up the last batch.
    """
    count = position.player.lower.shape[0]
    size = min(_BATCH, count)
    parts = []
    for start in range(0, count, size):
        rows = np.minimum(np.arange(start, start + size), count - 1)
        batch = jax.tree.map(lambda words, rows=rows: words[rows], position)
        batch_key = jax.random.fold_in(key, start)
        parts.append(jax.device_get(_assess_batch(game, player, batch_key, batch)))
    return jax.tree.map(lambda *arrays: np.concatenate(arrays)[:count], *parts)


def of_prediction(
    game: othello.Othello, position: othello.Position, prediction: heads.Prediction
) -> Assessment:
    """Returns the network's own values and its likeliest legal moves; jittable."""
    logits = jnp.where(game.legal_mask(position), prediction.prior_logits, -jnp.inf)
    score = prediction.score * int(game.scores[-1])
    return Assessment(prediction.value, jnp.argmax(logits, axis=-1).astype(jnp.int32), score)


def name_of(player: Player) -> str:
    """Returns the name of a player in tables: `raw`, or its number of simulations."""
    if isinstance(player, players.PolicyPlayer):
        return "raw"
    number = player.search_config.num_simulations
    return f"{number} simulation{'s' * (number > 1)}"


def measure(
    game: othello.Othello, positions: position_sets.PositionSet, assessment: Assessment
) -> Accuracy:
    """Returns the accuracy of an assessment of the positions."""
    value, action = np.asarray(assessment.value, np.float64), np.asarray(assessment.action)
    rows = np.arange(len(positions))
    utility, result = positions.utility, np.sign(positions.utility)
    is_decided = result != 0
    is_best = positions.is_best
    has_choice = (positions.move_utility != position_sets.NO_UTILITY).sum(axis=1) > 1
    score = assessment.score
    lost = positions.move_utility.max(axis=1) - positions.move_utility[rows, action]
    return Accuracy(
        value_error=mean(np.abs(value - result)),
        right_sign=share(np.sign(value[is_decided]) == result[is_decided]),
        best_move=share(is_best[rows, action][is_best.any(axis=1)]),
        discs_lost=mean(lost[has_choice]),
        disc_error=None if score is None else mean(np.abs(np.asarray(score) - utility)),
        rank_correlation=rank_correlation(value, utility),
        calibration=calibrate(value, result),
    )


def calibrate(value: np.ndarray, result: np.ndarray, num_bins: int = _NUM_BINS) -> Calibration:
    """Returns the mean results in equally wide bins of values.

    Args:
      value: `[M]` in [-1, 1].
      result: `[M]` in {-1, 0, 1}.
      num_bins: the number of bins; those without values have a count of 0.
    """
    edges = np.linspace(-1.0, 1.0, num_bins + 1)
    place = np.clip(np.digitize(value, edges) - 1, 0, num_bins - 1)
    bins = [
        _bin(float(low), float(high), value[place == index], result[place == index])
        for index, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    gaps = [one.count * abs(one.value - one.result) for one in bins if one.count]
    return Calibration(tuple(bins), float(sum(gaps)) / len(value))


def rank_correlation(x: np.ndarray, y: np.ndarray) -> Estimate | None:
    """Returns Spearman's correlation, None if it is undefined.

    The interval is by Fisher's transform with the variance (1 + r^2 / 2) / (M - 3) of Bonett and
    Wright (2000, Psychometrika 65:23-28).
    """
    if len(x) < _MIN_CORRELATED or not np.ptp(x) or not np.ptp(y):
        return None
    r = float(np.clip(scipy.stats.spearmanr(x, y).statistic, -1.0, 1.0))
    spread = scipy.stats.norm.ppf(0.975) * np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    with np.errstate(divide="ignore"):  # of a perfect correlation
        low, high = np.tanh(np.arctanh(r) + np.array([-spread, spread]))
    return Estimate(r, (float(low), float(high)), len(x))


def row(name: str, player: str, count: int, accuracy: Accuracy) -> str:
    """Returns a line of the Markdown table under `HEADING` and `RULE`."""
    cells = [
        name,
        f"{count:,}",
        player,
        text(accuracy.value_error, 3),
        text(accuracy.right_sign, 3, has_count=True),
        text(accuracy.best_move, 3, has_count=True),
        text(accuracy.discs_lost, 2),
        text(accuracy.disc_error, 2),
        text(accuracy.rank_correlation, 3),
        f"{accuracy.calibration.error:.3f}",
    ]
    return f"| {' | '.join(cells)} |"


def text(estimate: Estimate | None, digits: int, *, has_count: bool = False) -> str:
    """Returns a mean, its interval and with `has_count` the number of positions; - for None."""
    if estimate is None:
        return "-"
    parts = [f"{estimate.mean:.{digits}f}"]
    if estimate.interval is not None:
        low, high = estimate.interval
        parts.append(f"{low:.{digits}f} to {high:.{digits}f}")
    return ", ".join(parts) + (f", of {estimate.count:,}" if has_count else "")


def share(is_so: np.ndarray) -> Estimate | None:
    """Returns the share of true entries with its Wilson interval; None without entries."""
    if len(is_so) == 0:
        return None
    interval = scipy.stats.binomtest(int(is_so.sum()), len(is_so)).proportion_ci(method="wilson")
    return Estimate(float(is_so.mean()), (float(interval.low), float(interval.high)), len(is_so))


def mean(numbers: np.ndarray) -> Estimate | None:
    """Returns the mean with its interval by Student's t; None without numbers."""
    count = len(numbers)
    if count == 0:
        return None
    mean, interval = float(numbers.mean()), None
    if count > 1:
        error = float(scipy.stats.t.ppf(0.975, count - 1) * numbers.std(ddof=1) / count**0.5)
        interval = mean - error, mean + error
    return Estimate(mean, interval, count)


def _bin(low: float, high: float, value: np.ndarray, result: np.ndarray) -> Bin:
    count = len(value)
    if not count:
        return Bin(low, high, np.nan, np.nan, (np.nan, np.nan), 0)
    wins, draws, losses = (int((result == points).sum()) for points in (1, 0, -1))
    shares = arena.MatchResult(wins, draws, losses).interval()
    interval = 2 * shares[0] - 1, 2 * shares[1] - 1
    return Bin(low, high, float(value.mean()), float(result.mean()), interval, count)


@functools.partial(jax.jit, static_argnames="game")
def _assess_batch(
    game: othello.Othello, player: Player, key: jax.Array, position: othello.Position
) -> Assessment:
    config, variables = player.network_config, player.variables
    if isinstance(player, players.PolicyPlayer):
        net, folded = network.fold(network.build(game, config), variables)
        planes = network.planes_of(game, config, position)
        prediction = net.apply(folded, planes, method="predict")
        assert isinstance(prediction, heads.Prediction)
        return of_prediction(game, position, prediction)
    search = player.search_config
    evaluate = network.folded_evaluator(game, config, variables, symmetry=search.symmetry)
    result = improvement.search(game, evaluate, key, position, config=search, is_greedy=True)
    return Assessment(result.value, result.action, None)
