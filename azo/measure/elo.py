"""Ratings from a cross-table, with confidence intervals.

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
not narrowed, and are too wide. docs/design.md has their measured coverage.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse.csgraph
import scipy.stats

PRIOR_RESULTS = 1 / 3
"""Wins, draws and losses (as many of each) of every player against one virtual player."""

PER_E = 400 / math.log(10)  # points of Elo for odds of e
_Z95 = float(scipy.stats.norm.ppf(0.975))
_RANDOM = "random"
_ROUNDING = 1e-12  # of a score


@dataclasses.dataclass(frozen=True)
class Pairing:
    """Results of games between two players, for the first."""

    first: str
    second: str
    wins: int
    draws: int
    losses: int
    pair_scores: tuple[int, ...] | None = None
    """Number of openings, played with both colours, that gave the first 0, 1/2, 1, 3/2 and 2
    points. Their games are among those counted above. None if no openings were paired."""

    def __post_init__(self):
        counts = (self.wins, self.draws, self.losses, *(self.pair_scores or ()))
        if self.first == self.second:
            raise ValueError(f"{self.first} cannot play against itself")
        if min(counts) < 0:
            raise ValueError(f"{self.first} - {self.second}: negative count in {counts}")
        if 2 * sum(self.pair_scores or ()) > self.num_games:
            raise ValueError(
                f"{self.first} - {self.second}: {sum(self.pair_scores or ())} pairs of games, "
                f"but only {self.num_games} games"
            )

    @property
    def num_games(self) -> int:
        """All games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Points of the first: 1 for a win, 1/2 for a draw."""
        return self.wins + self.draws / 2


def cross_table(pairings: Sequence[Pairing]) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Returns wins, draws and losses of each player (first of the key) against each it met."""
    table: dict[tuple[str, str], tuple[int, int, int]] = {}
    for p in pairings:
        for pair, (wins, draws, losses) in (
            ((p.first, p.second), (p.wins, p.draws, p.losses)),
            ((p.second, p.first), (p.losses, p.draws, p.wins)),
        ):
            before = table.get(pair, (0, 0, 0))
            table[pair] = (before[0] + wins, before[1] + draws, before[2] + losses)
    return table


@dataclasses.dataclass(frozen=True)
class Standing:
    """One player of a table. Ratings in Elo, intervals 95 %."""

    name: str
    num_games: int
    points: float
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
    warnings: tuple[str, ...]  # differences that only the prior determines


def rate(
    pairings: Sequence[Pairing],
    *,
    players: Sequence[str] = (),
    anchor: str | None = None,
    known: Mapping[str, float] | None = None,
) -> Ratings:
    """Returns the ratings of all players of a cross-table.

    Args:
      pairings: games played; a pair of players may occur several times and in either order.
      players: more names, of players that may have no games.
      anchor: the player rated 0. None: `random` if it takes part, or else the mean of all.
      known: ratings in Elo of some of the players, in place of an anchor. They stay as they are,
        and the others are rated on their scale.

    Raises:
      ValueError: There are no players, the anchor is not one of them, or there is an anchor beside
        known ratings.
    """
    names = list(dict.fromkeys([*players, *(n for p in pairings for n in (p.first, p.second))]))
    if not names:
        raise ValueError("no players to rate")
    level = {name: rating / PER_E for name, rating in (known or {}).items() if name in names}
    if anchor is not None and level:
        raise ValueError(f"anchor is {anchor!r}, but {', '.join(level)} have known ratings")
    if anchor is None and _RANDOM in names and not level:
        anchor = _RANDOM
    if anchor is not None and anchor not in names:
        raise ValueError(f"anchor is {anchor!r}, but should be a player: {', '.join(names)}")
    # Players with known ratings share the last rating, that of the zero of their scale.
    columns = [name for name in names if name not in level]
    places = {name: columns.index(name) if name in columns else len(columns) for name in names}
    num_ratings = len(columns) + bool(level)
    unit = {name: np.eye(num_ratings + 1)[place] for name, place in places.items()}
    results = [(p.wins, p.draws, p.losses) for p in pairings] + [(PRIOR_RESULTS,) * 3] * len(names)
    levels = [level.get(p.first, 0.0) - level.get(p.second, 0.0) for p in pairings]
    model = _Model(
        design=np.array([*(unit[p.first] - unit[p.second] for p in pairings), *unit.values()]),
        offset=np.array([*levels, *(level.get(name, 0.0) for name in names)]),
        results=np.array(results, dtype=float).T,
    )
    best = _fit(model, np.zeros(num_ratings + 1))
    dispersion = _dispersion(pairings, model, best)
    drop = _Z95**2 / 2 * max(1.0, dispersion or 0.0)

    zero = np.mean([*unit.values()], axis=0) if anchor is None else unit[anchor]
    if level:
        zero = np.eye(num_ratings + 1)[-2]
    standings = []
    for name in names:
        own = [p for p in pairings if name in (p.first, p.second)]
        points = sum(p.points if p.first == name else p.num_games - p.points for p in own)
        rating, interval = _interval(model, best, (unit[name] - zero)[:-1], drop)
        if name in level:
            rating = PER_E * level[name]
            interval = (rating, rating)
        num_games = sum(p.num_games for p in own)
        standings.append(Standing(name, num_games, float(points), rating, interval))
    standings.sort(key=lambda standing: -standing.rating)
    return Ratings(
        standings=tuple(standings),
        anchor=anchor,
        draw_share=float(1 / (1 + 2 * math.exp(-best[-1]))),
        dispersion=dispersion,
        warnings=_warnings(pairings, [standing.name for standing in standings], [*level]),
    )


