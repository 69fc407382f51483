"""All settings of a run: gathered, loaded from a TOML file and flags, and checked.

Every section is defined beside the code that reads it; this module only gathers them into `Config`,
checks what concerns several of them, and turns whatever is wrong into one line that names the
setting, the value found and what would work. A flag overrides the file, and the file the defaults.
Wrong input raises ValueError; `run_main` is how entry points turn that into an exit code.
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
import tomllib
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pydantic
import tyro

# Full names: the fields of `Config` are called as the modules, and would hide them.
import azo.games.protocol
import azo.games.registry
import azo.learning.state
import azo.measure.evaluation

Settings = TypeVar("Settings", bound=pydantic.BaseModel)
Parsed = TypeVar("Parsed")

_PACKAGE = pathlib.Path(__file__).resolve().parent
CONFIG_FOLDER = _PACKAGE.parent / "configs"
DEFAULT_CONFIG = CONFIG_FOLDER / "quickstart.toml"


class RunConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How long to run, on what, and where to."""

    seed: pydantic.NonNegativeInt = 0
    """Start of all random keys: the same seed repeats the run."""
    folder: pathlib.Path = pathlib.Path("runs/quickstart")
    """Where checkpoints and metrics go; runs/ and the name of the settings file unless set."""
    num_iterations: pydantic.PositiveInt = 100
    """Iterations in all, those before a resumption included."""
    num_devices: pydantic.PositiveInt | None = None
    """Devices of each process to spread games and batches over; None takes all there are."""
    save_every: pydantic.PositiveInt = 10
    """Iterations between checkpoints."""
    keep_checkpoints: pydantic.PositiveInt = 3
    """Latest checkpoints kept; the best one is kept beside them."""
    log_every: pydantic.PositiveInt = 1
    """Iterations between lines of metrics."""


class Config(azo.learning.state.RecipeConfig):
    """All settings of a run: those of the compiled iteration, and those around it."""

    game: azo.games.registry.GameConfig = azo.games.registry.GameConfig()
    evaluation: azo.measure.evaluation.EvaluationConfig = azo.measure.evaluation.EvaluationConfig()
    run: RunConfig = RunConfig()
    distributed: bool = False
    """Train together with other processes, on one host or on many; see docs/scaling.md."""

    @pydantic.model_validator(mode="after")
    def _check_across_sections(self) -> "Config":
        game = azo.games.registry.make(self.game)
        _check_openings(self, game)
        _check_replay(self, game)
        if self.run.num_devices is not None:
            check_devices(self, self.run.num_devices)
        return self


