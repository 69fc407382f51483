"""Command-line flags of all commands: read by tyro, validated like a settings file.

Wrong input raises ValueError with one line; `run_main` turns it into an exit code.
"""

import contextlib
import dataclasses
import difflib
import errno
import inspect
import io
import pathlib
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pydantic
import rich.console
import rich.live
import rich.spinner
import tyro

from azo.cli import ending, help_page
from azo.process import interruption
from azo.settings import import_paths, setting_types, typed_settings, validation
from azo.storage import streams

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
_OURS = {_PACKAGE, _PACKAGE.parent / "scripts"}  # in a clone, programs beside the package
_HELP_ALL = "--help-all"
_ALLOW_IMPORT = "--allow-import"
_HELP_OF_ALLOW_IMPORT = (
    "--allow-import MODULE:NAME allows files, such as the settings of a network, to import a game"
    " or\nnetwork by this name, which runs the module. The flag can be repeated."
    " docs/reliability.md says\nwhat is safe to open."
)
_CLEARER = (  # parts of tyro's messages, and what replaces them
    (r"invalid literal for int\(\) with base 10:", "not a whole number:"),
    (r"could not convert string to float:", "not a number:"),
    (
        r"(\S+): no type matching \{None\}\|(\w+) .* from \['(.*?)'\].*",
        r"\1 is '\3', not \2 or None",
    ),
    (r"Missing value for argument '(.*?)'\..*", r"\1 needs a value"),
    (r"Missing from .*?: (\S+) (.*?) \(required\).*", r"\1 is missing: \2"),
    (
        r"invalid choice (.*) for argument '(.*)'\. Expected one of \((.*)\)\.",
        r"\2 is \1, but should be one of \3",
    ),
)


class Flags(NamedTuple):
    """The flags of a command, as they were typed."""

    path: pathlib.Path | None  # of --config
    tree: dict[str, Any]  # all settings, defaults included, as nested dictionaries
    typed: dict[str, Any]  # those that were typed, by full names


def validated(kind: type[validation.Settings], flags: Flags) -> validation.Settings:
    """Returns the settings that flags give; see `parse`."""
    for name in typed_settings.replaced_limits(kind, flags.typed):
        _set(flags.tree, name, None)
    settings = validation.validate(kind, flags.tree, None)
    notes = typed_settings.check([settings], flags.typed)
    own_check = getattr(settings, "check_typed", None)
    for line in [*notes, *(own_check(flags.typed) if own_check else ())]:
        print(line, file=sys.stderr)
    return settings


def parse(
    kind: type[validation.Settings],
    argv: Sequence[str],
    *,
    prog: str,
    description: str | None = None,
    load_file: Callable[[pathlib.Path | None], validation.Settings | None] | None = None,
    opens_networks: bool = True,
    finish: Callable[[Any, Flags], Any] = validated,
) -> Any:
    """Returns the settings of a command from its flags; ValueError, one line, names a wrong one.

    `--help` prints the description, by default the docstring of the class, and all flags, or those
    of `help_page`, and exits; `--help-all` prints all. `load_file` allows `--config FILE`, and
    returns its settings, which flags override. A command that `opens_networks` has
    `--allow-import`; import paths among its flags are allowed. A flag without an effect is wrong,
    see `typed_settings`. Lines on flags that hold only in part go to standard error. `finish` makes
    the result from the class and its flags.
    """
    names = _names_of_flags(kind)
    flags, default, path = [*names, "--help", _HELP_ALL], None, None
    if opens_networks:
        argv = _allow_imports(kind, argv)
        flags = [_ALLOW_IMPORT, *flags]
    if load_file is not None:
        path, argv = _take_config_flag(argv)
        flags, default = ["--config", *flags], load_file(path)
    _check_flags(kind, argv, flags)
    has_page = help_page.is_made_for(kind) and _HELP_ALL not in argv
    argv = ["--help" if word == _HELP_ALL else word for word in argv]
    if {"-h", "--help"} & set(argv):
        print(inspect.cleandoc(description or kind.__doc__ or "") + "\n")
        if opens_networks:
            print(f"{_HELP_OF_ALLOW_IMPORT}\n")
        if has_page:
            print(help_page.text(kind, names, default or kind.model_construct(), prog))
            raise SystemExit(0)
        help_page.describe(kind)

    # Without flags there is nothing to read, and tyro would take 0.05 s.
    if not argv and not any(field.is_required() for field in kind.model_fields.values()):
        tree = {} if default is None else default.model_dump()
        return finish(kind, Flags(path, tree, {}))
    options: dict[str, Any] = {} if default is None else {"default": default}

    framed = io.StringIO()
    try:
        with contextlib.redirect_stderr(framed):
            tree, unknown = tyro.cli(
                kind,
                args=argv,
                prog=prog,
                description="",
                registry=_registry_of_dicts(),
                return_unknown_args=True,
                **options,
            )
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        raise ValueError(_unframe(framed.getvalue())) from None
    if unknown:
        own = [flag for flag in flags if flag != _ALLOW_IMPORT]
        example = "--config NAME" if load_file is not None else f"{own[0]} VALUE"
        raise ValueError(f"unexpected argument '{unknown[0]}'. Give settings as flags: {example}")
    return finish(kind, Flags(path, tree, _typed(kind, argv, names, tree)))