def from_score(score: float) -> float:
    """Returns the difference in Elo that a score per game implies; infinite for 0 and 1."""
    if min(score, 1 - score) < _ROUNDING:
        return math.copysign(math.inf, score - 0.5)
    return PER_E * math.log(score / (1 - score))


class _Model(NamedTuple):
    """Davidson's likelihood of a table with `P` rows of results, the last of them the prior.

    Parameters are ratings in units of `PER_E` and, last, the logarithm of `v`. Differences of
    ratings are `design @ parameters + offset`; the offset has known ratings, and one combination
    of ratings that a profile fixes.
    """

    design: np.ndarray  # [P, parameters], last column 0
    offset: np.ndarray  # [P]
    results: np.ndarray  # [3, P] wins, draws, losses of the first; fractions for the prior


def _fit(model: _Model, start: np.ndarray) -> np.ndarray:
    """Returns the parameters of the largest likelihood. It is concave, so they are unique."""
    return scipy.optimize.minimize(
        _loss, start, args=(model,), jac=True, hess=_curvature, method="trust-exact"
    ).x


def _log_probabilities(parameters: np.ndarray, model: _Model) -> np.ndarray:
    """Returns `[3, P]` of win, draw and loss."""
    difference = model.design @ parameters + model.offset
    logits = np.stack([difference / 2, np.full_like(difference, parameters[-1]), -difference / 2])
    return logits - np.logaddexp.reduce(logits, axis=0)


def _loss(parameters: np.ndarray, model: _Model) -> tuple[float, np.ndarray]:
    """Returns the negative logarithm of the likelihood, and its gradient."""
    design, _, results = model
    log_probability = _log_probabilities(parameters, model)
    residual = results - results.sum(axis=0) * np.exp(log_probability)
    gradient = design.T @ (residual[0] - residual[2]) / 2
    gradient[-1] += residual[1].sum()
    return -float((results * log_probability).sum()), -gradient


def _curvature(parameters: np.ndarray, model: _Model) -> np.ndarray:
    """Returns the second derivatives of the loss: the information."""
    win, draw, loss = probability = np.exp(_log_probabilities(parameters, model))
    games = model.results.sum(axis=0)
    _, variance = _points(probability)
    matrix = model.design.T @ ((games * variance)[:, None] * model.design)
    mixed = -model.design.T @ (games * draw * (win - loss) / 2)
    matrix[-1] += mixed
    matrix[:, -1] += mixed
    matrix[-1, -1] += (games * draw * (1 - draw)).sum()
    return matrix


