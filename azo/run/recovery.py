"""Numbers that are infinite or NaN: a run stops, or goes back and continues with lower rates.

The compiled iteration checks its numbers. The state of an iteration that fails is never saved.
`not_finite.jsonl` in the run's folder keeps a record of it, which no resumed run removes: the
iteration, its figures, and the arrays of the learner with the number of bad entries.
"""

import dataclasses
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from azo.learning import run_state, statistics
from azo.measure import journal
from azo.run import config, devices, metrics

FILE = "not_finite.jsonl"
MAX_RETRIES = 8
_RATES = ("learning_rate", "table_feature_rate", "table_logit_rate")


class NotFiniteError(ValueError):
    """Numbers of an iteration are not finite; `is_retried` says whether the run goes back."""

    def __init__(self, message: str, *, is_retried: bool):
        """Stores one line for the user."""
        super().__init__(message)
        self.is_retried = is_retried


def num_retries(folder: pathlib.Path) -> int:
    """Returns how often a run has gone back to lower rates, equal in all processes."""
    count = 0
    if devices.is_first():
        records = journal.read(folder / FILE, _parse)
        count = sum(record["is_retried"] for record in records)
    return devices.broadcast_from_first([count])[0]


def with_lower_rates(settings: config.Config, times: int) -> config.Config:
    """Returns settings with all learning rates multiplied by `run.retry_rate`, `times` times."""
    factor = settings.run.retry_rate**times
    rates = {name: getattr(settings.learner, name) * factor for name in _RATES}
    return settings.model_copy(update={"learner": settings.learner.model_copy(update=rates)})


def check(
    settings: config.Config,
    state: run_state.RunState,
    finite: statistics.Finite,
    figures: Mapping[str, Any],
    *,
    latest: int | None,
) -> None:
    """Records an iteration whose numbers are not finite, and raises an error.

    Every process of a run has to call it.

    Args:
      settings: of the run.
      state: after the iteration.
      finite: which of its numbers are finite, on the host.
      figures: of the iteration, by their names in the metrics.
      latest: iteration of the latest checkpoint, None without one.

    Raises:
      NotFiniteError: A number is not finite.
    """
    bad = [name.replace("_", " ") for name, good in dataclasses.asdict(finite).items() if not good]
    if not bad:
        return
    folder, iteration = settings.run.folder, int(state.iteration)
    times = num_retries(folder)
    is_retried = settings.run.retry_rate > 0 and times < MAX_RETRIES
    with devices.first_succeeds(f"{folder}: see the message of the first process"):
        if devices.is_first():
            record = {
                "iteration": iteration,
                "not_finite": bad,
                "is_retried": is_retried,
                "checkpoint": latest,
                "learning_rate": with_lower_rates(settings, times).learner.learning_rate,
                "figures": metrics.plain(figures),
                "arrays": _bad_arrays(state.learner),
            }
            journal.append(folder / FILE, json.dumps(record))
    place = "the beginning" if latest is None else f"checkpoint {latest}"
    kept = "there is no checkpoint yet" if latest is None else f"checkpoint {latest} is kept"
    message = f"{folder}: not finite in iteration {iteration}: {', '.join(bad)} (see {FILE})."
    if is_retried:
        message += f" Going back to {place} with rates times {settings.run.retry_rate:g}"
    elif settings.run.retry_rate:
        message += f" Stopped after {times} lower rates; {kept}"
    else:
        message += (
            f" Stopped; {kept}. Continue from {place} with lower rates by --run.retry-rate"
            f" 0.5, or begin a run with a learner.learning_rate below"
            f" {settings.learner.learning_rate:g}"
        )
    raise NotFiniteError(message, is_retried=is_retried)


def _bad_arrays(learner: Any) -> dict[str, int]:
    """Returns the number of entries that are not finite, by the name of the array."""
    counts = {}
    for path, leaf in jax.tree.leaves_with_path(learner):
        count = int((~np.isfinite(np.asarray(leaf.addressable_data(0)))).sum())
        if count:
            counts[jax.tree_util.keystr(path, simple=True, separator=".")] = count
    return counts


def _parse(line: str) -> dict[str, Any]:
    record = json.loads(line)
    if not isinstance(record["is_retried"], bool):
        raise ValueError("not a record of numbers that are not finite")
    return record
