"""Settings that a user has typed: each has its effect, or one line says what prevents it.

A flag, and an argument of the library, wins over settings files and over what they schedule. Where
another setting takes its effect away, it is refused with the name of that setting. The settings
classes say so beside their fields: `NEEDS` names what a setting needs (see `setting_types.Needs`),
`NO_EFFECT` gives the reason why a command has no use for one, `LIMITS` lists settings of which any
may end the same thing. Files are not checked, so a recipe may set what only its variants use.
"""

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pydantic

from azo.settings import setting_types

Show = Callable[[str, Any], str]
"""Returns the text of a setting, by its full name, and a value."""


class Typed(NamedTuple):
    """Settings that follow what was typed, and lines on where a typed value does not hold."""

    settings: Any
    notes: Sequence[str]


def as_flag(name: str, value: Any) -> str:
    """Returns a setting as a flag of the command line."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        section, dot, own = flag.rpartition(".")
        return f"--{section}{dot}{'' if value else 'no-'}{own}"
    return f"--{flag} {text(value)}".strip()


def is_table(value: Any) -> bool:
    """Returns whether a setting holds tables of TOML, which no flag can give."""
    parts = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(part, pydantic.BaseModel | Mapping) for part in parts)


def as_name(name: str, value: Any) -> str:
    """Returns a setting by its full name, as in Python."""
    return f"{name} = {value!r}"


def text(value: Any) -> str:
    """Returns a value as it is typed."""
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, list | tuple):
        return " ".join(map(text, value))
    return str(value)


def leaves(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the settings in nested dictionaries, or in names with dots, by full names."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        is_section = isinstance(value, Mapping) and bool(value)
        found |= leaves(value, f"{prefix}{name}.") if is_section else {prefix + name: value}
    return found


def value_of(settings: Any, name: str) -> Any:
    """Returns the value of a setting, by its full name."""
    return operator.attrgetter(name)(settings)


def replaced(settings: Any, name: str, value: Any) -> Any:
    """Returns settings with one replaced, by its full name, without a check."""
    section, _, own = name.partition(".")
    if own:
        value = replaced(getattr(settings, section), own, value)
    return settings.model_copy(update={section: value})


def needs_of(kind: type[pydantic.BaseModel], prefix: str = "") -> dict[str, list[Any]]:
    """Returns what the settings of a class need, by full names.

    What a section needs, each of its settings needs.
    """
    table: dict[str, list[Any]] = {}
    for name, section in _sections(kind).items():
        table |= needs_of(section, f"{prefix}{name}.")
    for base in reversed(kind.__mro__):
        for name, needs in vars(base).get("NEEDS", {}).items():
            own = [_with_prefix(one, prefix) for one in needs]
            for setting in setting_types.fields_of(kind):
                if setting == name or setting.startswith(f"{name}."):
                    table[prefix + setting] = table.get(prefix + setting, []) + own
    return table


def has_effect(settings: Any, name: str) -> bool:
    """Returns whether a setting, by its full name, has what it needs."""
    return _first_unmet(settings, needs_of(type(settings)).get(name, ())) is None


def reasons_of(kind: type[pydantic.BaseModel], prefix: str = "") -> dict[str, str]:
    """Returns why settings of a class have no effect at all, by full names."""
    table: dict[str, str] = {}
    for name, section in _sections(kind).items():
        table |= reasons_of(section, f"{prefix}{name}.")
    for base in reversed(kind.__mro__):
        own = vars(base).get("NO_EFFECT", {})
        table |= {prefix + name: reason for name, reason in own.items()}
    return table


def limits_of(kind: type[pydantic.BaseModel], prefix: str = "") -> list[tuple[str, ...]]:
    """Returns groups of settings of which any may end the same thing, by full names."""
    groups = [tuple(prefix + name for name in getattr(kind, "LIMITS", ()))]
    for name, section in _sections(kind).items():
        groups += limits_of(section, f"{prefix}{name}.")
    return [group for group in groups if group]


def replaced_limits(kind: type[pydantic.BaseModel], typed: Mapping[str, Any]) -> set[str]:
    """Returns the limits that give way to typed ones: all others of their groups."""
    others: set[str] = set()
    for group in limits_of(kind):
        if any(typed.get(name) is not None for name in group):
            others |= set(group) - typed.keys()
    return others


def check(stages: Sequence[Any], typed: Collection[str], show: Show = as_flag) -> list[str]:
    """Checks that typed settings have an effect in at least one of the stages of a run.

    Returns a line for each that has none in some of them. `stages` are settings of one class, at
    least one.

    Raises:
      ValueError: One line: a typed setting has no effect in any stage.
    """
    kind, notes = type(stages[0]), []
    table, reasons = needs_of(kind), reasons_of(kind)
    for name in typed:
        value = value_of(stages[0], name)
        if name in reasons:
            raise ValueError(f"{show(name, value)} has no effect: {reasons[name]}")
        unmet = [_first_unmet(stage, table.get(name, ())) for stage in stages]
        lacking = [(one, stage) for one, stage in zip(unmet, stages, strict=True) if one]
        if not lacking:
            continue
        needs, stage = lacking[0]
        blocking = show(needs.setting, value_of(stage, needs.setting))
        if None not in unmet:
            remedy = _remedy(needs, show)
            raise ValueError(f"{show(name, value)} has no effect with {blocking}: {remedy}")
        notes.append(f"{show(name, value)} has no effect in the part of the run with {blocking}")
    return notes


def _sections(kind: type[pydantic.BaseModel]) -> dict[str, type[pydantic.BaseModel]]:
    sections = {name: setting_types.section_of(field) for name, field in kind.model_fields.items()}
    return {name: section for name, section in sections.items() if section is not None}


def _with_prefix(needs: setting_types.Needs, prefix: str) -> setting_types.Needs:
    alternatives = tuple(_with_prefix(one, prefix) for one in needs.alternatives)
    return setting_types.Needs(prefix + needs.setting, needs.values, needs.excluded, alternatives)


def _first_unmet(settings: Any, table: Iterable[setting_types.Needs]) -> setting_types.Needs | None:
    return next((needs for needs in table if not _is_met(settings, needs)), None)


def _is_met(settings: Any, needs: setting_types.Needs) -> bool:
    value = value_of(settings, needs.setting)
    is_met = value in needs.values if needs.values else value not in needs.excluded
    return is_met or any(_is_met(settings, one) for one in needs.alternatives)


def _remedy(needs: setting_types.Needs, show: Show) -> str:
    if needs.values:
        first, *others = needs.values
        if first is None or first == ():
            return f"it needs no {show(needs.setting, ())}"
        return f"it needs {' or '.join([show(needs.setting, first), *map(text, others)])}"
    names = [needs.setting, *(one.setting for one in needs.alternatives)]
    return f"it needs another value of {' or '.join(names)}"
