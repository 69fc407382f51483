"""Figures of self-play and learning: strength, results, values, losses, policies, speed."""

import numpy as np

from azo.measure.report import panels, run_log

_SHARE = (0, 1.02)  # limits of a share or a score


def sheets(run: run_log.RunLog) -> list[panels.Sheet]:
    """Returns the figures of self-play, then those of learning."""
    return [
        _strength(run),
        _results(run),
        _values(run),
        panels.curve_sheet(
            run,
            "resignation",
            "Resignation",
            "Share of games that were resigned, and the threshold. Some games are played to the "
            "end although a side would have resigned: the share of these that the side did not "
            "lose is to stay below 5 %.",
            {
                "selfplay/resigned_share": ("Games resigned", "share of games"),
                "resignation/threshold": ("Value below which a side resigns", "value"),
                "resignation/false_positive_share": ("Resigned games not lost", "share"),
            },
        ),
        _losses(run),
        _entropies(run),
        panels.curve_sheet(
            run,
            "replay",
            "Replay",
            "Mean number of iterations since the examples of a batch were played; share of a batch "
            "that are distinct positions; number of positions stored. Old examples come from "
            "weaker networks, and repeated ones teach less than their number.",
            {
                "replay/age": ("Age of the examples drawn", "iterations"),
                "replay/unique_share": ("Distinct positions in a batch", "share"),
                "replay/size": ("Positions in the replay", "positions"),
            },
            is_from_zero=True,
        ),
        panels.curve_sheet(
            run,
            "learning",
            "Learner",
            "The learning rate, and the mean norm of the gradient before clipping.",
            {
                "learner/learning_rate": ("Learning rate", "learning rate"),
                "learner/gradient_norm": ("Norm of the gradient", "norm"),
            },
        ),
        panels.curve_sheet(
            run,
            "speed",
            "Speed",
            "Simulations and games a second, learning included, and the time of an iteration. "
            "Other work on the machine and resumptions cause sudden steps.",
            {
                "selfplay/simulations_per_second": ("Simulations", "simulations a second"),
                "selfplay/games_per_second": ("Games", "games a second"),
                "time/iteration_seconds": ("Time of an iteration", "seconds"),
            },
            is_from_zero=True,
        ),
    ]


def _strength(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "strength",
        "Games and strength",
        "Games played, and the score (a draw is half a win) in matches against a fixed opponent "
        "with its 95 % interval, over iterations, games and network evaluations. The last compares "
        "recipes at equal cost. At a gate the new network plays the actor network, and is promoted "
        "if it wins clearly.",
    )
    sheet.add_curves(run, "Games", "games", {"games": "selfplay/games"}, is_from_zero=True)
    _add_scores(sheet, run)
    _add_gates(sheet, run)
    return sheet


def _add_scores(sheet: panels.Sheet, run: run_log.RunLog) -> None:
    iteration, score = run.column("evaluation/score", "evaluation")
    low, high = (run.column(f"evaluation/score_{end}", "evaluation")[1] for end in ("low", "high"))
    interval = (low, high) if len(low) == len(high) == len(score) else ()
    opponents = {str(e.get("evaluation/opponent", "")) for e in run.of_kind("evaluation")}
    totals = {"games": "selfplay/games", "network evaluations": "selfplay/evaluations"}
    for x_label in ("iteration", *totals):
        field = totals.get(x_label)
        x = iteration.astype(float) if field is None else run.total_at(field, iteration)
        if np.isnan(x).all():  # there may be none at all
            continue
        title = f"Score against {', '.join(sorted(opponents))}"
        panel = sheet.add_panel(title, x_label, "score", level=0.5, limits=_SHARE)
        panels.curve(panel, "score", x, score, *interval)
        if field is None:
            panels.mark_phases(panel, run)


def _add_gates(sheet: panels.Sheet, run: run_log.RunLog) -> None:
    verdicts = {"promoted": True, "not promoted": False, "gate": None}
    points = {}
    for label, verdict in verdicts.items():
        events = [e for e in run.of_kind("gate") if e.get("gate/is_promoted") == verdict]
        x, y = run_log.RunLog(events, phases=()).column("gate/score", "gate")
        if len(y):
            points[label] = x, y
    if not points:
        return
    title = "Gates: score against the actor network"
    panel = sheet.add_panel(title, "iteration", "score", level=0.5, limits=_SHARE)
    for label, (x, y) in points.items():
        panels.curve(panel, label, x, y, mode="markers")
    panels.mark_phases(panel, run)


def _results(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "results",
        "Results of self-play",
        "Results of the games that finish in each iteration. The first player is black in Othello. "
        "The same as a score, and the length of games. As play improves, results approach the "
        "result of perfect play.",
    )
    results = {
        "first wins": "selfplay/first_player_wins",
        "draw": "selfplay/draws",
        "second wins": "selfplay/first_player_losses",
    }
    sheet.add_curves(run, "Results", "games of an iteration", results, is_from_zero=True)
    score = {"score": "selfplay/first_player_score"}
    sheet.add_curves(run, "First player's score", "score", score, level=0.5, limits=_SHARE)
    sheet.add_curves(run, "Length of games", "plies", {"plies": "selfplay/mean_plies"})
    return sheet


def _values(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "values",
        "Values and results",
        "The signed error is the network's value minus the result: above 0 the network "
        "overestimates the side to move. The correlation with the result is 1 for perfect values.",
    )
    error = {"error": "selfplay/value_error"}
    sheet.add_curves(run, "Signed value error", "value − result", error, level=0.0)
    correlation = {"correlation": "selfplay/value_correlation"}
    sheet.add_curves(run, "Correlation of value and result", "correlation", correlation)
    return sheet


def _losses(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "losses",
        "Training and validation loss",
        "Validation is on positions just finished, before any step on them. A growing gap means "
        "that the network memorises the replay. The policy loss cannot fall below the entropy of "
        "its targets.",
    )
    policy = {
        "training": "learner/policy_loss",
        "validation": "learner/new_policy_loss",
        "entropy of the targets": "learner/target_entropy",
    }
    value = {"training": "learner/value_loss", "validation": "learner/new_value_loss"}
    sheet.add_curves(run, "Policy loss", "nats", policy)
    sheet.add_curves(run, "Value loss", "loss", value)
    return sheet


def _entropies(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "entropies",
        "Policies",
        "Entropy of a policy: 0 if one move is certain, ln of the number of moves if all are "
        "equally likely. The divergence (KL of the searched from the network's policy) measures "
        "the effect of the search: near 0 it agrees with the network. Mass on legal moves is the "
        "probability that the unmasked network gives to them.",
    )
    entropies = {
        "searched policy": "selfplay/policy_entropy",
        "network's policy": "selfplay/prior_entropy",
        "network's, learner": "learner/entropy",
        "KL of the two": "selfplay/prior_divergence",
    }
    mass = {"legal mass": "selfplay/legal_mass"}
    sheet.add_curves(run, "Entropy and divergence", "nats", entropies)
    sheet.add_curves(run, "Mass on legal moves", "probability", mass, limits=_SHARE)
    return sheet
