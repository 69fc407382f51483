"""Pictures of what is learned from, and how."""

import numpy as np

from azo.measure import diagnostics
from azo.measure.report import panels, run_log


def pictures(
    record: run_log.Record, fluctuation: diagnostics.Fluctuation | None
) -> list[panels.Picture]:
    """Returns the pictures; `fluctuation` is of the run's network, None if not measured."""
    return [
        _losses(record),
        _entropies(record),
        _replay(record),
        _repeats(record),
        _fluctuation(fluctuation),
        _learning(record),
        _speed(record),
    ]


def _losses(record: run_log.Record) -> panels.Picture:
    parts: dict[str, panels.Panel | None] = {}
    for kind, unit in (("policy", "nats"), ("value", "loss")):
        fields = {
            "training": f"learner/{kind}_loss",
            "validation": f"learner/new_{kind}_loss",
        }
        if kind == "policy":
            fields["entropy of the targets"] = "learner/target_entropy"
        found = {label: run_log.cycle_means(record, field) for label, field in fields.items()}
        middle = np.array([(c.first + c.last) / 2 for c in record.cycles])
        series = [panels.Series(k, middle, y) for k, y in found.items() if not np.isnan(y).all()]
        parts[fields["training"]] = (
            panels.Lines(
                title=f"{kind.capitalize()} loss",
                x_label=f"iteration (mean of each {record.cycle_name})",
                y_label=unit,
                series=series,
                marks=panels.phase_marks(record),
            )
            if series
            else None
        )
    return panels.picture(
        "losses",
        "Training and validation loss",
        "Validation is on positions just finished, before any step on them. A gap that grows means "
        "that the network learns the replay by heart. The policy loss cannot fall below the "
        "entropy of its targets.",
        parts,
    )


def _entropies(record: run_log.Record) -> panels.Picture:
    entropies = {
        "searched policy": "selfplay/policy_entropy",
        "network's policy": "selfplay/prior_entropy",
        "network's, learner": "learner/entropy",
        "KL of the two": "selfplay/prior_divergence",
    }
    return panels.picture(
        "entropies",
        "Policies",
        "Entropy says how undecided a policy is (ln of the number of moves if all are alike, 0 if "
        "one is certain). The divergence (KL of the searched from the network's) is what the "
        "search adds: near 0 it agrees with the network. Mass on legal moves is what "
        "the network, unmasked, gives to them.",
        {
            "selfplay/policy_entropy": panels.curves(
                record.iterations, "Entropy and divergence", "nats", entropies, record
            ),
            "selfplay/legal_mass": panels.curves(
                record.iterations,
                "Mass on legal moves",
                "probability",
                {"legal mass": "selfplay/legal_mass"},
                record,
                limits=(0, 1.02),
            ),
        },
    )


def _replay(record: run_log.Record) -> panels.Picture:
    single = {
        "replay/age": ("Age of the examples drawn", "iterations"),
        "replay/unique_share": ("Distinct positions in a batch", "share"),
        "replay/size": ("Positions in the replay", "positions"),
    }
    return panels.picture(
        "replay",
        "Replay",
        "Mean number of iterations since the examples of a batch were played; the share of a batch "
        "that are distinct positions; positions kept. Old examples come from weaker networks, "
        "repeated ones teach less than their number.",
        panels.singles(record.iterations, single, record, is_from_zero=True),
    )


def _repeats(record: run_log.Record) -> panels.Picture:
    single = {
        "replay/unique_positions": ("Distinct positions in the replay", "positions"),
        "replay/repeated_share": ("Rows whose position occurs more than once", "share"),
        "replay/value_variance": ("Variance of the values of a repeated position", "variance"),
        "replay/policy_conflict": ("Conflict of the policies of a repeated position", "nats"),
    }
    return panels.picture(
        "repeats",
        "Labels of repeated positions",
        "How far the copies of one position contradict each other: the variance of their values, "
        "and the mean divergence of their policies from the mean one. The network can learn "
        "the mean alone, so lower is less noise: compare lambda 1 with 0.98 here.",
        panels.singles(record.replays, single, record),
    )


def _fluctuation(found: diagnostics.Fluctuation | None) -> panels.Picture:
    caption = (
        "Root values and best moves of the same positions, searched without noise by this run's "
        "network with ever more simulations, against the largest search, which is no truth "
        "either. Where the curves flatten, more simulations change little: choose a number there."
    )
    parts: dict[str, panels.Panel | None] = {"a checkpoint with a network": None}
    if found is not None:
        largest = found.num_simulations[-1]
        x = np.array(found.num_simulations[:-1], float)
        parts = {
            name: panels.Lines(
                title=title,
                x_label="simulations a move",
                y_label=f"{unit} of {found.num_positions} positions",
                series=[panels.Series(name, x, np.array(y[:-1]))],
                is_x_log=True,
                limits=(0, 1.1 * max(*y, 1e-9)),
            )
            for name, title, unit, y in (
                ("value", f"Value against that of {largest} simulations", "RMS", found.value_rms),
                ("move", f"Another best move than {largest}'s", "share", found.changed_share),
            )
        }
    return panels.picture("fluctuation", "Value against number of simulations", caption, parts)


def _learning(record: run_log.Record) -> panels.Picture:
    single = {
        "learner/learning_rate": ("Learning rate", "learning rate"),
        "learner/gradient_norm": ("Norm of the gradient", "norm"),
    }
    return panels.picture(
        "learning",
        "Learner",
        "The learning rate of each iteration and the mean norm of the gradient before clipping.",
        panels.singles(record.iterations, single, record),
    )


def _speed(record: run_log.Record) -> panels.Picture:
    single = {
        "selfplay/simulations_per_second": ("Simulations", "simulations a second"),
        "selfplay/games_per_second": ("Games", "games a second"),
        "time/iteration_seconds": ("Time of an iteration", "seconds"),
    }
    return panels.picture(
        "speed",
        "Speed",
        "What an iteration does in a second, learning included. Sudden steps come from other work "
        "on the machine or from a resumption.",
        panels.singles(record.iterations, single, record, is_from_zero=True),
    )
