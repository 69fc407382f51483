"""Command-line flags of all commands: read by tyro, validated like a settings file.

A flag that tyro cannot read ends the process with tyro's message, which suggests similar flags.
Other wrong input raises ValueError with one line; `run_main` turns it into an exit code.
"""

import dataclasses
import inspect
import os
import pathlib
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import pydantic
import tyro

from azo.run import config, validation

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def load(argv: Sequence[str], *, description: str | None = None) -> config.Config:
    """Returns the settings of a run, from a settings file and flags.

    Args:
      argv: flags without the program's name, such as `["--config", "quickstart",
        "--search.num-simulations", "200"]`. `--help` prints all settings and exits.
      description: text above the flags in `--help`.

    Raises:
      ValueError: One line with the flag, its value and the allowed values.
    """
    path, flags = take_config_flag(argv)
    return parse(
        config.Config,
        flags,
        prog="azo train",
        default=config.load_file(path or config.DEFAULT_CONFIG),
        description=description,
    )


def parse(
    kind: type[validation.Settings],
    argv: Sequence[str],
    *,
    prog: str,
    default: validation.Settings | None = None,
    description: str | None = None,
) -> validation.Settings:
    """Returns the settings of a command from its flags.

    Args:
      kind: the class of the settings.
      argv: the flags. `--help` prints all of them and exits.
      prog: the command, as `--help` shows it.
      default: the settings that the flags override.
      description: text above the flags in `--help`; the class docstring by default.

    Raises:
      ValueError: One line that says what is wrong.
      SystemExit: After `--help` or a message of tyro.
    """
    if {"-h", "--help"} & set(argv):
        print(inspect.cleandoc(description or kind.__doc__ or "") + "\n")
    options: dict[str, Any] = {} if default is None else {"default": default}
    tree: Any = tyro.cli(
        kind, args=argv, prog=prog, description="", registry=_registry_of_dicts(), **options
    )
    return validation.validate(kind, tree, None)


def take_config_flag(argv: Sequence[str]) -> tuple[pathlib.Path | None, list[str]]:
    """Returns the path that `--config` names, if any, and the other flags."""
    path, others, words = None, [], iter(argv)
    for word in words:
        flag, is_joined, value = word.partition("=")
        if flag != "--config":
            others.append(word)
            continue
        value = value if is_joined else next(words, "")
        if not value or value.startswith("--"):
            raise ValueError("--config needs the name or the path of a settings file")
        path = pathlib.Path(value)
    return path, others


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
    except SystemExit as stop:  # of tyro
        return int(stop.code or 0)
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


def _is_raised_here(error: ValueError) -> bool:
    last_frame = traceback.extract_tb(error.__traceback__)[-1]
    return _PACKAGE in pathlib.Path(last_frame.filename).resolve().parents
