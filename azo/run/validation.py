"""Settings from TOML files, with validation errors as one line each.

A message names the file or flag, the setting and the value found, and says what would work.
"""

import difflib
import pathlib
import tomllib
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pydantic

from azo.formats import files

Settings = TypeVar("Settings", bound=pydantic.BaseModel)


def load(kind: type[Settings], path: pathlib.Path, what: str, **changes: Any) -> Settings:
    """Returns the settings of a TOML file.

    Args:
      kind: the class of the settings.
      path: the file.
      what: the name of such files in messages, such as "queue".
      **changes: top-level settings that replace those of the file.

    Raises:
      ValueError: One line; the file is missing, not TOML, or a setting is wrong.
    """
    return validate(kind, read_toml(path, what) | changes, str(path))


def read_toml(path: pathlib.Path, what: str) -> dict[str, Any]:
    """Returns the content of a TOML file; raises ValueError with one line."""
    if not path.exists():
        raise ValueError(f"{path}: no such {what} file")
    text = files.read_text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not TOML: {error}") from None


def validate(kind: type[Settings], tree: Any, place: str | None) -> Settings:
    """Returns settings from nested dictionaries.

    Args:
      kind: the class of the settings.
      tree: their values.
      place: the file that they come from; None for flags.

    Raises:
      ValueError: One line about the first wrong setting.
    """
    _check_texts(tree, place)
    try:
        return kind.model_validate(tree)
    except pydantic.ValidationError as error:
        raise ValueError(describe(error, kind, place)) from None


def describe(
    error: pydantic.ValidationError, kind: type[pydantic.BaseModel], place: str | None
) -> str:
    """Returns one line about the first wrong setting; arguments as for `validate`."""
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
        unknown = f"section [{name}]" if is_section else f"setting {name!r}"
        hint = suggest(name, _settings_at(kind, section))
        return _message(place, section, f"unknown {unknown}. {hint}")
    reason = first["msg"].replace("Input should", "should", 1)
    if first["type"] == "model_type":
        reason = f"should be a section: [{name}]"
    if place is None:
        flag = ".".join(part for part in location if not part.isdigit()).replace("_", "-")
        return f"--{flag} is {first['input']}, but {reason}"
    return _message(place, section, f"{name} is {first['input']!r}, but {reason}")


def suggest(
    name: str,
    names: Iterable[str],
    *,
    texts: Mapping[str, str] | None = None,
    cutoff: float = 0.6,
) -> str:
    """Returns a hint with the closest of `names`, or with all of them.

    Args:
      name: the unknown name.
      names: the known names.
      texts: the text to show for a name, by name; without it the name itself.
      cutoff: least similarity of a close name, 0 to 1.
    """
    shown = {known: known for known in names} | dict(texts or {})
    close = difflib.get_close_matches(name, shown, n=1, cutoff=cutoff)
    return (
        f"Did you mean '{shown[close[0]]}'?" if close else f"There are: {', '.join(shown.values())}"
    )


def _check_texts(tree: Any, place: str | None) -> None:
    """Raises ValueError if a text cannot be stored as UTF-8 or given to the operating system."""
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            _check_texts((name, value), place)
    elif isinstance(tree, list | tuple):
        for value in tree:
            _check_texts(value, place)
    elif isinstance(tree, str | pathlib.PurePath):
        text = str(tree)
        if any(x == "\0" or "\ud800" <= x <= "\udfff" for x in text):
            raise ValueError(_message(place, [], f"{text!r} is not a text in UTF-8, or has a NUL"))


def _message(place: str | None, section: Sequence[str], reason: str) -> str:
    parts = [place] if place else []
    parts += [f"[{'.'.join(section)}]"] if section else []
    return f"{' '.join(parts)}: {reason}" if parts else reason


def _settings_at(kind: type[pydantic.BaseModel], section: Sequence[str]) -> list[str]:
    """Returns the names of the settings in a section, given by the names that lead to it."""
    for name in section:
        if not name.isdigit():
            kind = _model_in(kind.model_fields[name].annotation) or kind
    return list(kind.model_fields)


def _model_in(annotation: Any) -> type[pydantic.BaseModel] | None:
    """Returns the first class of settings in an annotation such as `tuple[Phase, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    models = (_model_in(argument) for argument in typing.get_args(annotation))
    return next((model for model in models if model is not None), None)
