"""`azo COMMAND --help` of long commands: one page of what people set, with defaults.

`--help-all` has the rest. A settings class marks what is on the page beside its fields, see
`setting_types.common`.
"""

import ast
import inspect
import shutil
import textwrap
import typing
from typing import Any

import pydantic
import tyro

from azo.settings import setting_types, typed_settings

_MAX_FLAG = 44  # characters; the explanation of a longer flag begins on the next line
_MAX_WIDTH = 120  # of the page, on wider terminals too


def is_made_for(kind: type[pydantic.BaseModel]) -> bool:
    """Returns whether a class marks settings for the page."""
    return any(map(setting_types.is_common, setting_types.fields_of(kind).values()))


def text(kind: type[pydantic.BaseModel], flags: dict[str, str], settings: Any, prog: str) -> str:
    """Returns the page: settings by section, as they are typed, with the values of `settings`.

    `flags` are the full names of settings by their flags.
    """
    width = min(shutil.get_terminal_size().columns, _MAX_WIDTH)
    fields = setting_types.fields_of(kind)
    groups: dict[str, list[tuple[str, str]]] = {}
    for flag, name in flags.items():
        if setting_types.is_common(fields[name]):
            value = typed_settings.value_of(settings, name)
            explanation = _explanation(kind, name)
            if isinstance(value, bool):
                row = flag, f"{explanation} (default: {'on' if value else 'off'})"
            else:
                row = f"{flag} {typed_settings.text(value)}".strip(), explanation
            groups.setdefault(name.rpartition(".")[0], []).append(row)
    longest = max(len(shown) for rows in groups.values() for shown, _ in rows)
    column = min(longest, _MAX_FLAG) + 4
    words = [word for name, field in fields.items() if (word := _positional(name, field))]
    lines = [" ".join(["usage:", prog, *words, "[--SETTING VALUE ...]"]), ""]
    lines.append("Common settings, with their defaults:")
    for section in sorted(groups, key=bool):  # those of no section first
        lines.append("")
        for shown, explanation in groups[section]:
            lines += _row(f"  {shown}", explanation, column, width)
    return "\n".join([*lines, "", f"{prog} --help-all explains all {len(fields)} settings."])


def describe(kind: type[pydantic.BaseModel]) -> None:
    """Gives all settings their explanation as one line; tyro would keep the lines of the source."""
    for name, field in kind.model_fields.items():
        section = setting_types.section_of(field)
        if section is not None:
            describe(section)
        field.description = _documented(kind, name) or None


def _positional(name: str, field: pydantic.fields.FieldInfo) -> str:
    """Returns a setting without a flag as a usage shows it; nothing for others."""
    if tyro.conf.Positional not in field.metadata:
        return ""
    names = [mark.metavar for mark in field.metadata if getattr(mark, "metavar", None)]
    word = (names or [name.upper()])[0]
    return word if field.is_required() else f"[{word}]"


def _row(start: str, explanation: str, column: int, width: int) -> list[str]:
    parts = textwrap.wrap(explanation, width - column)
    first = f"{start:{column}}{parts.pop(0)}" if len(start) < column - 1 else start
    return [first, *(" " * column + part for part in parts)]


def _explanation(kind: type[pydantic.BaseModel], name: str) -> str:
    """Returns what a setting means, from the text below its field, and the values it may have."""
    own, _, rest = name.partition(".")
    field = kind.model_fields[own]
    if rest:
        section = setting_types.section_of(field)
        assert section is not None
        return _explanation(section, rest)
    choices = ", ".join(map(str, _choices(field.annotation)))
    return f"{_documented(kind, own)} ({choices})" if choices else _documented(kind, own)


def _documented(kind: type[pydantic.BaseModel], name: str) -> str:
    return next((texts[name] for base in kind.__mro__ if name in (texts := _texts(base))), "")


def _choices(annotation: Any) -> list[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    return [one for part in typing.get_args(annotation) for one in _choices(part)]


def _texts(kind: type) -> dict[str, str]:
    """Returns the texts below the fields of one class, by name."""
    if not issubclass(kind, pydantic.BaseModel) or kind is pydantic.BaseModel:
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    texts = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            content = below.value if isinstance(below, ast.Expr) else None
            if isinstance(content, ast.Constant) and isinstance(content.value, str):
                texts[field.target.id] = " ".join(content.value.split())
    return texts
