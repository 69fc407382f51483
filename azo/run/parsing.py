"""Reading flags and settings files, with messages of one line."""

import contextlib
import io
import pathlib
import re
import tomllib
from collections.abc import Callable
from typing import TypeVar

import pydantic

Parsed = TypeVar("Parsed")
Settings = TypeVar("Settings", bound=pydantic.BaseModel)

# What tyro prints of a ValidationError: of all that text one part is for people.
_OUT_OF_BOUNDS = re.compile(
    r"\w+: \d+ validation errors? for \w+ (?:(?P<place>[a-z_.]+) )?(?P<reason>[A-Z].*?)"
    r" \[type=(?P<type>\w+), input_value=(?P<value>.*?), input_type="
)


def parse_quietly(parse: Callable[[list[str]], Parsed], flags: list[str]) -> Parsed:
    """Returns what tyro makes of the flags; its framed messages become one line."""
    if {"-h", "--help"} & set(flags):
        parse(flags)
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            return parse(flags)
    except SystemExit:
        message = _unbox(boxed.getvalue())
        found = _OUT_OF_BOUNDS.match(message)
        raise ValueError(_out_of_bounds(found) if found else message) from None


def read_toml(kind: type[Settings], path: pathlib.Path, what: str) -> Settings:
    """Returns the settings of a TOML file; `what` is what messages call it, such as "queue".

    Raises:
      ValueError: One line that says what is wrong.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path}: no such {what} file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path}: cannot read the {what}: {error}") from None
    try:
        return kind.model_validate(tree)
    except pydantic.ValidationError as error:
        raise ValueError(f"{path}: {describe(error)}") from None


def describe(error: pydantic.ValidationError) -> str:
    """Returns one line for the first thing that is wrong."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"unknown setting {place!r}"
    if first["type"] == "missing":
        return f"{place} is missing"
    return f"{place} is {first['input']!r}, but {first['msg'].replace('Input should', 'should', 1)}"


def _out_of_bounds(found: re.Match[str]) -> str:
    """Returns one line as `describe` would."""
    if found["type"] == "value_error":
        return found["reason"].removeprefix("Value error, ")
    reason = found["reason"].replace("Input should", "should", 1)
    return f"{found['place']} is {found['value']}, but {reason}"


def _unbox(text: str) -> str:
    """Returns the sentence in a message that tyro has framed, between its title and its hints."""
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        content = line.strip(" │")
        if re.fullmatch("[─-]{3,}", content):
            parts.append([])
        elif not content.startswith(("╭", "╰")):
            parts[-1].append(content)
    # Where standard output is not UTF-8 there is no frame, and the title is a part by itself.
    sentence = parts[0] if "╭" in text or len(parts) == 1 else parts[1]
    message = " ".join(sentence).strip().removeprefix("Error parsing ")
    return message.replace("invalid literal for int() with base 10:", "not a whole number:")
