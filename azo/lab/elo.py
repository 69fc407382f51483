"""Ratings from a cross-table, with confidence intervals, and its cycles.

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
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
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

    def __post_init__(self) -> None:
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
    warning: str  # of differences that only the prior determines; "" if there are none


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

    Raises:
      ValueError: There are no players, or the anchor is not one of them.
    """
    names = list(dict.fromkeys([*players, *(n for p in pairings for n in (p.first, p.second))]))
    if not names:
        raise ValueError("no players to rate")
    if anchor is None and known is None and _RANDOM in names:
        anchor = _RANDOM
    if anchor is not None and anchor not in names:
        raise ValueError(f"anchor is {anchor!r}, but should be a player: {', '.join(names)}")
    known = known if anchor is None else {anchor: 0.0}
    level = {name: rating / PER_E for name, rating in (known or {}).items() if name in names}
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

    zero = np.eye(num_ratings + 1)[-2] if level else np.mean([*unit.values()], axis=0)
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
        warning=_warning(pairings, [standing.name for standing in standings], [*level]),
    )


def from_score(score: float) -> float:
    """Returns the difference in Elo that a score per game implies; infinite for 0 and 1."""
    if min(score, 1 - score) < _ROUNDING:
        return math.copysign(math.inf, score - 0.5)
    return PER_E * math.log(score / (1 - score))


def find_cycle(pairings: Sequence[Pairing], *, level: float = 0.05) -> str | None:
    """Returns one of the shortest cycles of a cross-table, or None; most tables have none.

    In a cycle A beats B beats C beats A, so no rating is right for all three. "Beats" is
    statistically significant: an exact binomial test of the games with a winner rejects equal
    chances. A cycle needs several such matches at once, so it is rarely due to chance
    (docs/notebook/decisions.md).

    It is written with the share of the points of each player against the next, such as
    "a 0.90 > b 0.85 > c 0.75 > a", and begins with its smallest name. `level` is the significance,
    two-sided, of every single match.
    """
    scores = {
        pair: (wins + draws / 2) / (wins + draws + losses)
        for pair, (wins, draws, losses) in cross_table(pairings).items()
        if wins > losses and scipy.stats.binomtest(wins, wins + losses).pvalue < level
    }
    names = sorted({name for pair in scores for name in pair})
    if not names:
        return None
    beats = np.array([[(one, other) in scores for other in names] for one in names])
    steps, before = scipy.sparse.csgraph.shortest_path(
        beats, unweighted=True, return_predecessors=True
    )
    lengths = np.where(beats, steps.T, np.inf)  # of the way back from the loser to the winner
    if np.isinf(lengths).all():
        return None
    first, place = np.unravel_index(lengths.argmin(), lengths.shape)
    path = [names[first]]
    back = before[place]
    while first != place:
        first = back[first]
        path.insert(0, names[first])
    path = [path[-1], *path]
    parts = [f"{one} {scores[one, other]:.2f}" for one, other in itertools.pairwise(path)]
    return " > ".join([*parts, path[0]])


class _Model(NamedTuple):
    """Davidson's likelihood of a table with `P` rows of results, the last of them the prior.

    Parameters are ratings in units of `PER_E` and, last, the logarithm of `v`. Differences of
    ratings are `design @ parameters + offset`; the offset has known ratings.
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

    Its ends are the extremes of the contrast where the log-likelihood is `drop` below `best`'s.
    There the gradient is a multiple of the contrast (Venzon and Moolgavkar, 1988, Applied
    Statistics 37:87-94).
    """
    if not contrast.any():  # the anchor against itself, or a single player
        return 0.0, (0.0, 0.0)
    direction = np.append(contrast, 0.0)
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

    ends = []
    for side in (-step, step):
        start = np.append(best + side * tangent, side)
        end = scipy.optimize.root(equations, start, jac=derivatives).x
        ends.append(PER_E * float(direction @ end[:-1]))
    return PER_E * float(direction @ best), (ends[0], ends[1])


def _dispersion(pairings: Sequence[Pairing], model: _Model, parameters: np.ndarray) -> float | None:
    """Returns Pearson's dispersion of the points of pairs of games, None without pairs."""
    counts = np.array([p.pair_scores or (0,) * 5 for p in pairings]).reshape(-1, 5)
    if not counts.any():
        return None
    mean, variance = _points(np.exp(_log_probabilities(parameters, model)[:, : len(pairings)]))
    squares = (np.arange(5) / 2 - 2 * mean[:, None]) ** 2
    return float((counts * squares).sum() / (counts.sum(axis=1) @ (2 * variance)))


def _warning(pairings: Sequence[Pairing], names: Sequence[str], known: Sequence[str]) -> str:
    """Returns a warning of differences that the games leave open and the prior determines, or "".

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
    _, labels = scipy.sparse.csgraph.connected_components(took, connection="strong")
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, labels, strict=True):
        groups.setdefault(int(label), []).append(name)
    if len(groups) == 1:
        return ""
    return (
        "These groups have not all met, or one took no points from another, so the differences"
        " between groups depend on the prior: "
        + " | ".join(", ".join(group) for group in groups.values())
    )
