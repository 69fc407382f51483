"""Figures of self-play, learning and Elo, and the figure of calibration: mean results by value."""

import pathlib
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from azo.lab import ladder, run_matches
from azo.lab.report import panels, run_log

_MAX_LEVELS = 5  # fixed players whose Elo is shown
FILE = pathlib.Path(__file__).with_name("figures.toml")
"""Titles, captions and panels of all figures but those of strength and Elo."""


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures of self-play, of learning and of Elo that have panels."""
    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["figures"]
    every = [_strength(run), *(panels.curve_sheet(run, **one) for one in listed), _elo(run)]
    return [sheet for sheet in every if sheet.panels]


def calibration(sets: Mapping[str, Mapping[str, Sequence[Any]]]) -> panels.Sheet:
    """Returns a figure with a panel for each set of positions and a curve for each player.

    The bins (`accuracy.Bin`) are by the name of the set and of the player, of whom there are up to
    `accuracy.MAX_CURVES`. The last player of a set has 95 % intervals.
    """
    figure = panels.Sheet("calibration", "Calibration", "")
    for name, by_player in sets.items():
        panel = figure.add_panel(name.partition(".")[0], "value", "mean result")
        for number, (player, bins) in enumerate(by_player.items(), start=1):
            value, result = (np.array([getattr(b, x) for b in bins]) for x in ("value", "result"))
            interval = np.array([one.interval for one in bins]).T
            is_last = number == len(by_player)  # several intervals hide one another
            panels.curve(panel, player, value, result, *(interval if is_last else ()))
        panels.curve(panel, "as predicted", np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))
    return figure


def _strength(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.curve_sheet(
        run,
        "strength",
        "Games and strength",
        "Games played, and the score (a draw is half a win) in matches against a fixed opponent "
        "with its 95 % interval, over iterations, games and network evaluations. The last compares "
        "recipes at equal cost. At a gate the new network plays the actor network, and is promoted "
        "if it wins clearly.",
        [("Games", "games", "selfplay/games")],
    )
    iteration, score = run.column("evaluation/score", "evaluation")
    low, high = (run.column(f"evaluation/score_{end}", "evaluation")[1] for end in ("low", "high"))
    interval = (low, high) if len(low) == len(high) == len(score) else ()
    opponents = {str(e.get("evaluation/opponent", "")) for e in run.of_kind("evaluation")}
    places = {"iteration": iteration.astype(float)}
    places["games"] = run.total_at("selfplay/games", iteration)
    places["network evaluations"] = run.total_at("selfplay/evaluations", iteration)
    for label, x in places.items():
        if np.isnan(x).all():  # there may be none at all
            continue
        title = f"Score against {', '.join(sorted(opponents))}"
        panel = sheet.add_panel(title, label, "score")
        panels.curve(panel, "score", x, score, *interval)
        if label == "iteration":
            panels.mark_phases(panel, run)

    scored = [event for event in run.of_kind("gate") if event.get("gate/score") is not None]
    if scored:
        panel = sheet.add_panel("Gates: score against the actor network", "iteration", "score")
        for label, verdict in (("promoted", 1), ("not promoted", 0)):
            gates = [event for event in scored if event.get("gate/is_promoted") == verdict]
            x, y = run_log.RunLog(gates, phases=()).column("gate/score", "gate")
            if gates:
                panels.curve(panel, label, x, y, mode="markers")
        panels.mark_phases(panel, run)
    return sheet


def _elo(run: run_log.RunLog) -> panels.Sheet:
    pairings = [run_matches.pairing(event) for event in run.of_kind("rating_match")]
    sheet = panels.Sheet(
        "elo",
        "Elo by generation",
        "Generations, rated by their matches against fixed players (the level lines). All matches "
        "are rated together, so a later match moves earlier points too.",
    )
    pool = {one.second for one in pairings}
    on_ladder = not ladder.RATINGS.keys().isdisjoint(pool)
    met = {one.first for one in pairings}
    ratings = [  # without those whose matches a damaged line has lost
        event
        for event in run.of_kind("rating")
        if run_matches.name(event["iteration"]) in met
        and (on_ladder or event["rating/anchor"] in pool)
    ]
    if not ratings:
        return sheet
    anchor = ratings[-1]["rating/anchor"]
    rated = ladder.rate(pairings, anchor)
    levels = sorted((rated[name] for name in pool), key=lambda one: -one.rating)
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
