"""Compares recipes by the results of their runs, paired by seed.

A result is a mapping with at least `arm`, `seed`, `score`, `num_games` (of the match), `games` and
`evaluations` (of self-play). A score is the share of the points won against the common opponent.
Runs of one seed start alike and play the same openings, so arms are compared seed by seed.
"""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from azo.measure import accuracy, elo

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

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.mean:+.3f}"
        return f"{self.mean:+.3f}, {self.interval[0]:+.3f} to {self.interval[1]:+.3f}"


def difference(results: Sequence[Result], arm: str, against: str) -> Difference | None:
    """Returns how much higher `arm` scores than `against`, None if they share no seed."""
    ours, theirs = _by_seed(results, arm), _by_seed(results, against)
    pairs = [(ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys())]
    gain = accuracy.mean(np.array([one["score"] - other["score"] for one, other in pairs]))
    if gain is None:
        return None
    ours_elo, theirs_elo = map(_elo, zip(*pairs, strict=True))
    return Difference(mean=gain.mean, interval=gain.interval, elo=ours_elo - theirs_elo)


def table(
    results: Iterable[Result], arms: Iterable[tuple[str, str, str | None]], seeds: Sequence[int]
) -> str:
    """Returns a Markdown table; incomplete arms show their number of seeds.

    Args:
      results: those of other seeds are left out.
      arms: name, question, and the arm to compare with, None for the first.
      seeds: of a complete arm.
    """
    head = (
        "| arm | question | score | sd | difference, 95 % | Elo | games | evaluations | verdict |"
    )
    lines = [head, "|" + " --- |" * 9]
    results = [result for result in results if result["seed"] in seeds]
    for arm, question, against in arms:
        own = _by_seed(results, arm).values()
        cells, verdict = [""] * 6, []
        if own:
            scores = [result["score"] for result in own]
            cells[0] = f"{statistics.mean(scores):.3f}"
            cells[1] = f"{statistics.stdev(scores):.3f}" if len(scores) > 1 else ""
            for place, name in ((4, "games"), (5, "evaluations")):
                cells[place] = f"{statistics.mean(result[name] for result in own):,.0f}"
        gain = None if against is None else difference(results, arm, against)
        if gain is not None:
            cells[2:4] = f"{gain} against {against}", f"{gain.elo:+.0f}"
            verdict = [gain.verdict]
        if len(own) < len(seeds):
            verdict.append(f"{len(own)} of {len(seeds)} seeds")
        lines.append(f"| {' | '.join([arm, question, *cells, ', '.join(verdict)])} |")
    return "\n".join(lines)


def _elo(results: Sequence[Result]) -> float:
    """Returns the rating above the opponent. All or no points count as half a point off."""
    least = 0.5 / sum(result["num_games"] for result in results)
    score = statistics.mean(result["score"] for result in results)
    return elo.from_score(min(max(score, least), 1 - least))


def _by_seed(results: Iterable[Result], arm: str) -> dict[int, Result]:
    return {result["seed"]: result for result in results if result["arm"] == arm}
