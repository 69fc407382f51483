"""Types of settings with bounds, so that a wrong number is refused in one line.

Counts fit into 32 bits, as the compiled programs need. Bounds of shapes are far above what was ever
useful and far below what no machine can hold; the run compares the whole with the memory.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import pydantic
import pydantic_core

from azo.settings import import_paths

_LARGEST = 2**31 - 1
Config = TypeVar("Config", bound=pydantic.BaseModel)
MAX_SIMULATIONS = 2**15 - 2  # nodes and actions are stored in 16 bits

PositiveInt = Annotated[int, pydantic.Field(gt=0, le=_LARGEST)]
NonNegativeInt = Annotated[int, pydantic.Field(ge=0, le=_LARGEST)]
LargeInt = Annotated[int, pydantic.Field(gt=0, le=2**53)]  # exact as a float too
Count = Annotated[int, pydantic.Field(ge=0, le=2**53)]  # of what has happened
Seed = Annotated[int, pydantic.Field(ge=0, lt=2**32)]
Games = Annotated[int, pydantic.Field(gt=0, le=2**20)]  # side by side; examples too
PairedGames = Annotated[int, pydantic.Field(ge=2, le=2**20, multiple_of=2)]
Simulations = Annotated[int, pydantic.Field(gt=0, le=MAX_SIMULATIONS)]
Plies = Annotated[int, pydantic.Field(ge=0, le=1000)]
Units = Annotated[int, pydantic.Field(gt=0, le=2**14)]  # channels too
Layers = Annotated[tuple[Units, ...], pydantic.Field(max_length=256)]  # units of each
Devices = Annotated[int, pydantic.Field(gt=0, le=4096)]

Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
PositiveFloat = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]
NonNegativeFloat = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]


@dataclasses.dataclass(frozen=True)
class Needs:
    """What another setting must be for a setting to have an effect.

    A settings class lists these beside its fields, in `NEEDS`: for the name of a setting, what it
    needs, all of it. Names are relative to the class.
    """

    setting: str
    values: tuple[Any, ...] = ()  # it must have one of these
    excluded: tuple[Any, ...] = ()  # or none of these
    alternatives: tuple["Needs", ...] = ()  # each of which is enough too


Table = Mapping[str, tuple[Needs, ...]]


def needs(setting: str, *values: Any) -> Needs:
    """Returns the need of one of some values."""
    return Needs(setting, values=values)


def needs_other(setting: str, *excluded: Any, alternatives: tuple[Needs, ...] = ()) -> Needs:
    """Returns the need of another value than these."""
    return Needs(setting, excluded=excluded, alternatives=alternatives)


def is_traced(value: object) -> bool:
    """Returns whether a value is an array of JAX, known or only when the program runs."""
    return hasattr(value, "aval")


def _number(value: Any, validate: pydantic.ValidatorFunctionWrapHandler) -> Any:
    if is_traced(value):
        try:
            value = value.item()
        except TypeError:  # known only when the program runs
            return value
    return validate(value)


# Marks a number that may change without a new compilation, and may be a traced scalar: it decides
# nothing in Python, except by being 0, see `is_zero`.
TRACEABLE = pydantic.WrapValidator(_number)
TracedPositive = Annotated[PositiveFloat, TRACEABLE]
TracedNonNegative = Annotated[NonNegativeFloat, TRACEABLE]


def is_zero(number: Any) -> bool:
    """Returns whether a number is 0 when the program is compiled; one that is traced is not."""
    return not is_traced(number) and number == 0


def split_numbers(settings: Config) -> tuple[Config, dict[str, Any]]:
    """Returns settings without their traceable numbers, and these by full names.

    A 0 or None stays. In place of a number is 1, so settings that differ in numbers alone give
    equal ones. `with_numbers` puts the numbers back.
    """
    changes: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, pydantic.BaseModel):
            changes[name], inner = split_numbers(value)
            numbers |= {f"{name}.{setting}": x for setting, x in inner.items()}
        elif TRACEABLE in field.metadata and value is not None and not is_zero(value):
            changes[name], numbers[name] = 1 if isinstance(value, int) else 1.0, value
    return settings.model_copy(update=changes), numbers


def with_numbers(settings: Config, numbers: Mapping[str, Any]) -> Config:
    """Returns settings with numbers by full names, traced or not, and without a check."""
    changes: dict[str, Any] = {}
    for name, number in numbers.items():
        section, _, setting = name.partition(".")
        if setting:
            old = changes.get(section, getattr(settings, section))
            number = with_numbers(old, {setting: number})
        changes[section] = number
    return settings.model_copy(update=changes)


_PGX = re.compile(r"pgx:[\w-]+")


@dataclasses.dataclass(frozen=True)
class NameOrPath(pydantic.AfterValidator):
    """The check of a setting that may be an import path."""


def known_or_import_path(*known: str) -> NameOrPath:
    """Returns the check of a setting that is one of the names, or `package.module:NAME`.

    An import path in a file is refused unless it is allowed, see `import_paths`.
    """

    def check(name: str) -> str:
        if name in known or ("pgx:NAME" in known and _PGX.fullmatch(name)):
            return name
        if not import_paths.is_path(name):
            names = ", ".join(map(repr, known))
            raise pydantic_core.PydanticCustomError(
                "name_or_path",
                f"should be {names}, or an import path such as 'package.module:Name'",
            )
        if (reason := import_paths.refusal(name)) is not None:
            raise pydantic_core.PydanticCustomError("import_path", "{reason}", {"reason": reason})
        return name

    return NameOrPath(check)


def import_settings(kind: type[pydantic.BaseModel], prefix: str = "") -> list[str]:
    """Returns the full names of all settings that may be import paths."""
    names = []
    for name, field in kind.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
            names += import_settings(annotation, f"{prefix}{name}.")
        elif any(isinstance(mark, NameOrPath) for mark in field.metadata):
            names.append(prefix + name)
    return names
