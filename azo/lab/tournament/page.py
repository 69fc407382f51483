"""Tables of a tournament in Markdown."""

from collections.abc import Mapping, Sequence

from azo.lab import elo, tables
from azo.lab.tournament import game_log, standings


def results(
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    played: Sequence[game_log.PlayedGame],
    *,
    num_missing: int,
) -> list[str]:
    """Returns lines of Markdown: ratings and cross-table."""
    names = [standing.name for standing in rated.standings]
    lines = _leaderboard(rated, played)
    if num_missing:
        lines += ["", f"{num_missing:,} games are still to be played."]
    lines += ["", f"* {rated.warning}"] if rated.warning else []
    return [*lines, "", *_cross_table(names, elo.cross_table(pairings))]


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


def _cross_table(
    names: Sequence[str], table: Mapping[tuple[str, str], elo.MatchResult]
) -> list[str]:
    shown = {pair: "/".join(map(str, result.counts)) for pair, result in table.items()}
    rows = [
        [f"{rank} {name}", *(shown.get((name, other), "") for other in names)]
        for rank, name in enumerate(names, start=1)
    ]
    columns = ["won/drawn/lost", *(f"{number}^" for number in range(1, len(names) + 1))]
    return tables.table(columns, rows)
