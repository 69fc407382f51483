"""Which recipe is better, and how sure that is: the results of runs compared over the same seeds.

A result is a mapping with at least `arm`, `seed`, `score`, `num_games` (of the match), `games` and
`evaluations` (of self-play); a score is the share of the points won against the common opponent.
Runs of one seed start alike and are judged on the same openings, so arms are compared seed by seed.
"""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import scipy.stats

Result = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Difference:
    """How much higher an arm scores than another, over the seeds that both have."""

    mean: float
    interval: tuple[float, float] | None  # 95 %, by Student's t; None with fewer than two seeds
    elo: float

    @property
    def verdict(self) -> str:
        """Whether the 95 % interval excludes 0, without correction for several comparisons."""
        if self.interval is None or self.interval[0] <= 0 <= self.interval[1]:
            return "not significant"
        return "helps" if self.interval[0] > 0 else "hurts"


@dataclasses.dataclass(frozen=True)
class Summary:
    """The results of one arm."""

    num_seeds: int
    mean: float
    deviation: float | None  # sample standard deviation over seeds; None with fewer than two
    games: float  # of self-play, mean over seeds
    evaluations: float  # mean over seeds


@dataclasses.dataclass(frozen=True)
class Row:
    """The request for one row of a table."""

    arm: str
    question: str
    against: str | None  # the arm to compare with, None for the first


def elo(score: float, num_games: int) -> float:
    """Returns by how many points of Elo a score is above the opponent.

    All or no points won in `num_games` count as half a point off, or it would be infinite.
    """
    least = 0.5 / num_games
    share = min(max(score, least), 1 - least)
    return 400 * math.log10(share / (1 - share))


def summarise(results: Sequence[Result], arm: str) -> Summary | None:
    """Returns the summary of an arm over its seeds, None without results."""
    arm_results = list(_by_seed(results, arm).values())
    if not arm_results:
        return None
    scores = [result["score"] for result in arm_results]
    return Summary(
        num_seeds=len(arm_results),
        mean=statistics.mean(scores),
        deviation=statistics.stdev(scores) if len(scores) > 1 else None,
        games=statistics.mean(result["games"] for result in arm_results),
        evaluations=statistics.mean(result["evaluations"] for result in arm_results),
    )


def difference(results: Sequence[Result], arm: str, against: str) -> Difference | None:
    """Returns how much higher `arm` scores than `against`, None if they share no seed."""
    ours, theirs = _by_seed(results, arm), _by_seed(results, against)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return None
    pairs = [(ours[seed], theirs[seed]) for seed in shared]
    gains = [one["score"] - other["score"] for one, other in pairs]
    mean = statistics.mean(gains)
    interval = None
    if len(gains) > 1:
        quantile = float(scipy.stats.t.ppf(0.975, len(gains) - 1))
        error = quantile * statistics.stdev(gains) / math.sqrt(len(gains))
        interval = mean - error, mean + error
    ratings = [
        elo(
            statistics.mean(result["score"] for result in side),
            sum(result["num_games"] for result in side),
        )
        for side in zip(*pairs, strict=True)
    ]
    return Difference(mean=mean, interval=interval, elo=ratings[0] - ratings[1])


def table(results: Sequence[Result], rows: Sequence[Row], seeds: Sequence[int]) -> str:
    """Returns a Markdown table of all arms and the number of finished seeds."""
    head = (
        "| arm | question | score | sd | difference, 95 % | Elo | games | evaluations | verdict |"
    )
    lines = [head, "|" + " --- |" * 9]
    selected = [result for result in results if result["seed"] in seeds]
    for row in rows:
        cells = [row.arm, row.question, *_figures(selected, row, len(seeds))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figures(results: Sequence[Result], row: Row, num_seeds: int) -> list[str]:
    """Returns score, deviation, difference, Elo, games, evaluations and verdict as text."""
    summary = summarise(results, row.arm)
    if summary is None:
        return ["", "", "", "", "", "", f"0 of {num_seeds} seeds"]
    progress = []
    if summary.num_seeds < num_seeds:
        progress = [f"{summary.num_seeds} of {num_seeds} seeds"]
    gained, rating, verdict = "", "", []
    compared = None if row.against is None else difference(results, row.arm, row.against)
    if compared is not None:
        gained = f"{compared.mean:+.3f}"
        if compared.interval is not None:
            gained += f", {compared.interval[0]:+.3f} to {compared.interval[1]:+.3f}"
        gained += f" against {row.against}"
        rating = f"{compared.elo:+.0f}"
        verdict = [compared.verdict]
    return [
        f"{summary.mean:.3f}",
        "" if summary.deviation is None else f"{summary.deviation:.3f}",
        gained,
        rating,
        f"{summary.games:,.0f}",
        f"{summary.evaluations:,.0f}",
        ", ".join([*verdict, *progress]),
    ]


def _by_seed(results: Sequence[Result], arm: str) -> dict[int, Result]:
    return {result["seed"]: result for result in results if result["arm"] == arm}
