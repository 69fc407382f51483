"""Results of matches, their ratings with confidence intervals.

The model is Bradley and Terry's with draws (Davidson, 1970, JASA 65:317-328). For players whose
ratings differ by `D` points of Elo, the odds of win, draw and loss are `10^(D/800)`, `v` and
`10^(-D/800)`. One `v` for all pairings is estimated too. The odds of a win to a loss are then
`10^(D/400)`, and the likelihood depends only on opponents and points, a draw being half a win. No
side has an advantage, since openings are played with both colours.

**The prior** is one game of each player against one virtual player: a third won, a third drawn, a
third lost. It keeps perfect scores finite and connects players that never met. Its effect is small
if games decide: 60 of 100 are 70.4 Elo without it and 70.6 with it, 19 of 20 are 512 and 504. 20 of
20 are infinite without it, and 863 (368 to 2417) with it.

**Intervals** are 95 % of the profile likelihood, so they may be asymmetric. The model ignores that
the two games of an opening depend on one another. If the points of pairs vary more than it
predicts, the likelihood is divided by that ratio (`dispersion`). If they vary less, intervals are
not narrowed, and are too wide. docs/notebook/decisions.md has their measured coverage.
"""

import dataclasses
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np
import pydantic
import scipy.optimize
import scipy.special
import scipy.stats

from azo.settings import setting_types

PER_E = 400 / math.log(10)  # points of Elo for odds of e
_Five = pydantic.Field(min_length=5, max_length=5)
_Z95 = float(scipy.stats.norm.ppf(0.975))
_RANDOM = "random"
_VIRTUAL = ""  # the name of the virtual player
_PRIOR = (1 / 3, 1 / 3, 1 / 3)  # wins, draws and losses of every player against it
_DIGITS = 12  # of a score that are free of rounding errors


@dataclasses.dataclass(frozen=True)
class MatchResult:
    """Games won, drawn and lost by the first of two players, or by one against all others."""

    wins: setting_types.Count
    draws: setting_types.Count
    losses: setting_types.Count
    pair_scores: Annotated[tuple[setting_types.Count, ...], _Five] | None = None
    """Number of openings whose two games gave the first player 0, 1/2, 1, 3/2 and 2 points. None if
    no openings were paired."""

    def __add__(self, other: "MatchResult") -> "MatchResult":
        """Returns the result of all games of two matches; without the pairs of one, without any."""
        pair_scores = None
        if self.pair_scores is not None and other.pair_scores is not None:
            pair_scores = tuple(map(operator.add, self.pair_scores, other.pair_scores))
        wins, draws, losses = map(operator.add, self.counts, other.counts)
        return MatchResult(wins, draws, losses, pair_scores)

    @property
    def flipped(self) -> "MatchResult":
        """The result as the other player has it."""
        pair_scores = self.pair_scores and self.pair_scores[::-1]
        return MatchResult(self.losses, self.draws, self.wins, pair_scores)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Games won, drawn and lost."""
        return self.wins, self.draws, self.losses

    @property
    def num_games(self) -> int:
        """All games."""
        return sum(self.counts)

    @property
    def points(self) -> float:
        """Points: 1 for a win, 1/2 for a draw."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        """Points per game."""
        return self.points / self.num_games

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % Wilson interval of the score (Wilson, 1927, JASA 22:209-212).

        A draw counts as half a win and half a loss, so many draws make the interval a little too
        wide. All games count as independent. The two games of an opening are not quite, and equal
        openings between deterministic players repeat a game. So the interval is too narrow if there
        are more games than distinct openings.
        """
        n, p = self.num_games, self.score
        centre = p + _Z95**2 / (2 * n)
        spread = _Z95 * math.sqrt(p * (1 - p) / n + _Z95**2 / (4 * n**2))
        scale = 1 + _Z95**2 / n
        return max((centre - spread) / scale, 0.0), min((centre + spread) / scale, 1.0)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.wins}/{self.draws}/{self.losses} "
            f"(score {self.score:.3f}, 95 % {low:.2f} to {high:.2f})"
        )


class Pairing(NamedTuple):
    """A match of two players, or a part of it."""

    first: str
    second: str
    result: MatchResult


