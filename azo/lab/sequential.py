"""A sequential test of "A is better than B", which stops at stated error rates.

The generalised sequential probability ratio test (Li, Liu and Ying, 2014, Sequential Analysis
33:539-563) for the mean of a distribution, as fishtest has it (M. Van den Bergh,
hardy.uhasselt.be/Fishtest/support_MLE_multinomial.pdf). The two games of an opening are one
observation, so their dependence does no harm, and the distribution of its points is arbitrary. Elo
is logistic: the expected score is `1 / (1 + 10^(-elo / 400))`.

The test may stop after any observation. Its error rates hold asymptotically; measured ones are
in docs/notebook/decisions.md.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import scipy.optimize
import scipy.special

from azo.lab import elo

_UNSEEN = 1e-3  # count of a score that did not occur, as in fishtest


@dataclasses.dataclass(frozen=True)
class SequentialTest:
    """The state of a test."""

    llr: float  # log-likelihood ratio of H1 to H0
    lower: float  # H0 is accepted at or below it
    upper: float  # H1 is accepted at or above it

    @property
    def verdict(self) -> str:
        """Which hypothesis is accepted: "better", "not better" or "undecided"."""
        if self.llr >= self.upper:
            return "better"
        return "not better" if self.llr <= self.lower else "undecided"


def sequential_test(
    counts: Sequence[int], *, elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05
) -> SequentialTest:
    """Tests H0, A is at most `elo0` above B, against H1, A is at least `elo1` above B.

    `counts` are observations by A's points, fewest first. Five: pairs of games of an opening with
    0, 1/2, 1, 3/2 and 2 points. Three: single games, that is losses, draws and wins. `alpha` is the
    highest rate of "better" at `elo0`, `beta` that of "not better" at `elo1`. Raises ValueError for
    limits out of order.
    """
    if not elo0 < elo1:
        raise ValueError(f"elo0 {elo0:g} is not below elo1 {elo1:g}")
    if not (0 < alpha < 0.5 and 0 < beta < 0.5):
        raise ValueError(f"alpha {alpha:g} and beta {beta:g} must be between 0 and 0.5")
    llr = 0.0
    if any(counts):
        weights = np.maximum(np.asarray(counts, dtype=float), _UNSEEN)
        score0, score1 = (float(scipy.special.expit(limit / elo.PER_E)) for limit in (elo0, elo1))
        ratio = np.log(_weights_with_mean(weights, score1) / _weights_with_mean(weights, score0))
        llr = float(weights @ ratio)
    return SequentialTest(
        llr=llr, lower=math.log(beta / (1 - alpha)), upper=math.log((1 - beta) / alpha)
    )


def _weights_with_mean(weights: np.ndarray, mean: float) -> np.ndarray:
    """Returns the most likely distribution with a mean, given counts of the scores from 0 to 1.

    It is proportional to `weights / (1 + x * (score - mean))`, with `x` chosen for the mean (Owen,
    2001, "Empirical Likelihood").
    """
    offset = np.linspace(0, 1, len(weights)) - mean
    share = weights / weights.sum()
    margin = 1e-12 / (mean * (1 - mean))
    multiplier = scipy.optimize.brentq(
        lambda x: share @ (offset / (1 + x * offset)),
        -1 / (1 - mean) + margin,
        1 / mean - margin,
        xtol=1e-14,
    )
    return share / (1 + multiplier * offset)
