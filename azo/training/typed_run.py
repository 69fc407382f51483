"""The settings of a run that a user has typed: they hold for the whole run, or a line says where.

The rules for settings of all commands are in `typed_settings`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from azo.settings import typed_settings
from azo.training import config

_LISTS = dict(zip(config.LISTS, ("schedule", "curriculum"), strict=True))
_RATINGS = "fewer if all ratings would take more than a tenth of the time"
# How far a typed value may be from what a run uses, from the settings.
_BOUNDS: Mapping[str, str] = {
    "ratings.num_points": _RATINGS,
    "ratings.num_games": _RATINGS,
}
_RATES = ("learner.learning_rate", "learner.table_feature_rate", "learner.table_logit_rate")


def apply(
    settings: config.Config,
    changes: Mapping[str, Any],
    show: typed_settings.Show = typed_settings.as_flag,
) -> typed_settings.Typed:
    """Returns settings with typed ones, by full names, in place of all that a recipe plans.

    A typed setting replaces what the schedule and the phases set. A typed limit of a run replaces
    all other limits. Each note is a line on what was replaced, or on where a typed value does not
    hold.

    Raises:
      ValueError: One line: a setting is wrong, or another one takes its effect away.
    """
    typed = typed_settings.leaves(changes)
    typed = {_list_of(name): value for name, value in typed.items()}
    limits = sorted(typed_settings.replaced_limits(config.Config, typed))
    base, planned = _without(settings, [*typed, *limits], kept=typed)
    changed = config.with_settings(base, dict.fromkeys(limits) | dict(changes))
    stages = [*_stages(changed)]
    notes = []
    for name in typed:
        value = typed_settings.value_of(changed, name)
        of_stages = [typed_settings.value_of(stage, name) for stage in stages]
        shown = show(name, value)
        for place, values in planned.items():
            if _distinct(values.get(name, ()), value):
                notes.append(f"{shown} replaces the recipe's {place} {_distinct(values[name])}")
        if (others := _distinct(of_stages, value)) and name not in (*_LISTS, "run.folder"):
            notes.append(f"{shown} does not hold for the whole run: later it is {others}")
        if name in _BOUNDS:
            notes.append(f"{shown}: {_BOUNDS[name]}")
        schedule = changed.learner.schedule
        if name in _RATES and schedule != "constant":
            constant = show("learner.schedule", "constant")
            notes.append(f"{shown} is the peak of schedule {schedule!r}; {constant} keeps it")
    new = ", ".join(show(name, typed[name]) for name in typed if name in config.Config.LIMITS)
    for name in limits:
        left_out = (value for one in planned.values() for value in one.get(name, ()))
        old = [typed_settings.value_of(settings, name), *left_out]
        if others := _distinct(old, None):
            notes.append(f"{new} replaces the recipe's {name} {others}")
    notes += typed_settings.check(stages, [name for name in typed if name not in _LISTS], show)
    return typed_settings.Typed(changed, notes)


def _list_of(name: str) -> str:
    """Returns the name of the list that an entry such as generation.schedule.0.start is part of."""
    return next((one for one in _LISTS if name.startswith(f"{one}.")), name)


def _without(
    settings: config.Config, names: Iterable[str], kept: Iterable[str]
) -> tuple[config.Config, dict[str, dict[str, list[Any]]]]:
    """Returns settings whose schedule and phases leave some names out, and the values left out.

    The values are by the word for their place and by name. Lists among the `kept` names stay.
    """
    kept, names = set(kept), set(names)
    planned: dict[str, dict[str, list[Any]]] = {}
    for place, word in _LISTS.items():
        if place in kept:
            continue
        values, entries = planned.setdefault(word, {}), []
        for entry in typed_settings.value_of(settings, place):
            for name in names & entry.set.keys():
                values.setdefault(name, []).append(entry.set[name])
            own = {name: value for name, value in entry.set.items() if name not in names}
            if own or word == "curriculum":  # a phase without settings is a phase
                entries.append(entry.model_copy(update={"set": own}))
        settings = typed_settings.replaced(settings, place, tuple(entries))
    return settings, planned


def _stages(settings: config.Config) -> Iterator[config.Config]:
    """Yields all settings that a run can have, phase by phase."""
    phases = [config.of_phase(settings, index) for index in range(len(settings.curriculum))]
    for phase in phases or [settings]:
        entries = phase.generation.schedule
        for generation in sorted({0, *(entry.start for entry in entries)}):
            for share in sorted({0.0, *(entry.share for entry in entries)}):
                yield config.scheduled(phase, generation, share)


def _distinct(values: Iterable[Any], *known: Any) -> str:
    """Returns the text of all values but those known, each once, or nothing."""
    others = (value for value in values if value not in known)
    return ", ".join(dict.fromkeys(map(typed_settings.text, others)))
