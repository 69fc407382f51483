"""Figures of learning: losses, policies, replay, learner and speed."""

import matplotlib.ticker
import numpy as np

from azo.measure import diagnostics
from azo.measure.report import panels, run_log


def sheets(run: run_log.RunLog, fluctuation: diagnostics.Fluctuation | None) -> list[panels.Sheet]:
    """Returns the figures; `fluctuation` is of the run's network, None if not measured."""
    return [
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
            "repeats",
            "Labels of repeated positions",
            "How far the copies of one position contradict each other: the variance of their "
            "values, and the mean divergence of their policies from the mean policy. The network "
            "can learn only the mean, so lower is less noise: compare lambda 1 with 0.98 here.",
            {
                "replay/unique_positions": ("Distinct positions in the replay", "positions"),
                "replay/repeated_share": ("Rows whose position occurs more than once", "share"),
                "replay/value_variance": (
                    "Variance of the values of a repeated position",
                    "variance",
                ),
                "replay/policy_conflict": (
                    "Conflict of the policies of a repeated position",
                    "nats",
                ),
            },
            kind="replay",
        ),
        _fluctuation(fluctuation),
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


def _losses(run: run_log.RunLog) -> panels.Sheet:
    sheet = panels.Sheet(
        "losses",
        "Training and validation loss",
        "Validation is on positions just finished, before any step on them. A growing gap means "
        "that the network memorises the replay. The policy loss cannot fall below the entropy of "
        "its targets.",
    )
    middle = np.array([(span.first + span.last) / 2 for span in run.spans])
    for kind, unit in (("policy", "nats"), ("value", "loss")):
        fields = {"training": f"learner/{kind}_loss", "validation": f"learner/new_{kind}_loss"}
        if kind == "policy":
            fields["entropy of the targets"] = "learner/target_entropy"
        means = {label: run.span_means(field) for label, field in fields.items()}
        means = {label: mean for label, mean in means.items() if not np.isnan(mean).all()}
        if not means:
            sheet.missing.append(fields["training"])
            continue
        x_label = f"iteration (mean of each {run.span_name})"
        axes = sheet.add_panel(f"{kind.capitalize()} loss", x_label, unit)
        for label, mean in means.items():
            panels.curve(axes, label, middle, mean)
        panels.finish_curves(axes, run)
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
    sheet.add_curves(run, "Mass on legal moves", "probability", mass, limits=(0, 1.02))
    return sheet


def _fluctuation(fluctuation: diagnostics.Fluctuation | None) -> panels.Sheet:
    sheet = panels.Sheet(
        "fluctuation",
        "Value against number of simulations",
        "Root values and best moves of the same positions, searched without noise by this run's "
        "network with a growing number of simulations, against the largest search, which is not "
        "exact either. Where the curves flatten, more simulations change little: choose a number "
        "there.",
    )
    if fluctuation is None:
        sheet.missing.append("a checkpoint with a network")
        return sheet
    *sizes, largest = fluctuation.num_simulations
    for title, unit, differences in (
        (f"Value against that of {largest} simulations", "RMS", fluctuation.value_rms),
        (f"Best move differs from that of {largest}", "share", fluctuation.changed_share),
    ):
        axes = sheet.add_panel(
            title,
            "simulations a move",
            f"{unit} of {fluctuation.num_positions} positions",
            limits=(0, 1.1 * max(*differences, 1e-9)),
        )
        axes.plot(sizes, differences[:-1])
        axes.set_xscale("log")
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    return sheet
