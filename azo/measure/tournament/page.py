"""Tables of a tournament in Markdown, and the page that holds them."""

import contextlib
import datetime
import importlib.metadata
import itertools
import pathlib
import platform
from collections.abc import Iterable, Sequence

import jax

from azo.formats import files
from azo.measure import cycles, elo, sequential
from azo.measure.tournament import game_log, standings

# The difference that the sequential test looks for, and both of its error rates.
_ELO = 100.0
_ERROR = 0.05


def tables(
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    played: Sequence[game_log.PlayedGame],
    *,
    num_missing: int,
) -> list[str]:
    """Returns lines of Markdown: ratings, cross-table, tests of neighbours, cycles."""
    names = [standing.name for standing in rated.standings]
    lines = _leaderboard(rated, pairings, played)
    if num_missing:
        lines += ["", f"{num_missing:,} games are still to be played."]
    lines += ["", *(f"* {warning}" for warning in rated.warnings)] if rated.warnings else []
    lines += ["", *_cross_table(names, pairings), "", *_neighbours(names, pairings), ""]
    significant = cycles.find_cycles(pairings)
    lines += [f"Cycle: {cycle}" for cycle in significant]
    return lines if significant else [*lines, "No statistically significant cycles."]


def write(
    path: pathlib.Path,
    title: str,
    command: str,
    rated: elo.Ratings,
    pairings: Sequence[elo.Pairing],
    lines: Sequence[str],
) -> None:
    """Writes the page with the lines of `tables` and the command.

    Raises:
      ValueError: The page cannot be written.
    """
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
    ]
    with contextlib.suppress(OSError):  # `write` reports a missing folder
        path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, ("\n".join(text) + "\n").encode())


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _leaderboard(
    rated: elo.Ratings, pairings: Sequence[elo.Pairing], played: Sequence[game_log.PlayedGame]
) -> list[str]:
    lines = [
        f"| | player | Elo ({rated.anchor or 'the mean'} 0) | 95 % | games"
        " | won/drawn/lost | points | positions a move | seconds a move | lost early |",
        "| ---: | --- " + "| ---: " * 8 + "|",
    ]
    for rank, one in enumerate(rated.standings, start=1):
        effort = standings.effort(one.name, played)
        results = [r for (name, _), r in elo.cross_table(pairings).items() if name == one.name]
        low, high = one.interval
        cells = [
            rank,
            one.name,
            f"{one.rating:.0f}",
            "" if one.name == rated.anchor else f"{low:.0f} to {high:.0f}",
            f"{one.num_games:,}",
            "/".join(str(sum(counts)) for counts in zip(*results, strict=True)) or "0/0/0",
            f"{one.points:g}",
            "" if effort.positions is None else f"{effort.positions:,.0f}",
            "" if effort.seconds is None else f"{effort.seconds:.3g}",
            effort.num_forfeits,
        ]
        lines.append(_row(cells))
    notes = f"Draws between equals: {rated.draw_share:.1%}."
    if rated.dispersion is not None:
        notes += (
            f" Scatter of pairs of games: {rated.dispersion:.2f} times that of independent ones."
        )
    return [*lines, "", notes]


def _cross_table(names: Sequence[str], pairings: Sequence[elo.Pairing]) -> list[str]:
    results = elo.cross_table(pairings)
    lines = [
        _row(["won/drawn/lost", *range(1, len(names) + 1)]),
        "| --- " + "| :---: " * len(names) + "|",
    ]
    for rank, row in enumerate(names, start=1):
        cells = ["/".join(map(str, results.get((row, column), ()))) for column in names]
        lines.append(_row([f"{rank} {row}", *cells]))
    return lines


def _neighbours(names: Sequence[str], pairings: Sequence[elo.Pairing]) -> list[str]:
    """Returns a table: whether each player is better than the next, by the sequential test."""
    lines = [
        f"Is it better than the next one? Sequential test of no difference against {_ELO:g} Elo,"
        f" error rates {_ERROR:.0%}:",
        "",
        "| player | the next | points of games | log-likelihood ratio | verdict |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    by_pair = {(p.first, p.second): p for p in pairings}
    for better, worse in itertools.pairwise(names):
        match = by_pair.get((better, worse)) or by_pair.get((worse, better))
        if match is None:
            lines.append(f"| {better} | {worse} | | | have not met |")
            continue
        assert match.pair_scores is not None
        counts, points = match.pair_scores, match.points
        if match.first == worse:
            counts, points = counts[::-1], match.num_games - points
        test = sequential.sequential_test(counts, elo0=0, elo1=_ELO, alpha=_ERROR, beta=_ERROR)
        ratio = f"{test.llr:.2f} ({test.lower:.2f} to {test.upper:.2f})"
        lines.append(_row([better, worse, f"{points:g} of {match.num_games}", ratio, test.verdict]))
    return lines
