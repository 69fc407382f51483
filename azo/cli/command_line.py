"""Command-line flags of all commands: read by tyro, validated like a settings file.

Wrong input raises ValueError with one line; `run_main` turns it into an exit code.
"""

import argparse
import contextlib
import dataclasses
import difflib
import io
import os
import pathlib
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import pydantic
import tyro

from azo.run import config, validation

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def load(argv: Sequence[str], *, prog: str = "azo train") -> config.Config:
    """Returns the settings of a run, from a settings file and flags.

    Args:
      argv: flags without the program's name, such as `["--config", "configs/small.toml",
        "--search.num-simulations", "200"]`. `--help` prints all settings and exits.
      prog: the command, as `--help` shows it.

    Raises:
      ValueError: One line that says what is wrong, where, and what would work.
    """
    path, flags = take_config_flag(argv)
    return parse(
        config.Config,
        flags,
        prog=prog,
        default=config.load_default() if path is None else config.load_file(path),
        description=_help_text(path),
        other_flags=("config",),
    )


def parse(
    kind: type[validation.Settings],
    argv: Sequence[str],
    *,
    prog: str,
    default: validation.Settings | None = None,
    description: str | None = None,
    other_flags: Sequence[str] = (),
) -> validation.Settings:
    """Returns the settings of a command from its flags.

    Args:
      kind: the class of the settings.
      argv: the flags.
      prog: the command, as `--help` shows it.
      default: the settings that the flags override.
      description: text for `--help`; the class docstring by default.
      other_flags: names of flags that the caller has read already, for suggestions.

    Raises:
      ValueError: One line that says what is wrong.
    """

    def read(flags: Sequence[str]) -> tuple[Any, list[str]]:
        return tyro.cli(
            kind,
            args=flags,
            prog=prog,
            description=description or kind.__doc__,
            registry=_registry_of_dicts(),
            return_unknown_args=True,
            **({} if default is None else {"default": default}),
        )

    tree, unknown = _read_quietly(read, argv)
    if unknown:
        raise ValueError(_unknown_flag(unknown[0], kind, other_flags))
    return validation.validate(kind, tree, None)


def take_config_flag(argv: Sequence[str]) -> tuple[pathlib.Path | None, list[str]]:
    """Returns the path that `--config` names, if any, and the other flags."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config", type=pathlib.Path)
    try:
        known, flags = parser.parse_known_args(list(argv))
    except argparse.ArgumentError as error:
        raise ValueError(f"--config: {error.message}, the path of a TOML file") from None
    return known.config, flags


def run_main(main: Callable[[Sequence[str]], int | None], argv: Sequence[str] | None = None) -> int:
    """Runs an entry point; wrong input becomes one line on standard error and exit code 2.

    A ValueError that is raised inside a library is a bug of azo, and keeps its traceback, as all
    other exceptions do. Ctrl-C gives exit code 130 without a traceback.
    """
    try:
        return main(sys.argv[1:] if argv is None else argv) or 0
    except ValueError as error:
        if not _is_raised_here(error):
            raise
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has closed it, as `head` does. Nothing more can be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _registry_of_dicts() -> tyro.constructors.ConstructorRegistry:
    """Returns rules by which tyro builds dictionaries, which are validated like a file."""
    registry = tyro.constructors.ConstructorRegistry()
    pending: list[Any] = []  # tyro's own rule for a class calls this rule again

    @registry.struct_rule
    def read_as_dict(info: tyro.constructors.StructTypeInfo) -> Any:
        is_section = isinstance(info.type, type) and issubclass(info.type, pydantic.BaseModel)
        if not is_section or pending:
            return None
        pending.append(info)
        spec: Any = tyro.constructors.ConstructorRegistry.get_struct_spec(info)
        pending.clear()
        return None if spec is None else dataclasses.replace(spec, instantiate=dict)

    return registry


def _read_quietly(read: Callable[[Sequence[str]], Any], flags: Sequence[str]) -> Any:
    """Returns the values that tyro reads; its framed messages become one line."""
    if {"-h", "--help"} & set(flags):
        read(flags)
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            return read(flags)
    except SystemExit:
        raise ValueError(_unbox(boxed.getvalue())) from None


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


def _unknown_flag(flag: str, kind: type[pydantic.BaseModel], other_flags: Sequence[str]) -> str:
    if not flag.startswith("-"):
        return f"'{flag}' belongs to no flag. Flags look like --search.num-simulations 200"
    flag = flag.partition("=")[0]
    name = flag.lstrip("-").replace("_", "-")
    known = _flag_names(kind)
    near = [full for full in known if full.rpartition(".")[2] == name]
    names = [*known, *other_flags, "help"]
    near = near or difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    if near:
        return f"unknown flag '{flag}'. Did you mean '--{near[0]}'?"
    section = name.partition(".")[0] + "."
    beside = [full for full in known if full.startswith(section)]
    if beside:
        return f"unknown flag '{flag}'. There are: {', '.join('--' + x for x in beside)}"
    groups = dict.fromkeys(
        full if "." not in full else full.partition(".")[0] + ".*" for full in known
    )
    there = ", ".join(f"--{group}" for group in (*other_flags, *groups))
    return f"unknown flag '{flag}'. There are: {there}; --help lists them all"


def _flag_names(kind: type[pydantic.BaseModel], prefix: str = "") -> list[str]:
    """Returns the flags of settings, those of sections after `SECTION.`, without dashes."""
    names = []
    for name, field in kind.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
            names += _flag_names(annotation, f"{prefix}{name}.")
        elif not any(mark is tyro.conf.Positional for mark in field.metadata):
            own = [x.name for x in field.metadata if getattr(x, "name", None)]
            names.append(f"{prefix}{own[0] if own else name}".replace("_", "-"))
    return names


def _help_text(path: pathlib.Path | None) -> str:
    has_default = config.DEFAULT_CONFIG.exists()
    default = f"configs/{config.DEFAULT_CONFIG.name}" if has_default else "azo itself"
    return (
        "--config FILE reads settings from a TOML file, and these flags override it."
        f" The defaults shown are those of {path or default}."
    )


def _is_raised_here(error: ValueError) -> bool:
    last_frame = traceback.extract_tb(error.__traceback__)[-1]
    return _PACKAGE in pathlib.Path(last_frame.filename).resolve().parents
