"""Accuracy of a network against known scores: its values, its moves, and its calibration.

Scores are those of `position_sets`: exact, or the estimates of an engine. A value is the expected
result in [-1, 1] for the side to move, of only the network or of a search with it. Values are
calibrated if positions with a value near v have the mean result v. The calibration error is the
mean over positions of |mean value - mean result| in the bin of the position's value: the expected
calibration error (Guo et al., 2017, arXiv:1706.04599), here from 0 to 2.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import flax.struct
import jax
import numpy as np
import scipy.stats

from azo.games import othello, plurals
from azo.learning import supervised
from azo.matches import elo, position_sets, tables
from azo.opponents import players
from azo.process import code_identity
from azo.search import improvement

_MEASURES = {  # columns of the table, with fields of `Accuracy` and their digits
    "value error": ("value_error", 3),
    "sign": ("right_sign", 3),
    "best move": ("best_move", 3),
    "discs lost": ("discs_lost", 2),
    "disc error": ("disc_error", 2),
    "rank": ("rank_correlation", 3),
}
COLUMNS = ("set", "number", "player", *_MEASURES, "calibration")

_BATCH = 256  # positions searched at once, so that memory does not grow with the set
_NUM_BINS = 10
_MIN_CORRELATED = 4  # positions, for an interval


@flax.struct.dataclass
class Assessment:
    """The values and moves of a network, or of a search with it, for `M` positions."""

    value: jax.Array | np.ndarray  # [M] float32 in [-1, 1], for the side to move
    action: jax.Array | np.ndarray  # [M] int32, the chosen move
    # [M] float32, expected final score in discs: by the network, or by an engine's search; NaN
    # where the engine gave none for a forced move
    score: jax.Array | np.ndarray | None


class Assessor(NamedTuple):
    """A player in a table of accuracies."""

    name: str
    assess: Callable[[othello.Position], Assessment]  # of `M` positions


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean of numbers, which count as independent."""

    mean: float
    interval: tuple[float, float] | None  # 95 %; None for the mean of fewer than two numbers
    count: int


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """Accuracy of an assessment; None where no position has the score that it needs."""

    value_error: Estimate | None  # |value - result|, 0 to 2
    right_sign: Estimate | None  # share of values with the result's sign, where it is not a draw
    best_move: Estimate | None  # share of best moves, in positions with a stored one and a choice
    discs_lost: Estimate | None  # by the moves, where all moves have scores, and two are legal
    disc_error: Estimate | None  # |expected score - utility| in discs
    rank_correlation: Estimate | None  # Spearman's, of value and utility
    calibration_error: float


