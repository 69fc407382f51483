"""Limits that end a run: iterations, network evaluations, processor time."""

from collections.abc import Sequence
from typing import NamedTuple

from azo.run import config


class Limit(NamedTuple):
    """One limit of a run."""

    reason: str  # to end the run, once the limit is reached
    share: float  # used so far
    flag: str  # that doubles the limit


def of_run(
    run: config.RunConfig, *, iterations: int, evaluations: int, processor_seconds: float
) -> list[Limit]:
    """Returns all limits of a run that has used so much."""
    used = {"num_iterations": (iterations, "iterations are done")}
    if run.max_evaluations is not None:
        used["max_evaluations"] = (evaluations, "evaluations are used")
    if run.max_processor_seconds is not None:
        used["max_processor_seconds"] = (int(processor_seconds), "processor seconds are used")
    limits = []
    for name, (number, verdict) in used.items():
        most = getattr(run, name)
        text = f"{most}" if name == "num_iterations" else f"{most:,.15g}"
        flag = f"--run.{name.replace('_', '-')} {2 * most:.15g}"
        limits.append(Limit(f"all {text} {verdict}", number / most, flag))
    return limits


def continuation(limits: Sequence[Limit]) -> str:
    """Returns how to continue a run whose limits are reached, "" if none is."""
    flags = " ".join(limit.flag for limit in limits if limit.share >= 1)
    return f"the same command with {flags} continues it" if flags else ""