def _points(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean and variance of the points of a game."""
    win, draw, loss = probabilities
    return (1 + win - loss) / 2, (draw * (win + loss) + 4 * win * loss) / 4


def _interval(
    model: _Model, best: np.ndarray, contrast: np.ndarray, drop: float
) -> tuple[float, tuple[float, float]]:
    """Returns a contrast of ratings in Elo, and its profile-likelihood interval.

    At its ends the log-likelihood, maximised over the other parameters, is `drop` below `best`'s.
    """
    if not contrast.any():  # the anchor against itself, or a single player
        return 0.0, (0.0, 0.0)
    estimate = float(contrast @ best[:-1])
    # A basis of the parameters that leave the contrast unchanged.
    free = scipy.linalg.block_diag(scipy.linalg.null_space(contrast[None]), np.eye(1))
    along = model.design[:, :-1] @ contrast / (contrast @ contrast)
    limit = _loss(best, model)[0] + drop
    direction = np.append(contrast, 0.0)
    tangent = np.linalg.solve(_curvature(best, model), direction)
    variance = float(direction @ tangent)  # by the information
    step = math.sqrt(2 * drop * variance)

    def excess(value: float) -> float:
        fixed = _Model(model.design @ free, model.offset + along * value, model.results)
        start = best + (value - estimate) / variance * tangent
        return _loss(_fit(fixed, free.T @ start), fixed)[0] - limit

    ends = []
    for side in (-step, step):
        near, far = 0.0, 1.0
        while excess(estimate + far * side) < 0:
            near, far = far, 2 * far
        ends.append(
            scipy.optimize.brentq(lambda t, s=side: excess(estimate + t * s), near, far, rtol=1e-4)
        )
    return PER_E * estimate, (
        PER_E * (estimate - ends[0] * step),
        PER_E * (estimate + ends[1] * step),
    )


def _dispersion(pairings: Sequence[Pairing], model: _Model, parameters: np.ndarray) -> float | None:
    """Returns Pearson's dispersion of the points of pairs of games, None without pairs."""
    counts = np.array([p.pair_scores or (0,) * 5 for p in pairings]).reshape(-1, 5)
    if not counts.any():
        return None
    mean, variance = _points(np.exp(_log_probabilities(parameters, model)[:, : len(pairings)]))
    squares = (np.arange(5) / 2 - 2 * mean[:, None]) ** 2
    return float((counts * squares).sum() / (counts.sum(axis=1) @ (2 * variance)))


def _warnings(
    pairings: Sequence[Pairing], names: Sequence[str], known: Sequence[str]
) -> tuple[str, ...]:
    """Returns warnings of differences that the games leave open and the prior determines.

    The likelihood alone has a maximum if each subset of the players took points from the others
    (Ford, 1957, American Mathematical Monthly 64:28-33).
    """
    index = {name: number for number, name in enumerate(names)}
    took = np.zeros((len(names), len(names)), dtype=bool)  # row took points from column
    rated = [index[name] for name in known]
    took[np.ix_(rated, rated)] = True
    for pairing in pairings:
        one, other = index[pairing.first], index[pairing.second]
        took[one, other] |= pairing.wins + pairing.draws > 0
        took[other, one] |= pairing.losses + pairing.draws > 0
    groups = _components(took, names, "weak")
    warnings = []
    if len(groups) > 1:
        warnings.append(
            "No games connect these groups, so their differences depend on the prior: "
            + " | ".join(", ".join(group) for group in groups)
        )
    for group in groups:
        members = [index[name] for name in group]
        levels = _components(took[np.ix_(members, members)], group, "strong")
        if len(levels) > 1:
            warnings.append(
                "No player took points from players further left, so these differences depend on "
                "the prior: " + " > ".join(", ".join(level) for level in levels)
            )
    return tuple(warnings)


def _components(edges: np.ndarray, names: Sequence[str], connection: str) -> list[list[str]]:
    """Returns the connected groups of names, in the order of their first."""
    _, labels = scipy.sparse.csgraph.connected_components(edges, connection=connection)
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(int(label), []).append(name)
    return list(groups.values())