def cross_table(pairings: Iterable[Pairing]) -> dict[tuple[str, str], MatchResult]:
    """Returns the result of each player (first of the key) against each it met."""
    table: dict[tuple[str, str], MatchResult] = {}
    for first, second, result in pairings:
        for pair, seen in (((first, second), result), ((second, first), result.flipped)):
            table[pair] = table[pair] + seen if pair in table else seen
    return table


@dataclasses.dataclass(frozen=True)
class Standing:
    """One player of a table. Ratings in Elo, intervals 95 %."""

    name: str
    result: MatchResult  # of all games
    rating: float  # the anchor is 0, or else the mean of all players; or on a fixed scale
    interval: tuple[float, float]  # of the difference to the anchor, or to the fixed scale


@dataclasses.dataclass(frozen=True)
class Ratings:
    """The ratings of all players."""

    standings: tuple[Standing, ...]  # highest rating first
    anchor: str | None  # the player rated 0; None: the mean of all players is 0, or a fixed scale
    draw_share: float  # of games between equal players
    dispersion: float | None
    """Variance of the points of paired openings, as a multiple of that of independent games. None
    without pairs. Values above 1 widen intervals by the square root."""


def rate(
    pairings: Sequence[Pairing],
    *,
    players: Sequence[str] = (),
    anchor: str | None = None,
    known: Mapping[str, float] | None = None,
) -> Ratings:
    """Returns the ratings of all players of a cross-table.

    A pair of players may occur several times and in either order; `players` adds names without
    games. The `anchor` is rated 0: by default `random` if it takes part, or else the mean of all.
    In place of an anchor, `known` has ratings in Elo that stay; the others are on their scale.
    Raises ValueError without players, or if the anchor is not one of them.
    """
    names = list(dict.fromkeys([*players, *(name for pair in pairings for name in pair[:2])]))
    if not names:
        raise ValueError("no players to rate")
    if anchor is None and known is None and _RANDOM in names:
        anchor = _RANDOM
    if anchor is not None and anchor not in names:
        raise ValueError(f"anchor is {anchor!r}, but should be a player: {', '.join(names)}")
    known = (known or {}) if anchor is None else {anchor: 0.0}
    # Fixed ratings; without any, that of the virtual player, until the mean of all is subtracted.
    level = {name: known[name] / PER_E for name in names if name in known} or {_VIRTUAL: 0.0}
    free = [name for name in (*names, _VIRTUAL) if name not in level]
    unit = {name: np.zeros(len(free) + 1) for name in level}
    unit |= dict(zip(free, np.eye(len(free) + 1), strict=False))
    games: list[tuple[str, str, tuple[float, float, float]]] = [
        *((one, other, result.counts) for one, other, result in pairings),
        *((name, _VIRTUAL, _PRIOR) for name in names),
    ]
    half = np.array([unit[one] - unit[other] for one, other, _ in games]) / 2
    offset = np.array([level.get(one, 0.0) - level.get(other, 0.0) for one, other, _ in games]) / 2
    draw = np.broadcast_to(np.eye(len(free) + 1)[-1], half.shape)
    model = _Model(
        design=np.stack([half, draw, -half]),
        offset=np.stack([offset, 0 * offset, -offset]),
        results=np.array([counts for *_, counts in games], dtype=float).T,
    )
    best = scipy.optimize.minimize(
        _loss,
        np.zeros(len(free) + 1),
        args=(model,),
        jac=True,
        hess=_curvature,
        method="trust-exact",
        options={"gtol": 1e-8},
    ).x  # the only maximum, since the likelihood is concave
    dispersion = _dispersion(pairings, model, best)
    drop = _Z95**2 / 2 * max(1.0, dispersion or 0.0)

    mean = np.mean([unit[name] for name in names], axis=0) if _VIRTUAL in level else 0.0
    table = cross_table(pairings)
    standings = []
    for name in names:
        own = [result for (one, _), result in table.items() if one == name]
        shift = PER_E * level.get(name, 0.0)
        rating, *interval = (shift + _interval(model, best, unit[name] - mean, drop)).tolist()
        standings.append(Standing(name, sum(own, MatchResult(0, 0, 0)), rating, tuple(interval)))
    standings.sort(key=lambda standing: -standing.rating)
    return Ratings(
        standings=tuple(standings),
        anchor=anchor,
        draw_share=float(1 / (1 + 2 * math.exp(-best[-1]))),
        dispersion=dispersion,
    )