def compare(
    game: othello.Othello,
    assessors: Sequence[Assessor],
    sources: Sequence[str],
    *,
    limit: int,
    solve_empties: int,
    seed: int,
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Yields a Markdown table of accuracies.

    The sets are those of `position_sets.read`. Each line comes with an object for JSON if it is a
    row of results.

    Raises:
      ValueError: One line, before anything is yielded: a set is not usable.
    """
    drawn = list(position_sets.read(game, sources, limit, solve_empties, seed))
    yield from ((line, None) for line in tables.table(COLUMNS, []))
    for name, positions in drawn:
        for who, assess in assessors:
            assessment = assess(positions.position)
            measured = measure(game, positions, assessment)
            data: dict[str, Any] = {"set": name, "player": who, "positions": len(positions)}
            line = row(name, who, len(positions), measured)
            yield line, data | dataclasses.asdict(measured)


def assessors(
    game: othello.Othello,
    player: players.NetworkPlayer,
    key: jax.Array,
    simulations: Sequence[int] = (),
) -> list[Assessor]:
    """Returns a network without search, and with numbers of simulations per move.

    By default it has no search, and then that of the player.
    """
    chosen = [player]
    if player.search_config is not None:
        chosen = [players.with_simulations(player, n) for n in simulations]
        chosen = chosen or [players.with_simulations(player, 0), player]
    return [Assessor(name_of(one), functools.partial(assess, game, one, key)) for one in chosen]


def assess(
    game: othello.Othello,
    player: players.NetworkPlayer,
    key: jax.Array,
    position: othello.Position,
) -> Assessment:
    """Returns the assessment of positions `[M]` by a network with a search, or without one."""
    size = min(_BATCH, len(position.player.lower))
    keys = map(functools.partial(jax.random.fold_in, key), itertools.count(step=size))
    return supervised.in_batches(
        lambda batch: _assess_batch(game, player, next(keys), batch), position, size
    )


def name_of(player: players.NetworkPlayer) -> str:
    """Returns the name of a player in tables: `raw`, or its number of simulations."""
    if player.search_config is None:
        return "raw"
    number = player.search_config.num_simulations
    return plurals.counted(number, "simulation")


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
    error = None
    if assessment.score is not None:
        error = np.abs(np.asarray(assessment.score) - utility)
        error = error[~np.isnan(error)]
    lost = positions.move_utility.max(axis=1) - positions.move_utility[rows, action]
    return Accuracy(
        value_error=estimate(np.abs(value - result)),
        right_sign=estimate(np.sign(value[is_decided]) == result[is_decided]),
        best_move=estimate(is_best[rows, action][is_best.any(axis=1)]),
        discs_lost=estimate(lost[has_choice]),
        disc_error=None if error is None else estimate(error),
        rank_correlation=rank_correlation(value, utility),
        calibration_error=calibration_error(value, result),
    )


def calibration_error(value: np.ndarray, result: np.ndarray, num_bins: int = _NUM_BINS) -> float:
    """Returns the error of values `[M]` in [-1, 1] in equally wide bins; results are -1, 0 or 1."""
    place = np.digitize(value, np.linspace(-1.0, 1.0, num_bins + 1)[1:-1])
    gaps = np.bincount(place, value - result)  # sums, whose means weigh as many positions
    return float(np.abs(gaps).sum() / len(value))


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
    """Returns a line of the Markdown table of `COLUMNS`."""
    measures = [
        _text(getattr(accuracy, field), digits, count) for field, digits in _MEASURES.values()
    ]
    error = f"{accuracy.calibration_error:.3f}"
    return tables.row([name, f"{count:,}", player, *measures, error])


def _text(measured: Estimate | None, digits: int, num_positions: int) -> str:
    """Returns a mean, its interval and its positions if these are not all; - for None."""
    if measured is None:
        return "-"
    parts = [f"{measured.mean:.{digits}f}"]
    if measured.interval is not None:
        low, high = measured.interval
        parts.append(f"{low:.{digits}f} to {high:.{digits}f}")
    return ", ".join(parts) + f", of {measured.count:,}" * (measured.count < num_positions)


def estimate(numbers: np.ndarray) -> Estimate | None:
    """Returns the mean, None without numbers; the interval of a share (bool) is Wilson's.

    Other intervals are by Student's t.
    """
    count, interval = len(numbers), None
    if not count:
        return None
    mean = float(numbers.mean())
    if numbers.dtype == bool:
        num_true = int(numbers.sum())
        interval = elo.MatchResult(num_true, 0, count - num_true).interval()
    elif count > 1:
        error = float(scipy.stats.t.ppf(0.975, count - 1) * numbers.std(ddof=1) / count**0.5)
        interval = mean - error, mean + error
    return Estimate(mean, interval, count)


@code_identity.jit(static_argnames=("game",))
def _assess_batch(
    game: othello.Othello,
    player: players.NetworkPlayer,
    key: jax.Array,
    position: othello.Position,
) -> Assessment:
    evaluate, search = player.evaluate, player.search_config
    if search is None:
        evaluation = evaluate(key, position)
        assert evaluation.score is not None
        score = evaluation.score * int(game.scores[-1])
        return Assessment(evaluation.value, player(key, position), score)
    result = improvement.search(game, evaluate, key, position, config=search, is_greedy=True)
    return Assessment(result.value, result.action, None)
