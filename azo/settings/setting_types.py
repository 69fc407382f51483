"""Types of settings with bounds, so that a wrong number is refused in one line.

Counts fit into 32 bits, as the compiled programs need. Bounds of shapes are far above what was ever
useful and far below what no machine can hold; the run compares the whole with the memory.
"""

import dataclasses
import re
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import pydantic
import pydantic_core

from azo.settings import import_paths

_LARGEST = 2**31 - 1
Config = TypeVar("Config", bound=pydantic.BaseModel)
Default = TypeVar("Default")
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


def needs(setting: str, *values: Any, alternatives: tuple[Needs, ...] = ()) -> Needs:
    """Returns the need of one of some values."""
    return Needs(setting, values=values, alternatives=alternatives)


def needs_other(setting: str, *excluded: Any, alternatives: tuple[Needs, ...] = ()) -> Needs:
    """Returns the need of another value than these."""
    return Needs(setting, excluded=excluded, alternatives=alternatives)


# What a TRACEABLE setting is: of Python in files and flags, of JAX where a program takes it as an
# argument. Files with settings are read without JAX.
if TYPE_CHECKING:
    import jax

    Number: TypeAlias = float | jax.Array
    WholeNumber: TypeAlias = int | jax.Array
else:
    Number, WholeNumber = float, int
Numbers = dict[str, Number]  # by full names: the pytree of all that changes without compiling


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


# Marks a number that may change while a run goes on, without a new compilation, and may be a traced
# scalar: it decides nothing in Python, except by being 0, see `is_zero`.
TRACEABLE = pydantic.WrapValidator(_number)
PositiveNumber = Annotated[Number, pydantic.Field(gt=0, allow_inf_nan=False)]
TracedPositive = Annotated[PositiveNumber, TRACEABLE]
TracedNonNegative = Annotated[Number, pydantic.Field(ge=0, allow_inf_nan=False), TRACEABLE]
TracedShare = Annotated[Number, pydantic.Field(ge=0, le=1), TRACEABLE]
TracedCount = Annotated[WholeNumber, pydantic.Field(ge=0, le=_LARGEST), TRACEABLE]


def never(default: Default, *, is_common: bool = False) -> Default:
    """Declares a setting that a run never changes: it decides shapes, or the start of the run."""
    return _declared(default, "never", is_common)


def on_resume(default: Default, *, is_common: bool = False) -> Default:
    """Declares a setting that may change whenever a run is resumed."""
    return _declared(default, "on resume", is_common)


def in_schedule(default: Default, *, is_common: bool = False) -> Default:
    """Declares a setting that a schedule may change, by compiling another program."""
    return _declared(default, "in a schedule", is_common)


def common(default: Default) -> Default:
    """Declares a setting that people set, TRACEABLE or not of a run."""
    return _declared(default, None, True)


def _declared(default: Default, changes: str | None, is_common: bool) -> Any:
    extra: Any = {"changes": changes, "is_common": is_common}
    return pydantic.Field(default, json_schema_extra=extra)


def when_changed(field: pydantic.fields.FieldInfo) -> str | None:
    """Returns when a setting of a run may change, None if its declaration does not say."""
    if TRACEABLE in field.metadata:
        return "while it runs"
    return _extra(field).get("changes")


def is_common(field: pydantic.fields.FieldInfo) -> bool:
    """Returns whether a setting is one that people set: `--help` shows only these."""
    return bool(_extra(field).get("is_common"))


def _extra(field: pydantic.fields.FieldInfo) -> dict[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def is_zero(number: Any) -> bool:
    """Returns whether a number is 0 when the program is compiled; one that is traced is not."""
    return not is_traced(number) and number == 0


def split_numbers(settings: Config) -> tuple[Config, Numbers]:
    """Returns settings without their traceable numbers, and these by full names.

    A 0 or None stays. In place of a number is 1, so settings that differ only in numbers give equal
    ones. `with_numbers` puts the numbers back.
    """
    changes: dict[str, Any] = {}
    numbers: Numbers = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, pydantic.BaseModel):
            changes[name], inner = split_numbers(value)
            numbers |= {f"{name}.{setting}": x for setting, x in inner.items()}
        elif TRACEABLE in field.metadata and value is not None and not is_zero(value):
            changes[name], numbers[name] = 1 if isinstance(value, int) else 1.0, value
    return settings.model_copy(update=changes), numbers


def with_numbers(settings: Config, numbers: Mapping[str, Number]) -> Config:
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
                f"should be {names}{', or ' if names else ''}an import path such as"
                " 'package.module:Name'",
            )
        if (reason := import_paths.refusal(name)) is not None:
            raise pydantic_core.PydanticCustomError("import_path", "{reason}", {"reason": reason})
        return name

    return NameOrPath(check)


def section_of(field: pydantic.fields.FieldInfo) -> type[pydantic.BaseModel] | None:
    """Returns the class of a field if it is a section of settings."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel) else None


def fields_of(
    kind: type[pydantic.BaseModel], prefix: str = ""
) -> dict[str, pydantic.fields.FieldInfo]:
    """Returns the fields of all settings, those of sections too, by full names."""
    fields: dict[str, pydantic.fields.FieldInfo] = {}
    for name, field in kind.model_fields.items():
        section = section_of(field)
        own = {prefix + name: field}
        fields |= own if section is None else fields_of(section, f"{prefix}{name}.")
    return fields


def import_settings(kind: type[pydantic.BaseModel]) -> list[str]:
    """Returns the full names of all settings that may be import paths, or have items that may."""
    return [
        name
        for name, field in fields_of(kind).items()
        if any(isinstance(one, NameOrPath) for one in (*field.metadata, *_inner(field.annotation)))
    ]


def _inner(annotation: Any) -> list[Any]:
    """Returns the marks of the items of a tuple."""
    items = typing.get_args(annotation)
    return [mark for item in items for mark in getattr(item, "__metadata__", ())]