def from_score(score: float) -> float:
    """Returns the difference in Elo that a score per game implies; infinite for 0 and 1."""
    return PER_E * float(scipy.special.logit(round(score, _DIGITS)))


class _Model(NamedTuple):
    """Davidson's likelihood of a table with `P` rows of results, the last of them the prior.

    Parameters are ratings in units of `PER_E` and, last, the logarithm of `v`. The logits of win,
    draw and loss are `design @ parameters + offset`; the offset has known ratings.
    """

    design: np.ndarray  # [3, P, parameters]
    offset: np.ndarray  # [3, P]
    results: np.ndarray  # [3, P] wins, draws, losses of the first; fractions for the prior


def _log_probabilities(parameters: np.ndarray, model: _Model) -> np.ndarray:
    """Returns `[3, P]` of win, draw and loss."""
    logits = model.design @ parameters + model.offset
    return logits - np.logaddexp.reduce(logits, axis=0)


def _loss(parameters: np.ndarray, model: _Model) -> tuple[float, np.ndarray]:
    """Returns the negative logarithm of the likelihood, and its gradient."""
    log_probability = _log_probabilities(parameters, model)
    residual = model.results.sum(axis=0) * np.exp(log_probability) - model.results
    return -float((model.results * log_probability).sum()), np.tensordot(residual, model.design)


def _curvature(parameters: np.ndarray, model: _Model) -> np.ndarray:
    """Returns the second derivatives of the loss: the information."""
    probability = np.exp(_log_probabilities(parameters, model))[..., None]
    centred = model.design - (probability * model.design).sum(axis=0)
    weighted = model.results.sum(axis=0)[:, None] * probability * centred
    return np.tensordot(weighted, centred, axes=([0, 1], [0, 1]))


def _interval(model: _Model, best: np.ndarray, direction: np.ndarray, drop: float) -> np.ndarray:
    """Returns a contrast of ratings in Elo, and the ends of its profile-likelihood interval.

    Its ends are the extremes of the contrast where the log-likelihood is `drop` below `best`'s.
    There the gradient is a multiple of the contrast (Venzon and Moolgavkar, 1988, Applied
    Statistics 37:87-94).
    """
    if not direction.any():  # a fixed rating, or a single player
        return np.zeros(3)
    limit = _loss(best, model)[0] + drop
    tangent = np.linalg.solve(_curvature(best, model), direction)
    step = math.sqrt(2 * drop / (direction @ tangent))  # for a normal distribution

    def equations(x: np.ndarray) -> np.ndarray:
        loss, gradient = _loss(x[:-1], model)
        return np.append(gradient - x[-1] * direction, loss - limit)

    def derivatives(x: np.ndarray) -> np.ndarray:
        _, gradient = _loss(x[:-1], model)
        above = [_curvature(x[:-1], model), -direction[:, None]]
        return np.block([above, [gradient, np.zeros(1)]])

    points = [best]
    for side in (-step, step):
        start = np.append(best + side * tangent, side)
        points.append(scipy.optimize.root(equations, start, jac=derivatives).x[:-1])
    return PER_E * np.array(points) @ direction


def _dispersion(pairings: Sequence[Pairing], model: _Model, parameters: np.ndarray) -> float | None:
    """Returns Pearson's dispersion of the points of pairs of games, None without pairs."""
    counts = np.array([p.result.pair_scores or (0,) * 5 for p in pairings]).reshape(-1, 5)
    if not counts.any():
        return None
    win, draw, loss = np.exp(_log_probabilities(parameters, model)[:, : len(pairings)])
    mean, variance = (1 + win - loss) / 2, (draw * (win + loss) + 4 * win * loss) / 4  # of a game
    squares = (np.arange(5) / 2 - 2 * mean[:, None]) ** 2
    return float((counts * squares).sum() / (counts.sum(axis=1) @ (2 * variance)))
