"""Figures of the rated generations of a run: their Elo, and their cross-table."""

import numpy as np

from azo.measure import cycles, elo, generation_elo
from azo.measure.report import panels, run_log

_MAX_LEVELS = 5  # fixed players whose Elo is shown


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures; all matches of the run are rated together."""
    pairings = [generation_elo.pairing(event) for event in run.of_kind("rating_match")]
    return [_elo(run, pairings), _cross_table(run, pairings)]


def _elo(run: run_log.RunLog, pairings: list[elo.Pairing]) -> panels.Sheet:
    sheet = panels.Sheet(
        "elo",
        "Elo by generation",
        "Generations, rated by their matches against fixed players (the level lines) and against "
        "one another. All matches are rated together, so a later match moves earlier points too.",
    )
    ratings = run.of_kind("rating")
    if not ratings:
        return sheet
    anchor = ratings[-1]["rating/anchor"]
    to_anchor = _standings(pairings, anchor)
    opponents = map(generation_elo.opponent, run.of_kind("rating_match"))
    fixed_players = {opponent for opponent in opponents if isinstance(opponent, str)}
    levels = sorted((to_anchor[name] for name in fixed_players), key=lambda one: -one.rating)
    strongest = levels[0]
    to_strongest = _standings(pairings, strongest.name)

    iterations = _rated_iterations(run)
    names = [generation_elo.name(iteration) for iteration in iterations]
    rating = np.array([to_anchor[name].rating for name in names])
    interval = np.array([to_strongest[name].interval for name in names]).T + strongest.rating
    panel = sheet.add_panel("Elo of generations", "iteration", f"Elo ({anchor} 0)")
    panels.curve(panel, "generation", np.array(iterations, float), rating, *interval)
    for level in levels[:_MAX_LEVELS]:
        ends = np.array([iterations[0], iterations[-1]], float)
        panels.curve(panel, level.name, ends, np.full(2, level.rating))
    panels.mark_phases(panel, run)
    sheet.caption += f" The 95 % intervals are of the difference to {strongest.name}"
    if strongest.name != anchor:
        low, high = strongest.interval
        sheet.caption += (
            f", which is {strongest.rating:.0f} ({low:.0f} to {high:.0f}) above {anchor}"
        )
    sheet.caption += "."
    return sheet


def _standings(pairings: list[elo.Pairing], anchor: str) -> dict[str, elo.Standing]:
    return {one.name: one for one in elo.rate(pairings, anchor=anchor).standings}


def _cross_table(run: run_log.RunLog, pairings: list[elo.Pairing]) -> panels.Sheet:
    names = {generation_elo.name(number): str(number) for number in _rated_iterations(run)}
    significant = cycles.find_cycles(pairings)
    verdict = "There are no statistically significant cycles, such as A > B > C > A."
    if significant:
        verdict = f"A significant cycle, with the score of each against the next: {significant[0]}."
    sheet = panels.Sheet(
        "generations",
        "Cross-table of generations",
        "Matches between generations. Where a run makes progress, all fields below the diagonal "
        f"are blue. {verdict}",
    )
    if not any({p.first, p.second} <= names.keys() for p in pairings):
        return sheet
    title = "Won/drawn/lost by each row"
    sheet.add_cross_table(title, "against iteration", "iteration", names, pairings)
    return sheet


def _rated_iterations(run: run_log.RunLog) -> list[int]:
    """Returns the iterations of the generations that have a rating."""
    return [event["iteration"] for event in run.of_kind("rating")]
