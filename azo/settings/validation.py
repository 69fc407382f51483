"""Settings from TOML files, with validation errors as one line each.

A message names the file or flag, the setting and the value found, and says what would work.
"""

import contextlib
import difflib
import pathlib
import tomllib
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pydantic

from azo.settings import import_paths, setting_types
from azo.storage import files

Settings = TypeVar("Settings", bound=pydantic.BaseModel)
_MAX_DEPTH = 50  # of nested values; settings have at most 6


def load(kind: type[Settings], path: pathlib.Path, what: str, **changes: Any) -> Settings:
    """Returns the settings of a TOML file, its top-level settings changed where given.

    Messages call such files by `what`, such as "queue".
    """
    return validate(kind, read_toml(path, what) | changes, str(path))


def read_toml(path: pathlib.Path, what: str) -> dict[str, Any]:
    """Returns the content of a TOML file; raises ValueError with one line."""
    if not path.exists():
        raise ValueError(f"{path}: no such {what} file")
    text = files.read_text(path)
    try:
        tree = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    _check_tree(tree, str(path))
    return tree


def validate(
    kind: type[Settings], tree: Any, place: str | None, *, ignores_unknown: bool = False
) -> Settings:
    """Returns settings from nested dictionaries, which come from a file, or, without one, flags.

    `ignores_unknown` accepts settings of other versions, which are not read. Those that are renamed
    are read from files. Import paths in a file are refused unless they are allowed.
    """
    _check_tree(tree, place)
    tree = tree if place is None else with_current_names(kind, tree)
    extra: Literal["ignore"] | None = "ignore" if ignores_unknown else None
    try:
        with contextlib.nullcontext() if place is None else import_paths.from_file():
            return kind.model_validate(tree, extra=extra)
    except pydantic.ValidationError as error:
        raise ValueError(_describe(error, kind, place)) from None


def with_current_names(kind: type[pydantic.BaseModel], tree: Any) -> Any:
    """Returns nested settings whose former names are replaced by those of today.

    A settings class lists its former names in `RENAMED`, beside its fields.
    """
    if not isinstance(tree, Mapping):
        return tree
    renamed = renamed_in(kind)
    current = {name: value for name, value in tree.items() if name not in renamed}
    for name in tree.keys() & renamed.keys():
        section, _, setting = renamed[name].partition(".")
        if isinstance(current.setdefault(section, {}), Mapping):
            current[section] = {**current[section], setting: tree[name]}
    for name, field in kind.model_fields.items():
        if name in current and (inner := setting_types.section_of(field)):
            current[name] = with_current_names(inner, current[name])
    return current


def with_former_defaults(kind: type[pydantic.BaseModel], tree: Any) -> Any:
    """Returns nested settings with former defaults in place of what is missing.

    A file that azo has written holds all settings of its version. One that it lacks has no effect
    there, or has the default of that time, which a settings class lists in `FORMER_DEFAULTS` where
    it has changed.
    """
    if not isinstance(tree, Mapping):
        return tree
    filled = {**getattr(kind, "FORMER_DEFAULTS", {}), **tree}
    for name, field in kind.model_fields.items():
        inner = setting_types.section_of(field)
        if inner is not None and (name in filled or not field.is_required()):
            filled[name] = with_former_defaults(inner, filled.get(name, {}))
    return filled


def current_name(kind: type[pydantic.BaseModel], name: str) -> str:
    """Returns the name of today of a setting, by its full name; unknown ones stay."""
    own, _, rest = name.partition(".")
    if not rest:
        return renamed_in(kind).get(own, name)
    field = kind.model_fields.get(own)
    section = None if field is None else setting_types.section_of(field)
    return name if section is None else f"{own}.{current_name(section, rest)}"


def renamed_in(kind: type[pydantic.BaseModel]) -> Mapping[str, str]:
    """Returns the names of today of the settings of a class, by former names."""
    return getattr(kind, "RENAMED", {})


def merged(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tree of settings with some changed; lists are replaced as a whole."""
    result = dict(tree)
    for name, value in changes.items():
        old = result.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            value = merged(old, value)
        result[name] = value
    return result


def suggest(name: str, names: Iterable[str] | Mapping[str, str]) -> str:
    """Returns a hint with the closest of the known names, or with all.

    A mapping gives the texts to show for the names.
    """
    texts = names if isinstance(names, Mapping) else {known: known for known in names}
    close = difflib.get_close_matches(name, texts, n=1)
    if close:
        return f"Did you mean '{texts[close[0]]}'?"
    return f"There are: {', '.join(texts.values())}"


def _describe(
    error: pydantic.ValidationError, kind: type[pydantic.BaseModel], place: str | None
) -> str:
    first = error.errors(include_url=False)[0]
    location = [str(part) for part in first["loc"]]
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
        is_located = reason.startswith(("[", "--"))
        return _message(place, [] if is_located else location[:1], reason)
    if not location:
        return _message(place, [], first["msg"])
    section, name = location[:-1], location[-1]
    if name.isdigit():
        name = f"{section.pop()}.{name}"
    if first["type"] == "missing":
        return _message(place, section, f"{name} is missing")
    if first["type"] == "extra_forbidden":
        is_section = isinstance(first["input"], dict)
        if (new := renamed_in(_kind_at(kind, section)).get(name)) is not None:
            return _message(place, section, f"{name} is now called {new}")
        unknown = f"section [{name}]" if is_section else f"setting {name!r}"
        hint = suggest(name, list(_kind_at(kind, section).model_fields))
        return _message(place, section, f"unknown {unknown}. {hint}")
    reason = first["msg"].replace("Input should", "should", 1)
    if first["type"] == "model_type":
        reason = f"should be a section: [{name}]"
    if place is None:
        flag = ".".join(part for part in location if not part.isdigit()).replace("_", "-")
        return f"--{flag} is {first['input']}, but {reason}"
    return _message(place, section, f"{name} is {first['input']!r}, but {reason}")


def _check_tree(tree: Any, place: str | None, depth: int = 0) -> None:
    """Raises ValueError if values are nested too deep, or a text cannot be stored as UTF-8."""
    if depth > _MAX_DEPTH:
        raise ValueError(_message(place, [], f"nested more than {_MAX_DEPTH} deep"))
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            _check_tree(name, place)
            _check_tree(value, place, depth + 1)
    elif isinstance(tree, list | tuple):
        for value in tree:
            _check_tree(value, place, depth + 1)
    elif isinstance(tree, str | pathlib.PurePath):
        text = str(tree)
        if any(x == "\0" or "\ud800" <= x <= "\udfff" for x in text):
            raise ValueError(_message(place, [], f"{text!r} is not a text in UTF-8, or has a NUL"))


def _message(place: str | None, section: Sequence[str], reason: str) -> str:
    parts = [place] if place else []
    parts += [f"[{'.'.join(section)}]"] if section else []
    return f"{' '.join(parts)}: {reason}" if parts else reason


def _kind_at(kind: type[pydantic.BaseModel], section: Sequence[str]) -> type[pydantic.BaseModel]:
    """Returns the class of the settings in a section, given by the names that lead to it."""
    for name in section:
        if not name.isdigit():
            kind = _model_in(kind.model_fields[name].annotation) or kind
    return kind


def _model_in(annotation: Any) -> type[pydantic.BaseModel] | None:
    """Returns the first class of settings in an annotation such as `tuple[Phase, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    models = (_model_in(argument) for argument in typing.get_args(annotation))
    return next((model for model in models if model is not None), None)
