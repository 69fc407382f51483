"""Figures of self-play, learning and Elo."""

import pathlib
import tomllib

import numpy as np

from azo.report import panels, run_log

_MAX_LEVELS = 5  # fixed players whose Elo is shown
FILE = pathlib.Path(__file__).with_name("figures.toml")
"""Titles, captions and panels of all figures but those of strength and Elo."""


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures of self-play, of learning and of Elo that have panels."""
    listed = tomllib.loads(FILE.read_text(encoding="utf-8"))["figures"]
    every = [_elo(run), _strength(run), *(panels.curve_sheet(run, **one) for one in listed)]
    return [sheet for sheet in every if sheet.panels]


def _strength(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.curve_sheet(
        run,
        "strength",
        "Games and strength",
        "Games played, and the score (a draw is half a win) in matches against a fixed opponent, "
        "with its 95 % interval. At a gate the new network plays against the actor network, and "
        "is promoted if it wins clearly.",
        [("Games", "games", "selfplay/games")],
    )
    iteration, score = run.column("evaluation/score", "evaluation")
    if len(score):
        low, high = (run.column(f"evaluation/score_{x}", "evaluation")[1] for x in ("low", "high"))
        interval = (low, high) if len(low) == len(high) == len(score) else ()
        opponents = {str(e.get("evaluation/opponent", "")) for e in _scored(run)}
        title = f"Score against {', '.join(sorted(opponents))}"
        panel = sheet.add_panel(title, "iteration", "score")
        met = np.array([str(e.get("evaluation/opponent", "")) for e in _scored(run)])
        colours = panels.opponent_colours(run)
        for name in sorted(opponents):
            among = [part[met == name] for part in (iteration, score, *interval)]
            label = name if len(opponents) > 1 else "score"
            panels.curve(panel, label, *among, colour=colours[name])
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


def _scored(run: run_log.RunLog) -> list[run_log.Event]:
    """Returns the evaluations with a score."""
    return [e for e in run.of_kind("evaluation") if e.get("evaluation/score") is not None]


def _elo(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "elo",
        "Elo and lost discs",
        "Elo with its 95 % interval, from matches against fixed players of about equal strength "
        "(the horizontal lines; docs/notebook/classical.md), and the mean number of discs that the "
        "network loses per move in solved positions with 14 empty squares.",
    )
    ratings = run.of_kind("rating")
    if not ratings:
        return sheet
    elo, low, high, lost = (
        np.array([event[f"rating/{name}"] for event in ratings], float)
        for name in ("elo", "elo_low", "elo_high", "discs_lost")
    )
    label, field = ("iteration", "iteration") if run.phases else ("minutes", "time/minutes")
    place = np.array([event[field] for event in ratings], float)
    colours = panels.opponent_colours(run)
    panel = sheet.add_panel("Elo", label, "Elo")
    panels.curve(panel, "network", place, elo, low, high)
    names = ("rating/opponents", "rating/opponents_elo")
    met = dict(one for event in ratings for one in zip(*(event[x] for x in names), strict=False))
    for name, level in sorted(met.items(), key=lambda one: one[1])[-_MAX_LEVELS:]:
        panels.curve(panel, name, place[[0, -1]], np.full(2, level), colour=colours[name])
    panels.curve(sheet.add_panel("Discs lost per move", label, "discs"), "network", place, lost)
    panels.mark_phases(panel, run)
    return sheet