def check_devices(config: Config, num_devices: int) -> None:
    """Raises ValueError unless games, batches and replay split evenly over `num_devices`."""
    split = {
        "selfplay.num_games": config.selfplay.num_games,
        "learner.batch_size": config.learner.batch_size,
        "replay.capacity": config.replay.capacity,
    }
    for name, number in split.items():
        if number % num_devices:
            higher = (number // num_devices + 1) * num_devices
            raise ValueError(
                f"{name} is {number}, which does not split over {num_devices} devices:"
                f" {higher} would, or fewer devices by --run.num-devices"
            )


def load(argv: Sequence[str], *, prog: str = "python -m azo.train") -> Config:
    """Returns the settings that a settings file and flags ask for.

    Args:
      argv: Flags without the program's name, such as `["--config", "configs/small.toml",
        "--search.num-simulations", "200"]`. `--help` prints all settings and exits.
      prog: The command, as `--help` shows it.

    Raises:
      ValueError: One line that says what is wrong, where, and what would work.
    """
    path, flags = _take_config_flag(argv)
    from_file = load_file(path) if path is not None else _defaults()
    return _override(from_file, flags, prog, path)


def parse_flags(kind: type[Settings], argv: Sequence[str], *, prog: str) -> Settings:
    """Returns the settings of a command other than training, from its flags alone.

    Raises:
      ValueError: One line that says what is wrong.
    """

    def parse(flags: list[str]) -> Settings:
        return tyro.cli(kind, args=flags, prog=prog, description=kind.__doc__)

    return _parse_quietly(parse, list(argv))


def load_file(path: pathlib.Path) -> Config:
    """Returns the settings of one TOML file; raises ValueError if it is missing or wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such settings file. {_files_beside(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot read the settings: {error}") from None
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    run = tree.setdefault("run", {})
    if isinstance(run, dict):
        run.setdefault("folder", f"runs/{path.stem}")
    return _validate(tree, str(path))


def to_json(config: Config) -> str:
    """Returns all settings, defaults included, as indented JSON."""
    return config.model_dump_json(indent=2) + "\n"


def from_json(text: str, place: str = "settings.json") -> Config:
    """Returns the settings that `to_json` wrote; `place` is where messages say they come from."""
    try:
        return Config.model_validate_json(text)
    except pydantic.ValidationError as error:
        raise ValueError(_describe(error, place)) from None


def run_main(main: Callable[[Sequence[str]], int | None], argv: Sequence[str] | None = None) -> int:
    """Runs an entry point; wrong input becomes one line on standard error and exit code 2.

    A ValueError that is raised inside a library is our mistake, not the user's, and keeps its
    traceback; so does everything else. Ctrl-C gives exit code 130 without a traceback.
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
        # Whoever reads our output has seen enough, as `head` does. Nothing is to be flushed to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _is_raised_here(error: ValueError) -> bool:
    last_frame = traceback.extract_tb(error.__traceback__)[-1]
    return _PACKAGE in pathlib.Path(last_frame.filename).resolve().parents


def _check_openings(config: Config, game: azo.games.protocol.Game) -> None:
    plies = config.evaluation.opening_plies
    if plies >= game.max_plies:
        raise ValueError(
            f"evaluation.opening_plies is {plies}, but a game of {game.name} has at most"
            f" {game.max_plies} plies: choose fewer"
        )


def _check_replay(config: Config, game: azo.games.protocol.Game) -> None:
    capacity, plays = config.replay.capacity, config.selfplay
    # At worst one iteration decides all that waited and all that it played.
    most_added = plays.num_games * (game.max_plies + plays.num_plies)
    if capacity < most_added:
        raise ValueError(
            f"replay.capacity is {capacity}, but one iteration of {plays.num_games} games can add"
            f" {most_added} positions: raise it to {most_added} or lower selfplay.num_games"
        )
    if config.replay.min_positions > capacity:
        raise ValueError(
            f"replay.min_positions is {config.replay.min_positions}, more than the"
            f" {capacity} of replay.capacity: learning would never begin"
        )


def _defaults() -> Config:
    """An installation without the repository has no configs/, and learns from the defaults."""
    return load_file(DEFAULT_CONFIG) if DEFAULT_CONFIG.exists() else Config()


def _files_beside(path: pathlib.Path) -> str:
    folder = path.parent if path.parent.is_dir() else CONFIG_FOLDER
    names = sorted(file.name for file in folder.glob("*.toml"))
    return f"In {folder} there are: {', '.join(names)}" if names else f"{folder} has no .toml file"


def _take_config_flag(argv: Sequence[str]) -> tuple[pathlib.Path | None, list[str]]:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config", type=pathlib.Path)
    try:
        found, flags = parser.parse_known_args(list(argv))
    except argparse.ArgumentError as error:
        raise ValueError(f"--config: {error.message}, the path of a TOML file") from None
    return found.config, flags


def _override(config: Config, flags: list[str], prog: str, path: pathlib.Path | None) -> Config:
    """Lets tyro read the flags into a plain tree, which is then validated like a file."""
    plain = tyro.constructors.ConstructorRegistry()
    pending: list[Any] = []  # asking tyro for its own reading of a section asks this rule again

    @plain.struct_rule
    def read_as_dict(info: tyro.constructors.StructTypeInfo) -> Any:
        is_section = isinstance(info.type, type) and issubclass(info.type, pydantic.BaseModel)
        if not is_section or pending:
            return None
        pending.append(info)
        spec: Any = tyro.constructors.ConstructorRegistry.get_struct_spec(info)
        pending.clear()
        return None if spec is None else dataclasses.replace(spec, instantiate=dict)

    def parse(flags: list[str]) -> Any:
        return tyro.cli(
            Config,
            args=flags,
            default=config,
            prog=prog,
            description=_help_text(path),
            registry=plain,
            return_unknown_args=True,
        )

    tree, unknown = _parse_quietly(parse, flags)
    if unknown:
        raise ValueError(_unknown_flag(unknown[0]))
    return _validate(tree, None)


def _parse_quietly(parse: Callable[[list[str]], Parsed], flags: list[str]) -> Parsed:
    """Returns what tyro makes of the flags; its framed messages become one line."""
    if {"-h", "--help"} & set(flags):
        parse(flags)
    boxed = io.StringIO()
    try:
        with contextlib.redirect_stderr(boxed):
            return parse(flags)
    except SystemExit:
        raise ValueError(_unbox(boxed.getvalue())) from None


def _help_text(path: pathlib.Path | None) -> str:
    default = f"configs/{DEFAULT_CONFIG.name}" if DEFAULT_CONFIG.exists() else "azo itself"
    return (
        "--config FILE reads settings from a TOML file, and these flags override it."
        f" The defaults shown are those of {path or default}."
    )


def _validate(tree: dict[str, Any], place: str | None) -> Config:
    """`place` is the file that the settings come from, None for flags."""
    try:
        return Config.model_validate(tree)
    except pydantic.ValidationError as error:
        raise ValueError(_describe(error, place)) from None


def _describe(error: pydantic.ValidationError, place: str | None) -> str:
    """One line for the first thing that is wrong."""
    first = error.errors(include_url=False)[0]
    section, *names = (str(part) for part in first["loc"]) if first["loc"] else ("",)
    name, value = ".".join(names), first["input"]
    where = f"{place} [{section}]" if place else f"[{section}]"
    reason = first["msg"].replace("Input should", "should", 1)
    if first["type"] == "extra_forbidden":
        if not names:
            return f"{place}: unknown section [{section}]. {_suggest(section, list(_sections()))}"
        known = list(_sections()[section].model_fields)
        return f"{where}: unknown setting {name!r}. {_suggest(name, known)}"
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
        where = where if section else place or "flags"
        return f"{place}: {reason}" if place and reason.startswith("[") else f"{where}: {reason}"
    if not names:
        reason = f"should be a section: [{section}]" if section in _sections() else reason
        return f"{place}: {section} is {value!r}, but {reason}"
    if place is None:
        return f"--{section}.{name.replace('_', '-')} is {value}, but {reason}"
    return f"{where}: {name} is {value!r}, but {reason}"


def _sections() -> dict[str, type[pydantic.BaseModel]]:
    kinds = {name: type(field.default) for name, field in Config.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if issubclass(kind, pydantic.BaseModel)}


def _suggest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean '{close[0]}'?" if close else f"There are: {', '.join(known)}"


def _unknown_flag(flag: str) -> str:
    if not flag.startswith("-"):
        return f"'{flag}' belongs to no flag. Flags look like --search.num-simulations 200"
    flag = flag.partition("=")[0]
    wanted = flag.lstrip("-").replace("_", "-")
    known = {
        section: [f"{section}.{name}".replace("_", "-") for name in fields.model_fields]
        for section, fields in _sections().items()
    }
    section = wanted.partition(".")[0]
    every = [full for names in known.values() for full in names]
    near = [full for full in every if full.partition(".")[2] == wanted]
    others = ["config", "distributed", "help"]
    near = near or difflib.get_close_matches(wanted, [*every, *others], n=1, cutoff=0.75)
    if near:
        return f"unknown flag '{flag}'. Did you mean '--{near[0]}'?"
    if section in known:
        return f"unknown flag '{flag}'. There are: {', '.join('--' + x for x in known[section])}"
    sections = ", ".join(f"--{name}.*" for name in known)
    there = f"--config, {sections}, --distributed"
    return f"unknown flag '{flag}'. There are: {there}; --help lists them all"


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
