"""Figures of the rated generations of a run: their Elo, and their cross-table."""

import numpy as np

from azo.measure import cycles, elo, generation_elo, ladder
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
    iterations = _rated_iterations(run)
    names = [generation_elo.name(iteration) for iteration in iterations]
    if ladder.RATINGS.keys().isdisjoint(fixed_players):
        strongest = levels[0]
        from_strongest = _standings(pairings, strongest.name)
        interval = np.array([from_strongest[name].interval for name in names]).T + strongest.rating
        sheet.caption += f" The 95 % intervals are of the difference to {strongest.name}"
        if strongest.name != anchor:
            low, high = strongest.interval
            sheet.caption += (
                f", which is {strongest.rating:.0f} ({low:.0f} to {high:.0f}) above {anchor}"
            )
        sheet.caption += "."
    else:
        interval = np.array([to_anchor[name].interval for name in names]).T
        sheet.caption += " Players of the ladder keep their ratings, see docs/classical.md."

    rating = np.array([to_anchor[name].rating for name in names])
    seconds = [event.get("time/processor_seconds") for event in ratings]
    places = {"iteration": np.array(iterations, float)}
    if None not in seconds:
        places["hours of processor time"] = np.array(seconds, float) / 3600
    for label, place in places.items():
        panel = sheet.add_panel(f"Elo by {label}", label, f"Elo ({anchor} 0)")
        panels.curve(panel, "generation", place, rating, *interval)
        for level in levels[:_MAX_LEVELS]:
            panels.curve(panel, level.name, place[[0, -1]], np.full(2, level.rating))
    panels.mark_phases(sheet.panels[0], run)
    return sheet


def _standings(pairings: list[elo.Pairing], anchor: str) -> dict[str, elo.Standing]:
    return {one.name: one for one in ladder.rate(pairings, anchor).standings}


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
