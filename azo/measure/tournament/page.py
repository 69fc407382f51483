"""Tables of a tournament, and the page that keeps them, with a picture of the cross-table."""

import datetime
import importlib.metadata
import itertools
import pathlib
import platform
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from azo.measure import cycles, elo, extras, sequential
from azo.measure.report import panels
from azo.measure.tournament import standings
from azo.measure.tournament.game_log import PlayedGame

# What counts as better, and how often its test may be wrong either way.
_ELO = 100.0
_ERROR = 0.05


def tables(
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    records: Sequence[PlayedGame],
    *,
    num_missing: int,
) -> list[str]:
    """Returns lines of Markdown: ratings, cross-table, which neighbours differ, cycles."""
    ranked = [standing.name for standing in rated.standings]
    lines = _leaderboard(rated, pairings, records)
    if num_missing:
        lines += ["", f"{num_missing:,} games are still to be played."]
    lines += ["", *(f"* {warning}" for warning in rated.warnings)] if rated.warnings else []
    lines += ["", *_cross_table(ranked, pairings), "", *_neighbours(ranked, pairings), ""]
    found = cycles.find_cycles(pairings)
    lines += [f"Cycle: {cycle}" for cycle in found] or [
        "No cycles: nobody surely loses to a player whom he surely beats by way of others."
    ]
    return lines


