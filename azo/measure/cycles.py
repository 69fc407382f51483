"""Cycles in a cross-table: A beats B beats C beats A, so no rating is right for all three.

"Beats" is statistically significant: an exact binomial test of the games with a winner rejects
equal chances. Draws do not count. A cycle needs several such matches at once, so it is rarely due
to chance (docs/design.md).
"""

import dataclasses
from collections.abc import Mapping, Sequence

import scipy.stats

from azo.measure import elo

_Beaten = Mapping[str, Mapping[str, float]]  # winner, loser: the winner's share of the points


@dataclasses.dataclass(frozen=True)
class Cycle:
    """Players of which each significantly beats the next, and the last the first."""

    names: tuple[str, ...]
    scores: tuple[float, ...]  # share of the points of each against the next

    def __str__(self) -> str:
        steps = [f"{n} {s:.2f}" for n, s in zip(self.names, self.scores, strict=True)]
        return " > ".join([*steps, self.names[0]])


def find_cycles(pairings: Sequence[elo.Pairing], *, level: float = 0.05) -> list[Cycle]:
    """Returns all cycles of the smallest length; most tables have none.

    They are ordered by the lowest score in each cycle, the highest first.

    Args:
      pairings: games played; a pair of players may occur several times and in either order.
      level: significance, two-sided, of every single match.
    """
    beaten = _on_cycles(_beaten(pairings, level))
    paths: list[tuple[str, ...]] = [(name,) for name in beaten]
    while paths:
        cycles = [
            Cycle(path, tuple(beaten[a][b] for a, b in zip(path, path[1:] + path[:1], strict=True)))
            for path in paths
            if path[0] in beaten[path[-1]]
        ]
        if cycles:
            return sorted(cycles, key=lambda cycle: -min(cycle.scores))
        # A path begins with its smallest name, so every cycle occurs once.
        paths = [
            (*path, name)
            for path in paths
            for name in beaten[path[-1]]
            if name > path[0] and name not in path
        ]
    return []


def _beaten(pairings: Sequence[elo.Pairing], level: float) -> _Beaten:
    """Returns the significant wins."""
    totals = elo.cross_table(pairings)
    beaten: dict[str, dict[str, float]] = {name: {} for name, _ in totals}
    for (winner, loser), (wins, draws, losses) in totals.items():
        if wins > losses and scipy.stats.binomtest(wins, wins + losses).pvalue < level:
            beaten[winner][loser] = (wins + draws / 2) / (wins + draws + losses)
    return beaten


def _on_cycles(beaten: _Beaten) -> _Beaten:
    """Returns the wins among players that may be on a cycle.

    Players that beat nobody, or lose to nobody, are removed until none is left.
    """
    while True:
        losers = {name for others in beaten.values() for name in others}
        staying = {name for name, others in beaten.items() if others and name in losers}
        if len(staying) == len(beaten):
            return beaten
        beaten = {
            name: {other: score for other, score in beaten[name].items() if other in staying}
            for name in beaten
            if name in staying
        }
