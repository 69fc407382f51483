"""Figures of the rated generations of a run: their Elo, and their cross-table."""

import numpy as np

from azo.lab import elo, ladder, run_matches
from azo.lab.report import panels, run_log

_MAX_LEVELS = 5  # fixed players whose Elo is shown
_MAX_TEXTS = 24  # generations whose results fit into the fields of the cross-table


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures; all matches of the run are rated together."""
    pairings = [run_matches.pairing(event) for event in run.of_kind("rating_match")]
    return [_elo(run, pairings), _cross_table(run, pairings)]


def _elo(run: run_log.RunLog, pairings: list[elo.Pairing]) -> panels.Sheet:
    sheet = panels.Sheet(
        "elo",
        "Elo by generation",
        "Generations, rated by their matches against fixed players (the level lines) and against "
        "one another. All matches are rated together, so a later match moves earlier points too.",
    )
    opponents = map(run_matches.opponent, run.of_kind("rating_match"))
    fixed_players = {opponent for opponent in opponents if isinstance(opponent, str)}
    on_ladder = not ladder.RATINGS.keys().isdisjoint(fixed_players)
    met = {name for one in pairings for name in (one.first, one.second)}
    ratings = [  # without those whose matches a damaged line has lost
        event
        for event in run.of_kind("rating")
        if run_matches.name(event["iteration"]) in met
        and (on_ladder or event["rating/anchor"] in fixed_players)
    ]
    if not ratings:
        return sheet
    anchor = ratings[-1]["rating/anchor"]
    rated = ladder.rate(pairings, anchor)
    levels = sorted((rated[name] for name in fixed_players), key=lambda one: -one.rating)
    iterations = [event["iteration"] for event in ratings]
    names = [run_matches.name(iteration) for iteration in iterations]
    strongest = levels[0]
    apart = ladder.rate(pairings, strongest.name)
    interval = np.array([apart[name].interval for name in names]).T
    if on_ladder:
        sheet.caption += " Players of the ladder keep their ratings: docs/notebook/classical.md."
    else:
        interval += strongest.rating
        sheet.caption += f" The 95 % intervals are of the difference to {strongest.name}."

    rating = np.array([rated[name].rating for name in names])
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


def _cross_table(run: run_log.RunLog, pairings: list[elo.Pairing]) -> panels.Sheet:
    iterations = [event["iteration"] for event in run.of_kind("rating")]
    places = {run_matches.name(number): place for place, number in enumerate(iterations)}
    sheet = panels.Sheet(
        "generations",
        "Cross-table of generations",
        "Matches between generations. Where a run makes progress, all fields below the diagonal "
        "are blue.",
    )
    if not any({p.first, p.second} <= places.keys() for p in pairings):
        return sheet
    values = np.full((len(places), len(places)), np.nan)
    texts = np.full(values.shape, "", object)
    for (row, column), result in elo.cross_table(pairings).items():
        if row in places and column in places:
            place = places[row], places[column]
            values[place] = 2 * result.score - 1
            texts[place] = "/".join(map(str, result.counts))
    panel = sheet.add_panel("Won/drawn/lost by each row", "against iteration", "iteration")
    panel.add_heatmap(
        x=[*map(str, iterations)],
        y=[*map(str, iterations)],
        z=values,
        text=texts,
        texttemplate="%{text}" if len(places) <= _MAX_TEXTS else None,
        colorscale="RdBu",
        zmin=-1,
        zmax=1,
        colorbar={"title": {"text": "wins minus losses, a game", "side": "right"}},
        hovertemplate="%{y} against %{x}: %{text}<extra></extra>",
        hoverongaps=False,
    )
    panel.update_layout(hovermode="closest", plot_bgcolor="#EEEEEE")
    panel.update_xaxes(type="category", showgrid=False)
    panel.update_yaxes(type="category", showgrid=False, autorange="reversed")
    return sheet