def write(
    path: pathlib.Path,
    title: str,
    command: str,
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    lines: Sequence[str],
) -> None:
    """Writes the page and, beside it, its picture; `lines` are those of `tables`.

    Raises:
      ValueError: matplotlib is not installed, or the page cannot be written.
    """
    plots = check_drawing()
    picture = path.with_suffix(".png")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "mctx"))
    text = [
        f"# {title}",
        "",
        f"`{command}`",
        "",
        f"{sum(p.num_games for p in pairings):,} games, {datetime.date.today()},"
        f" {platform.machine()}, {jax.devices()[0].device_kind},"
        f" Python {platform.python_version()}, {versions}.",
        "",
        *lines,
        "",
        f"![Points of each row against each column]({picture.name})",
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
        picture.write_bytes(plots.draw(_picture(title, rated, pairings)))
    except OSError as error:
        raise ValueError(f"{path}: cannot write here ({error.strerror})") from None


def check_drawing() -> Any:
    """Returns what draws; raises ValueError if matplotlib is not installed."""
    with extras.needed("a page", "matplotlib"):
        from azo.measure.report import plots
    return plots


def _leaderboard(
    rated: elo.Ratings, pairings: Sequence[elo.Pairing], records: Sequence[PlayedGame]
) -> list[str]:
    origin = "the mean" if rated.anchor is None else rated.anchor
    lines = [
        f"| | player | Elo ({origin} 0) | 95 % | performance | games | won/drawn/lost | points"
        " | positions a move | seconds a move | lost early |",
        "| ---: | --- " + "| ---: " * 9 + "|",
    ]
    for place, one in enumerate(rated.standings, start=1):
        did = standings.effort(one.name, records)
        results = _results(one.name, records)
        low, high = one.interval
        cells = [
            str(place),
            one.name,
            f"{one.rating:.0f}",
            "" if one.name == rated.anchor else f"{low:.0f} to {high:.0f}",
            _performance(one.name, rated, pairings),
            f"{one.num_games:,}",
            "/".join(map(str, results)),
            f"{one.points:g}",
            "" if did.positions is None else f"{did.positions:,.0f}",
            "" if did.seconds is None else f"{did.seconds:.3g}",
            str(did.num_forfeits),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    notes = "Performance: the rating that a player's own games suggest, its opponents' being right."
    notes += f" Draws between equals: {rated.draw_share:.1%}."
    if rated.dispersion is not None:
        notes += (
            f" Scatter of pairs of games: {rated.dispersion:.2f} times that of independent ones."
        )
    return [*lines, "", notes]


def _performance(name: str, rated: elo.Ratings, pairings: Sequence[elo.Pairing]) -> str:
    """Returns the rating that a player's own games suggest if those of its opponents are right."""
    known = {standing.name: standing.rating for standing in rated.standings}
    scores = [
        elo.MatchScore(known[p.second], p.points, p.num_games) for p in pairings if p.first == name
    ]
    scores += [
        elo.MatchScore(known[p.first], p.num_games - p.points, p.num_games)
        for p in pairings
        if p.second == name
    ]
    if not scores:
        return ""
    return f"{elo.performance(scores, draw_share=rated.draw_share).rating:.0f}"


def _results(name: str, records: Sequence[PlayedGame]) -> tuple[int, int, int]:
    """Returns wins, draws and losses of a player."""
    found = [r.result for r in records if r.black == name]
    found += [-r.result for r in records if r.white == name]
    return found.count(1), found.count(0), found.count(-1)


def _cross_table(ranked: Sequence[str], pairings: Sequence[elo.Pairing]) -> list[str]:
    by_row = _by_row(pairings)
    heads = " | ".join(str(place) for place, _ in enumerate(ranked, start=1))
    lines = [f"| won/drawn/lost | {heads} |", "| --- " + "| :---: " * len(ranked) + "|"]
    for place, row in enumerate(ranked, start=1):
        cells = ["/".join(map(str, by_row.get((row, column), ()))) for column in ranked]
        lines.append(f"| {place} {row} | {' | '.join(cells)} |")
    return lines


def _neighbours(ranked: Sequence[str], pairings: Sequence[elo.Pairing]) -> list[str]:
    """Returns whether each player is better than the next, by the sequential test."""
    lines = [
        f"Is it better than the next one? Sequential test of no difference against {_ELO:g} Elo,"
        f" error rates {_ERROR:.0%}:",
        "",
        "| player | the next | points of games | log-likelihood ratio | verdict |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    known = {(p.first, p.second): p for p in pairings}
    for better, worse in itertools.pairwise(ranked):
        met = known.get((better, worse)) or known.get((worse, better))
        if met is None:
            lines.append(f"| {better} | {worse} | | | have not met |")
            continue
        assert met.pair_scores is not None
        counts = met.pair_scores if met.first == better else met.pair_scores[::-1]
        points = met.points if met.first == better else met.num_games - met.points
        test = sequential.sequential_test(counts, elo0=0, elo1=_ELO, alpha=_ERROR, beta=_ERROR)
        cells = [
            better,
            worse,
            f"{points:g} of {met.num_games}",
            f"{test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})",
            test.verdict,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _by_row(pairings: Sequence[elo.Pairing]) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Returns wins, draws and losses of (row, column)."""
    found = {(p.first, p.second): (p.wins, p.draws, p.losses) for p in pairings}
    return found | {(p.second, p.first): (p.losses, p.draws, p.wins) for p in pairings}


def _picture(title: str, rated: elo.Ratings, pairings: Sequence[elo.Pairing]) -> panels.Picture:
    ranked = [standing.name for standing in rated.standings]
    by_row = _by_row(pairings)
    values = np.full((len(ranked), len(ranked)), np.nan)
    texts = [["" for _ in ranked] for _ in ranked]
    for (row, column), (wins, draws, losses) in by_row.items():
        place = ranked.index(row), ranked.index(column)
        values[place] = (wins - losses) / (wins + draws + losses)
        texts[place[0]][place[1]] = f"{wins}/{draws}/{losses}"
    panel = panels.HeatMap(
        title=f"{title}: won/drawn/lost of each row",
        x_label="against",
        y_label="player",
        colour_label="wins minus losses, a game",
        values=values,
        row_ticks=ranked,
        column_ticks=ranked,
        limits=(-1.0, 1.0),
        texts=texts,
    )
    return panels.Picture("cross-table", title, "", [panel], scale=max(1.0, len(ranked) / 7))
