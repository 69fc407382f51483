"""Compares recipes by the results of their runs, in Elo, with seeds as a random effect.

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
from collections.abc import Sequence
from typing import Any

import numpy as np
import pydantic
import scipy.stats

from azo.matches import elo, tables
from azo.queues import run_queue
from azo.settings import setting_types


class Result(pydantic.BaseModel, strict=True):
    """A trained arm with one seed: what the training took, and its matches."""

    arm: str
    seed: setting_types.Seed
    run: str
    """Folder of the trained network; of a curriculum, that of the last phase."""
    evaluations: setting_types.Count
    games: setting_types.Count
    iterations: setting_types.Count
    training_seconds: setting_types.NonNegativeFloat
    processor_seconds: setting_types.NonNegativeFloat
    match: elo.MatchResult
    """Match against the common opponent."""
    against: str | None = None
    versus: elo.MatchResult | None = None
    """Match against the arm `against` with the same seed."""
    request: dict[str, Any]
    """The settings that decide the result."""
    versions: dict[str, str]


Results = dict[tuple[str | None, int], Result]  # by arm and seed


@dataclasses.dataclass(frozen=True)
class Difference:
    """How much stronger an arm is than another, in Elo."""

    elo: float
    interval: tuple[float, float] | None  # 95 %; None if nothing is known of the seeds' part

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.elo:+.0f}"
        return f"{self.elo:+.0f}, {self.interval[0]:+.0f} to {self.interval[1]:+.0f}"


def differences(results: Results, arms: Sequence[run_queue.Arm]) -> dict[str, Difference]:
    """Returns how much stronger each arm is than the one it is compared with, by its name.

    Arms that share no seed with it, and the first, are left out.
    """
    by_arm = {}  # [S, 2], Elo and its variance by the games
    for arm in arms:
        of_seeds = [
            _difference(result, results[arm.against, seed])
            for (name, seed), result in results.items()
            if name == arm.name and (arm.against, seed) in results
        ]
        if of_seeds:
            by_arm[arm.name] = np.array(of_seeds)
    squares = sum(
        ((seeds[:, 0] - seeds[:, 0].mean()) ** 2).sum() - (len(seeds) - 1) * seeds[:, 1].mean()
        for seeds in by_arm.values()
    )
    freedom = sum(len(seeds) - 1 for seeds in by_arm.values())
    gains = {}
    for name, seeds in by_arm.items():
        (mean, of_games), interval = seeds.mean(axis=0).tolist(), None
        if freedom:
            variance = of_games + max(squares / freedom, 0.0)
            error = float(scipy.stats.t.ppf(0.975, freedom)) * math.sqrt(variance / len(seeds))
            interval = mean - error, mean + error
        gains[name] = Difference(mean, interval)
    return gains


def table(results: Results, arms: Sequence[run_queue.Arm], seeds: Sequence[int]) -> list[str]:
    """Returns the lines of a Markdown table with a row for each arm, from results of the seeds."""
    columns = ["arm", "question", "score", "Elo, 95 %", "against", "games", "evaluations", "seeds"]
    results = {key: result for key, result in results.items() if result.seed in seeds}
    gains = differences(results, arms)
    rows = []
    for arm in arms:
        own = [result for result in results.values() if result.arm == arm.name]
        score, games, evaluations = "", "", ""
        if own:
            score = f"{statistics.mean(result.match.score for result in own):.3f}"
            games = f"{statistics.mean(result.games for result in own):,.0f}"
            evaluations = f"{statistics.mean(result.evaluations for result in own):,.0f}"
        cells = [arm.name, arm.question, score, gains.get(arm.name, ""), arm.against or ""]
        rows.append([*cells, games, evaluations, f"{len(own)} of {len(seeds)}"])
    return tables.table(columns, rows)


def _difference(ours: Result, theirs: Result) -> tuple[float, float]:
    """Returns the difference of two arms with one seed in Elo, and its variance by the games."""
    if ours.versus is not None and ours.against == theirs.arm:
        return _rated(ours.versus)
    one, other = _rated(ours.match), _rated(theirs.match)
    return one[0] - other[0], one[1] + other[1]


def _rated(match: elo.MatchResult) -> tuple[float, float]:
    """Returns the rating above the opponent, after adding a won and a lost half of an observation.

    An observation is the points of an opening played with both colours, or else of a game.
    """
    counts = np.array(match.pair_scores or (match.losses, match.draws, match.wins), float)
    counts[[0, -1]] += 0.5
    points, number = np.linspace(0, 1, len(counts)), counts.sum()
    mean = float(counts @ points / number)
    variance = float(counts @ (points - mean) ** 2 / number**2)
    slope = elo.PER_E / (mean * (1 - mean))  # of Elo by score
    return elo.from_score(mean), slope**2 * variance