def _typed(
    kind: type[pydantic.BaseModel],
    argv: Sequence[str],
    names: Mapping[str, str],
    tree: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the settings that were typed, by full names; a list is typed as a whole."""
    typed = {}
    for word in argv:
        flag = re.sub(r"\.\d+(\..*)?$", "", word.partition("=")[0].replace("_", "-"))
        positive = re.sub(r"(^--|\.)no-", r"\1", flag)
        name = names.get(flag) or names.get(positive)
        if name is not None:
            typed[name] = _get(tree, name)
    for name, field in kind.model_fields.items():
        is_positional = tyro.conf.Positional in field.metadata
        if is_positional and name in tree and tree[name] != field.get_default():
            typed[name] = tree[name]
    return typed


def _get(tree: Any, name: str) -> Any:
    for part in name.split("."):
        tree = tree[part]
    return tree


def _set(tree: Any, name: str, value: Any) -> None:
    *sections, setting = name.split(".")
    for part in sections:
        tree = tree[part]
    tree[setting] = value


def _take_config_flag(argv: Sequence[str]) -> tuple[pathlib.Path | None, list[str]]:
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


def _allow_imports(kind: type[pydantic.BaseModel], argv: Sequence[str]) -> list[str]:
    """Allows the import paths that flags give, and returns the flags that are settings."""
    others, words = [], iter(argv)
    for word in words:
        flag, is_joined, value = word.partition("=")
        if flag.replace("_", "-") != _ALLOW_IMPORT:
            others.append(word)
            continue
        import_paths.allow([value if is_joined else next(words, "")], _ALLOW_IMPORT)
    # Also in `--curriculum.0.set network.kind mine:Network`.
    names = setting_types.import_settings(kind)
    parts = [part for word in others for part in word.split("=", 1)]
    setting = ""
    for part in parts:
        if import_paths.is_path(part) and setting in names:
            import_paths.allow([part])
        else:  # a setting may have several values
            setting = part.removeprefix("--").replace("-", "_")
    return others


def run_main(main: Callable[[Sequence[str]], int | None], argv: Sequence[str] | None = None) -> int:
    """Runs an entry point; wrong input becomes one line on standard error and exit code 2.

    So do files that cannot be read or written, and a lack of memory, threads, open files or
    devices. A ValueError that is raised inside a library is a bug of azo, and keeps its traceback,
    as all other exceptions do. An interrupting signal gives 128 and its number without a traceback:
    130 for Ctrl-C. Output without a reader gives 141.
    """
    try:
        code = main(sys.argv[1:] if argv is None else argv) or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:
        return 128 + (error.args or (signal.SIGINT,))[0]
    except (Exception, SystemExit) as error:
        if ending.is_unread(error):
            return ending.unread()
        if isinstance(error, SystemExit) or (line := _line(error)) is None:
            raise
    return ending.refuse(line)


def _line(error: Exception) -> str | None:
    """Returns the line that an error becomes, None if it is a bug and keeps its traceback."""
    if isinstance(error, ValueError) and _is_raised_here(error):
        return str(error)
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        streams.discard("stdout")  # it may be the output that cannot be written
        return f"{error.filename or 'output'}: cannot write ({error.strerror})"
    if (line := ending.explain(error)) is not None:
        return line
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return None


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows within a block what a command waits for, on standard error if that is a terminal."""
    console = rich.console.Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    # Lines for a terminal appear above the text; those for a file are not touched.
    live = rich.live.Live(
        rich.spinner.Spinner("dots", what),
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    with interruption.cleared_at_end(live), live:
        yield


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


def _unframe(text: str) -> str:
    """Returns the sentence in a message that tyro has framed, between its title and its hints."""
    parts: list[list[str]] = [[]]
    text = re.sub(r"\x1b\[[\d;]*m", "", text)  # colours, if standard output is a terminal
    for line in text.splitlines():
        content = line.strip(" │")
        if re.fullmatch("[─-]{3,}", content):
            parts.append([])
        elif not content.startswith(("╭", "╰")):
            parts[-1].append(content)
    # Where standard output is not UTF-8 there is no frame, and the title is a part by itself.
    sentence = parts[0] if "╭" in text or len(parts) == 1 else parts[1]
    message = " ".join(sentence).strip().removeprefix("Error parsing ")
    for pattern, replacement in _CLEARER:
        message = re.sub(pattern, replacement, message)
    return message


def _check_flags(kind: type[pydantic.BaseModel], argv: Sequence[str], flags: Sequence[str]) -> None:
    """Raises ValueError at the first unknown flag, before the flags beside it are read."""
    for word in argv:
        flag = word.partition("=")[0]
        name = flag.replace("_", "-")
        is_number = re.match(r"-[\d.]", name)
        if not name.startswith("-") or name in ("-", "-h", "--") or is_number:
            continue
        name = re.sub(r"\.\d+\..*", "", name)  # --generation.schedule.0.start is part of a list
        if re.sub(r"(^--|\.)no-", r"\1", name) in flags or name in flags:
            continue
        if not name.startswith("--tyro-"):  # tyro's own flags write completions for shells
            setting = name.removeprefix("--").replace("-", "_")
            if (new := validation.current_name(kind, setting)) != setting:
                raise ValueError(f"{flag} is now called --{new.replace('_', '-')}")
            raise ValueError(f"unknown flag '{flag}'. {_nearest_flag(name, flags)}")


def _nearest_flag(name: str, flags: Sequence[str]) -> str:
    """Returns a sentence with the flag nearest to an unknown name, or with the available flags."""
    setting = name.lstrip("-")
    near = [flag for flag in flags if flag.rpartition(".")[2] == setting]
    near = near or difflib.get_close_matches(name, flags, n=1, cutoff=0.75)
    if near:
        return f"Did you mean '{near[0]}'?"
    section = name.partition(".")[0] + "."
    in_section = [flag for flag in flags if flag.startswith(section)]
    groups = dict.fromkeys(flag.partition(".")[0] + ".*" * ("." in flag) for flag in flags)
    return f"There are: {', '.join(in_section or groups)}"


def _names_of_flags(kind: type[pydantic.BaseModel], prefix: str = "") -> dict[str, str]:
    """Returns the full names of settings by their flags, those of sections `--SECTION.SETTING`."""
    names: dict[str, str] = {}
    for name, field in kind.model_fields.items():
        annotation, marks = field.annotation, field.metadata
        if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
            names |= _names_of_flags(annotation, f"{prefix}{name}.")
        elif not any(mark in (tyro.conf.Positional, tyro.conf.Suppress) for mark in marks):
            own = [mark.name for mark in marks if getattr(mark, "name", None)]
            flag = prefix + (own[0] if own else name)
            names[f"--{flag.replace('_', '-')}"] = prefix + name
    return names


def _is_raised_here(error: ValueError) -> bool:
    last_frame = traceback.extract_tb(error.__traceback__)[-1]
    return not _OURS.isdisjoint(pathlib.Path(last_frame.filename).resolve().parents)
