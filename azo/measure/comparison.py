"""Compares recipes by the results of their runs, in Elo, with seeds as a random effect.

A result is a mapping with at least `arm`, `seed`, `wins`, `draws`, `losses` and `score` (of the
match against the common opponent), `games` and `evaluations` (of self-play). It may have `versus`:
the `wins`, `draws`, `losses` and `pair_scores` of a match against the arm `against` of the same
seed.

For each seed, the difference of two arms is that of their match against one another, or else that
of their matches against the common opponent. Its variance has two parts: that of the games, known
from the points of paired openings, and that of the seeds. Two or three seeds of one arm say little
about the second part, so it is taken to be equal for all arms of a table, and estimated from all of
them (by moments; DerSimonian and Laird, 1986, Controlled Clinical Trials 7:177-188, for one arm).
Intervals are Student's t with as many degrees of freedom as that estimate has.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.stats

from azo.measure import elo

Result = Mapping[str, Any]
Arm = tuple[str, str, str | None]  # name, question, the arm to compare with (None for the first)

_FEWEST_SEEDS = 2  # of a verdict


@dataclasses.dataclass(frozen=True)
class Difference:
    """How much stronger an arm is than another, in Elo."""

    elo: float
    interval: tuple[float, float] | None  # 95 %; None if nothing is known of the seeds' part
    num_seeds: int
    num_games: int

    @property
    def verdict(self) -> str:
        """Whether the 95 % interval excludes 0, without correction for several comparisons."""
        if self.interval is None or self.num_seeds < _FEWEST_SEEDS:
            return "not known"
        if self.interval[0] <= 0 <= self.interval[1]:
            return "not known"
        return "helps" if self.interval[0] > 0 else "hurts"

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.elo:+.0f}"
        return f"{self.elo:+.0f}, {self.interval[0]:+.0f} to {self.interval[1]:+.0f}"


@dataclasses.dataclass(frozen=True)
class _Seed:
    """The difference of two arms with one seed."""

    elo: float
    variance: float  # of the games
    num_games: int


def differences(results: Iterable[Result], arms: Iterable[Arm]) -> dict[str, Difference]:
    """Returns how much stronger each arm is than the one it is compared with, by its name.

    Arms that share no seed with it, and the first, are left out. The latest result of an arm and a
    seed counts.
    """
    latest = {(result["arm"], result["seed"]): result for result in results}
    by_arm: dict[str, list[_Seed]] = {}
    for name, _, against in arms:
        seeds = [seed for arm, seed in latest if arm == name and (against, seed) in latest]
        if against is not None and seeds:
            by_arm[name] = [
                _difference(latest[name, seed], latest[against, seed]) for seed in sorted(seeds)
            ]
    variance, freedom = _between_seeds(by_arm.values())
    return {name: _combined(seeds, variance, freedom) for name, seeds in by_arm.items()}


def table(results: Iterable[Result], arms: Sequence[Arm], seeds: Sequence[int]) -> str:
    """Returns a Markdown table.

    Args:
      results: those of other seeds are left out.
      arms: the rows.
      seeds: of a complete arm.
    """
    head = (
        "| arm | question | score | Elo, 95 % | against | games | evaluations | seeds | verdict |"
    )
    lines = [head, "|" + " --- |" * 9]
    results = [result for result in results if result["seed"] in seeds]
    gains = differences(results, arms)
    for name, question, against in arms:
        own = {result["seed"]: result for result in results if result["arm"] == name}.values()
        cells = ["", "", against or "", "", "", f"{len(own)} of {len(seeds)}", ""]
        if own:
            cells[0] = f"{statistics.mean(result['score'] for result in own):.3f}"
            for place, field in ((3, "games"), (4, "evaluations")):
                cells[place] = f"{statistics.mean(result[field] for result in own):,.0f}"
        if name in gains:
            cells[1], cells[6] = str(gains[name]), gains[name].verdict
        lines.append(f"| {' | '.join([name, question, *cells])} |")
    return "\n".join(lines)


def _difference(ours: Result, theirs: Result) -> _Seed:
    match = ours.get("versus")
    if match is not None and match["against"] == theirs["arm"]:
        return _rated(match)
    one, other = _rated(ours), _rated(theirs)
    return _Seed(
        one.elo - other.elo, one.variance + other.variance, one.num_games + other.num_games
    )


def _rated(match: Mapping[str, Any]) -> _Seed:
    """Returns the rating above the opponent, after adding a won and a lost half of an observation.

    An observation is the points of an opening played with both colours, or else of a game.
    """
    counts = np.array(
        match.get("pair_scores") or (match["losses"], match["draws"], match["wins"]), float
    )
    counts[[0, -1]] += 0.5
    points, number = np.linspace(0, 1, len(counts)), counts.sum()
    mean = float(counts @ points / number)
    variance = float(counts @ (points - mean) ** 2 / number**2)
    slope = elo.PER_E / (mean * (1 - mean))  # of Elo by score
    num_games = match["wins"] + match["draws"] + match["losses"]
    return _Seed(elo.from_score(mean), slope**2 * variance, num_games)


def _between_seeds(arms: Iterable[Sequence[_Seed]]) -> tuple[float, int]:
    """Returns the variance between seeds, and its degrees of freedom, 0 if nothing is known."""
    squares, freedom = 0.0, 0
    for seeds in arms:
        spread = len(seeds) - 1
        of_games = statistics.mean(seed.variance for seed in seeds)
        total = statistics.variance([seed.elo for seed in seeds]) if spread else 0.0
        squares += spread * (total - of_games)
        freedom += spread
    return (max(squares / freedom, 0.0), freedom) if freedom else (0.0, 0)


def _combined(seeds: Sequence[_Seed], between: float, freedom: int) -> Difference:
    mean = statistics.mean(seed.elo for seed in seeds)
    interval = None
    if freedom:
        variance = statistics.mean(seed.variance for seed in seeds) + between
        error = float(scipy.stats.t.ppf(0.975, freedom)) * math.sqrt(variance / len(seeds))
        interval = mean - error, mean + error
    return Difference(mean, interval, len(seeds), sum(seed.num_games for seed in seeds))
