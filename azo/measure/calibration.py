"""How well a network fits what engines or solvers say of positions.

A label is a score, exact or an engine's estimate; as in `exact`, the utility is that score with the
sign turned in reversed Othello, and the result is its sign. Values are those of a network by itself
or of a search: the expected result in [-1, 1] for the side to move.

A value is calibrated if positions with a value near v have the mean result v. The calibration error
is the mean over positions of |mean value - mean result| of the bin that the position's value is in:
the expected calibration error (Guo et al., 2017, arXiv:1706.04599), from 0 to 2 as values are
between -1 and 1.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.stats

from azo.formats import obf
from azo.games import notation, othello
from azo.measure import arena, exact, exact_sets

HEADING = (
    "| positions from | number | player | rank correlation | linear correlation | right sign |"
    " best move | calibration error |"
)
RULE = "|" + " --- |" * 8
MAX_CURVES = 5  # beside the one of perfect values; a picture has no more colours

_NUM_BINS = 10
_MIN_CORRELATED = 4  # positions, for an interval


@dataclasses.dataclass(frozen=True)
class Labels:
    """What a file says of `M` positions in which the game goes on."""

    known: exact.ExactSet  # [M]; the scores need not be exact
    is_best: np.ndarray  # [M, A] bool; all false where no best move is told, or there is no choice

    def __len__(self) -> int:
        return len(self.known)


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
    """What values turned out to be worth."""

    bins: tuple[Bin, ...]  # ascending, from -1 to 1
    error: float


@dataclasses.dataclass(frozen=True)
class Fit:
    """How well an opinion fits the labels; None where there is nothing to judge."""

    rank_correlation: exact.Estimate | None  # Spearman's, of value and utility
    linear_correlation: exact.Estimate | None  # Pearson's
    right_sign: exact.Estimate | None  # share of values with the score's sign, where it is not 0
    best_move: exact.Estimate | None  # share of best moves, where one is told
    calibration: Calibration


def of_problems(game: othello.Othello, problems: Sequence[obf.Problem]) -> Labels:
    """Returns the labels of a file's positions, finished games left out.

    The best moves are those of the highest utility where the scores of all moves are told, else
    the one that is named: others that are as good then count as wrong.

    Args:
      game: the rules, of the size of all boards.
      problems: positions that have a score, at least one.

    Raises:
      ValueError: if a move is illegal, or all games are over; the number of the line comes first.
    """
    positions = [notation.position_of(problem.board) for problem in problems]
    # One by one, as `exact_sets` leaves finished games out too, but does not say which.
    going_on = [
        (problem, notation.legal_actions(game, position))
        for problem, position in zip(problems, positions, strict=True)
        if not notation.is_over(game, position)
    ]
    if not going_on:
        raise ValueError(f"{problems[0].line}: the game is over, as in all positions with a score")
    known = exact_sets.of_problems(game, [problem for problem, _ in going_on], max_solved=0)
    utility = known.move_utility
    is_best = (utility == utility.max(axis=1, keepdims=True)) & (utility != exact.NO_UTILITY)
    for row, (problem, legal) in enumerate(going_on):
        move = problem.best_move
        if move is not None and move not in legal:
            text = notation.action_text(move, game.size)
            raise ValueError(f"{problem.line}: {text} is illegal")
        if len(legal) == 1:
            is_best[row] = False
        elif move is not None:
            is_best[row, move] = True
    return Labels(known, is_best)


def judge(labels: Labels, opinion: exact.Opinion) -> Fit:
    """Returns how well an opinion on the positions fits their labels."""
    value = np.asarray(opinion.value, np.float64)
    utility = labels.known.utility
    is_decided = utility != 0
    is_told = labels.is_best.any(axis=1)
    is_found = labels.is_best[np.arange(len(labels)), np.asarray(opinion.action)]
    return Fit(
        rank_correlation=rank_correlation(value, utility),
        linear_correlation=linear_correlation(value, utility),
        right_sign=exact.share(np.sign(value[is_decided]) == np.sign(utility[is_decided])),
        best_move=exact.share(is_found[is_told]),
        calibration=calibrate(value, np.sign(utility)),
    )


def calibrate(value: np.ndarray, result: np.ndarray, num_bins: int = _NUM_BINS) -> Calibration:
    """Returns the mean results of bins of values, equally wide.

    Args:
      value: `[M]` in [-1, 1].
      result: `[M]` in {-1, 0, 1}.
      num_bins: how many; one without values stays, with a count of 0.
    """
    edges = np.linspace(-1.0, 1.0, num_bins + 1)
    place = np.clip(np.digitize(value, edges) - 1, 0, num_bins - 1)
    bins = [
        _bin(float(low), float(high), value[place == index], result[place == index])
        for index, (low, high) in enumerate(itertools.pairwise(edges))
    ]
    gaps = [found.count * abs(found.value - found.result) for found in bins if found.count]
    return Calibration(tuple(bins), float(sum(gaps)) / len(value))


def linear_correlation(x: np.ndarray, y: np.ndarray) -> exact.Estimate | None:
    """Returns Pearson's correlation with Fisher's interval; None if it is undefined."""
    if not _has_correlation(x, y):
        return None
    found = scipy.stats.pearsonr(x, y)
    interval = found.confidence_interval(0.95)
    return exact.Estimate(
        float(found.statistic), (float(interval.low), float(interval.high)), len(x)
    )


def rank_correlation(x: np.ndarray, y: np.ndarray) -> exact.Estimate | None:
    """Returns Spearman's correlation, None if it is undefined.

    The interval is by Fisher's transform with the variance (1 + r^2 / 2) / (M - 3) of Bonett and
    Wright (2000, Psychometrika 65:23-28).
    """
    if not _has_correlation(x, y):
        return None
    r = float(np.clip(scipy.stats.spearmanr(x, y).statistic, -1.0, 1.0))
    spread = scipy.stats.norm.ppf(0.975) * np.sqrt((1 + r**2 / 2) / (len(x) - 3))
    with np.errstate(divide="ignore"):  # of a perfect correlation
        low, high = np.tanh(np.arctanh(r) + np.array([-spread, spread]))
    return exact.Estimate(r, (float(low), float(high)), len(x))


def row(name: str, player: str, count: int, fit: Fit) -> str:
    """Returns a line of the Markdown table under `HEADING` and `RULE`."""
    cells = [
        name,
        f"{count:,}",
        player,
        exact.text(fit.rank_correlation, 3),
        exact.text(fit.linear_correlation, 3),
        exact.text(fit.right_sign, 3, has_count=True),
        exact.text(fit.best_move, 3, has_count=True),
        f"{fit.calibration.error:.3f}",
    ]
    return f"| {' | '.join(cells)} |"


def bin_table(name: str, fits: Mapping[str, Fit]) -> list[str]:
    """Returns a Markdown table of the mean results of one set, a column for each player."""
    rows = zip(*(fit.calibration.bins for fit in fits.values()), strict=True)
    return [
        f"| {name}: value | {' | '.join(f'result, {player}' for player in fits)} |",
        "|" + " --- |" * (1 + len(fits)),
        *(
            f"| {bins[0].low:+.1f} to {bins[0].high:+.1f} | {' | '.join(map(_bin_text, bins))} |"
            for bins in rows
        ),
    ]


def _bin(low: float, high: float, value: np.ndarray, result: np.ndarray) -> Bin:
    count = len(value)
    if not count:
        return Bin(low, high, np.nan, np.nan, (np.nan, np.nan), 0)
    wins, draws, losses = (int((result == points).sum()) for points in (1, 0, -1))
    shares = arena.MatchResult(wins, draws, losses).interval()
    interval = 2 * shares[0] - 1, 2 * shares[1] - 1
    return Bin(low, high, float(value.mean()), float(result.mean()), interval, count)


def _bin_text(found: Bin) -> str:
    if not found.count:
        return "-"
    low, high = found.interval
    return f"{found.result:+.2f}, {low:+.2f} to {high:+.2f}, of {found.count:,}"


def _has_correlation(x: np.ndarray, y: np.ndarray) -> bool:
    return len(x) >= _MIN_CORRELATED and np.ptp(x) > 0 and np.ptp(y) > 0
