"""The sequential probability ratio test of a match: games are played until they decide.

Two hypotheses on the difference of two players in Elo are compared, `elo0` and `elo1`: the score
per game is `1 / (1 + 10^(-elo / 400))`. After each pair of games from one opening, with both
colours, the log-likelihood ratio (LLR) of `elo1` to `elo0` is compared with Wald's bounds

    log(beta / (1 - alpha)) and log((1 - beta) / alpha).

`alpha` is the probability of accepting `elo1` if `elo0` is true, `beta` that of accepting `elo0` if
`elo1` is true. The bounds are exact for a sum of small steps; steps that overshoot make errors
rarer.

The two games of an opening depend on one another, so a pair is one observation with five results: 0
to 2 points, in halves (the pentanomial model of fishtest and fastchess). Their probabilities are
unknown. Under each hypothesis they are those of the largest likelihood among all with its mean
score, so this is a generalised ratio: M. Van den Bergh, "A practical introduction to the GSPRT",
https://www.cantate.be/Fishtest/GSPRT_approximation.pdf. `scripts/measure_sprt.py` measures how
often it errs.
"""

import dataclasses
import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from azo.matches import elo

POINTS = np.arange(5) / 4  # score per game of the five results of a pair
_PRIOR = 1e-3  # of a pair, in place of a result that never occurred: its probability is not 0

_HALVINGS = 50

Verdict = Literal["elo0", "elo1"]


@dataclasses.dataclass(frozen=True)
class SequentialTest:
    """A test of two differences in Elo, `elo0` < `elo1`, both for the first player.

    Raises:
      ValueError: One line: the differences are not in order or finite, or a chance of an error is
        not between 0 and 0.5.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not (math.isfinite(self.elo0) and math.isfinite(self.elo1) and self.elo0 < self.elo1):
            raise ValueError(
                f"the sequential test compares {self.elo0:g} and {self.elo1:g} Elo, but needs two"
                " differences, the smaller one first, such as 0 10"
            )
        for name, chance in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < chance < 0.5:
                raise ValueError(f"{name} is {chance:g}, but should be between 0 and 0.5")

    @property
    def bounds(self) -> tuple[float, float]:
        """The LLR at which `elo0` is accepted, and at which `elo1` is."""
        return (
            math.log(self.beta / (1 - self.alpha)),
            math.log((1 - self.beta) / self.alpha),
        )

    def llr(self, pair_scores: npt.ArrayLike) -> np.ndarray:
        """Returns the LLR `[...]` of matches.

        Args:
          pair_scores: `[..., 5]`, the numbers of pairs with 0, 1/2, 1, 3/2 and 2 points.
        """
        counts = np.asarray(pair_scores, float)
        num_pairs = counts.sum(axis=-1)
        counts = np.maximum(counts, _PRIOR)
        share = counts / counts.sum(axis=-1, keepdims=True)
        first, second = (_closest(share, expected_score(one)) for one in (self.elo0, self.elo1))
        return num_pairs * (share * np.log(second / first)).sum(axis=-1)

    def verdict(self, pair_scores: npt.ArrayLike) -> Verdict | None:
        """Returns the difference that a match `[5]` accepts, or None while it should go on."""
        low, high = self.bounds
        llr = float(self.llr(pair_scores))
        return "elo0" if llr <= low else "elo1" if llr >= high else None

    def is_decided(self, result: elo.MatchResult) -> bool:
        """Returns whether a match of paired openings has reached a bound."""
        return self.verdict(_pairs(result)) is not None

    def describe(self, result: elo.MatchResult) -> str:
        """Returns verdict, LLR, bounds and pairs of a match as a line."""
        pairs = _pairs(result)
        low, high = self.bounds
        verdict = {"elo0": self.elo0, "elo1": self.elo1, None: None}[self.verdict(pairs)]
        said = "undecided" if verdict is None else f"accepts {verdict:+g} Elo"
        llr = float(self.llr(pairs))
        return (
            f"sequential test of {self.elo0:+g} and {self.elo1:+g} Elo: {said} after"
            f" {result.num_games:,} games, LLR {llr:.2f} (bounds {low:.2f} and {high:.2f});"
            f" pairs with 0, 1/2, 1, 3/2, 2 points: {', '.join(map(str, pairs))}"
        )

    def fields(self, result: elo.MatchResult) -> dict[str, Any]:
        """Returns the same as values for JSON."""
        return {
            **dataclasses.asdict(self),
            "llr": round(float(self.llr(_pairs(result))), 4),
            "bounds": [round(bound, 4) for bound in self.bounds],
            "accepts": self.verdict(_pairs(result)),
        }


def _pairs(result: elo.MatchResult) -> tuple[int, ...]:
    assert result.pair_scores is not None, "the openings of the match were not paired"
    return result.pair_scores


def expected_score(difference: float) -> float:
    """Returns the expected score per game of a player who is better by a difference in Elo."""
    return 1 / (1 + 10 ** (-difference / 400))


def _closest(share: np.ndarray, mean: float) -> np.ndarray:
    """Returns the distributions `[..., 5]` with a mean that make observed shares likeliest.

    By Lagrange's method they are `share / (1 + x * (POINTS - mean))`, with the one `x` that leaves
    all probabilities positive and gives the mean. It is found by halving: the mean falls with `x`.
    """
    distance = POINTS - mean
    low = np.full(share.shape[:-1], -1 / distance.max())  # here a probability would be infinite,
    high = np.full(share.shape[:-1], -1 / distance.min())  # and here
    for _ in range(_HALVINGS):
        x = (low + high) / 2
        is_low = (share * distance / (1 + x[..., None] * distance)).sum(axis=-1) > 0
        low, high = np.where(is_low, x, low), np.where(is_low, high, x)
    return share / (1 + x[..., None] * distance)
