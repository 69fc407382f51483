"""Tables of a tournament in Markdown."""

import itertools
from collections.abc import Mapping, Sequence

from azo.lab import elo, sequential, tables
from azo.lab.tournament import game_log, standings

# The difference that the sequential test looks for, and both of its error rates.
_ELO = 100.0
_ERROR = 0.05
_Table = Mapping[tuple[str, str], elo.MatchResult]


def results(
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    played: Sequence[game_log.PlayedGame],
    *,
    num_missing: int,
) -> list[str]:
    """Returns lines of Markdown: ratings, cross-table, tests of neighbours, cycles."""
    names = [standing.name for standing in rated.standings]
    lines = _leaderboard(rated, played)
    if num_missing:
        lines += ["", f"{num_missing:,} games are still to be played."]
    lines += ["", f"* {rated.warning}"] if rated.warning else []
    table = elo.cross_table(pairings)
    lines += ["", *_cross_table(names, table), "", *_neighbours(names, table), ""]
    cycle = elo.find_cycle(pairings)
    return [*lines, f"Cycle: {cycle}" if cycle else "No statistically significant cycles."]


def _leaderboard(rated: elo.Ratings, played: Sequence[game_log.PlayedGame]) -> list[str]:
    elo_column = f"Elo ({rated.anchor or 'the mean'} 0)>"
    columns = [">", "player", elo_column, "95 %>", "games>", "won/drawn/lost>", "points>"]
    columns += ["positions a move>", "seconds a move>", "lost early>"]
    rows = []
    for rank, one in enumerate(rated.standings, start=1):
        effort = standings.effort(one.name, played)
        low, high = one.interval
        rows.append(
            [
                rank,
                one.name,
                f"{one.rating:.0f}",
                "" if one.name == rated.anchor else f"{low:.0f} to {high:.0f}",
                f"{one.result.num_games:,}",
                "/".join(map(str, one.result.counts)),
                f"{one.result.points:g}",
                "" if effort.positions is None else f"{effort.positions:,.0f}",
                "" if effort.seconds is None else f"{effort.seconds:.3g}",
                effort.num_forfeits,
            ]
        )
    notes = f"Draws between equals: {rated.draw_share:.1%}."
    if rated.dispersion is not None:
        notes += (
            f" Scatter of pairs of games: {rated.dispersion:.2f} times that of independent ones."
        )
    return [*tables.table(columns, rows), "", notes]


def _cross_table(names: Sequence[str], table: _Table) -> list[str]:
    shown = {pair: "/".join(map(str, result.counts)) for pair, result in table.items()}
    rows = [
        [f"{rank} {name}", *(shown.get((name, other), "") for other in names)]
        for rank, name in enumerate(names, start=1)
    ]
    columns = ["won/drawn/lost", *(f"{number}^" for number in range(1, len(names) + 1))]
    return tables.table(columns, rows)


def _neighbours(names: Sequence[str], table: _Table) -> list[str]:
    """Returns a table: whether each player is better than the next, by the sequential test."""
    question = (
        f"Is it better than the next one? Sequential test of no difference against {_ELO:g} Elo,"
        f" error rates {_ERROR:.0%}:"
    )
    columns = ["player", "the next", "points of games>", "log-likelihood ratio>", "verdict"]
    rows: list[list[object]] = []
    for better, worse in itertools.pairwise(names):
        match = table.get((better, worse))
        if match is None:
            rows.append([better, worse, "", "", "have not met"])
            continue
        assert match.pair_scores is not None
        test = sequential.sequential_test(
            match.pair_scores, elo0=0, elo1=_ELO, alpha=_ERROR, beta=_ERROR
        )
        ratio = f"{test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})"
        points = f"{match.points:g} of {match.num_games}"
        rows.append([better, worse, points, ratio, test.verdict])
    return [question, "", *tables.table(columns, rows)]
