"""Figures of self-play, learning and Elo, and the figure of calibration: mean results by value."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from azo.lab import ladder, run_matches
from azo.lab.report import panels, run_log

_MAX_LEVELS = 5  # fixed players whose Elo is shown

_SHEETS: list[tuple[str, str, str, list[panels.Curves]]] = [  # name, title, caption, panels
    (
        "results",
        "Results of self-play",
        "Results of the games that finish in each iteration. The first player is black in Othello. "
        "The same as a score, and the length of games. As play improves, results approach the "
        "result of perfect play.",
        [
            (
                "Results",
                "games of an iteration",
                {
                    "first wins": "selfplay/first_player_wins",
                    "draw": "selfplay/draws",
                    "second wins": "selfplay/first_player_losses",
                },
            ),
            ("First player's score", "score", "selfplay/first_player_score"),
            ("Length of games", "plies", "selfplay/mean_plies"),
        ],
    ),
    (
        "values",
        "Values and results",
        "The signed error is the network's value minus the result: above 0 the network "
        "overestimates the side to move. The correlation with the result is 1 for perfect values.",
        [
            ("Signed value error", "value − result", "selfplay/value_error"),
            ("Correlation of value and result", "correlation", "selfplay/value_correlation"),
        ],
    ),
    (
        "resignation",
        "Resignation",
        "Share of games that were resigned, and the threshold. Some games are played to the "
        "end although a side would have resigned: the share of these that the side did not "
        "lose is to stay below 5 %.",
        [
            ("Games resigned", "share of games", "selfplay/resigned_share"),
            ("Value below which a side resigns", "value", "resignation/threshold"),
            ("Resigned games not lost", "share", "resignation/false_positive_share"),
        ],
    ),
    (
        "losses",
        "Training and validation loss",
        "Validation is on positions just finished, before any step on them. A growing gap means "
        "that the network memorises the replay. The policy loss cannot fall below the entropy of "
        "its targets.",
        [
            (
                "Policy loss",
                "nats",
                {
                    "training": "learner/policy_loss",
                    "validation": "learner/new_policy_loss",
                    "entropy of the targets": "learner/target_entropy",
                },
            ),
            (
                "Value loss",
                "loss",
                {"training": "learner/value_loss", "validation": "learner/new_value_loss"},
            ),
        ],
    ),
    (
        "entropies",
        "Policies",
        "Entropy of a policy: 0 if one move is certain, ln of the number of moves if all are "
        "equally likely. The divergence (KL of the searched from the network's policy) measures "
        "the effect of the search: near 0 it agrees with the network. Mass on legal moves is the "
        "probability that the unmasked network gives to them.",
        [
            (
                "Entropy and divergence",
                "nats",
                {
                    "searched policy": "selfplay/policy_entropy",
                    "network's policy": "selfplay/prior_entropy",
                    "network's, learner": "learner/entropy",
                    "KL of the two": "selfplay/prior_divergence",
                },
            ),
            ("Mass on legal moves", "probability", "selfplay/legal_mass"),
        ],
    ),
    (
        "replay",
        "Replay",
        "Mean number of iterations since the examples of a batch were played; share of a batch "
        "that are distinct positions; number of positions stored. Old examples come from "
        "weaker networks, and repeated ones teach less than their number.",
        [
            ("Age of the examples drawn", "iterations", "replay/age"),
            ("Distinct positions in a batch", "share", "replay/unique_share"),
            ("Positions in the replay", "positions", "replay/size"),
        ],
    ),
    (
        "learning",
        "Learner",
        "The learning rate, and the mean norm of the gradient before clipping.",
        [
            ("Learning rate", "learning rate", "learner/learning_rate"),
            ("Norm of the gradient", "norm", "learner/gradient_norm"),
        ],
    ),
    (
        "speed",
        "Speed",
        "Simulations and games a second, learning included, and the time of an iteration. "
        "Other work on the machine and resumptions cause sudden steps.",
        [
            ("Simulations", "simulations a second", "selfplay/simulations_per_second"),
            ("Games", "games a second", "selfplay/games_per_second"),
            ("Time of an iteration", "seconds", "time/iteration_seconds"),
        ],
    ),
]


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures of self-play, of learning and of Elo that have panels."""
    every = [_strength(run), *(panels.curve_sheet(run, *one) for one in _SHEETS), _elo(run)]
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
