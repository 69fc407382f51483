"""All settings of a run: gathered, loaded from a TOML file and flags, and checked.

Every section is defined beside the code that reads it; this module only gathers them into `Config`,
checks what concerns several of them, and turns whatever is wrong into one line that names the
setting, the value found and what would work. A flag overrides the file, and the file the defaults.
Wrong input raises ValueError; `run_main` is how entry points turn that into an exit code.
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import sys
import tomllib
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import pydantic
import tyro

# Full names: the fields of `Config` are called as the modules, and would hide them.
import azo.games.protocol
import azo.games.registry
import azo.learning.learner
import azo.learning.run_state
import azo.measure.evaluation
import azo.measure.progress
from azo.run import checks, parsing

Settings = TypeVar("Settings", bound=pydantic.BaseModel)

_PACKAGE = pathlib.Path(__file__).resolve().parents[1]
CONFIG_FOLDER = _PACKAGE.parent / "configs"
DEFAULT_CONFIG = CONFIG_FOLDER / "quickstart.toml"

# What gives the state of a run its shape, or a run its place, and so cannot change on the way.
_FIXED_SECTIONS = ("game", "network", "generation", "evaluation", "ratings", "run")
_FIXED_SETTINGS = (
    "selfplay.num_games",
    "selfplay.teacher",
    "resignation.is_enabled",
    "replay.capacity",
    "learner.optimiser",
    "gate.is_enabled",
)


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
    max_evaluations: pydantic.PositiveInt | None = None
    """The run ends when self-play and gates have taken so many network evaluations."""
    start_from: pathlib.Path | None = None
    """Folder of a run or network to begin with, in place of a fresh one."""


class Phase(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A part of a curriculum: a run of its own, with other settings."""

    name: Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_-]+$")]
    """What to call it; its folder is the run's folder / its number and name."""
    set: dict[str, Any] = {}
    """Settings by their full names; `{NAME}` in a text is the folder of an earlier phase."""


class Config(azo.learning.run_state.RecipeConfig):
    """All settings of a run: those of the compiled iteration, and those around it."""

    game: azo.games.registry.GameConfig = azo.games.registry.GameConfig()
    evaluation: azo.measure.evaluation.EvaluationConfig = azo.measure.evaluation.EvaluationConfig()
    ratings: azo.measure.progress.RatingsConfig = azo.measure.progress.RatingsConfig()
    run: RunConfig = RunConfig()
    curriculum: tuple[Phase, ...] = ()
    """Phases, one after the other; without any, one run with the settings as they are."""
    distributed: bool = False
    """Train together with other processes, on one host or on many; see docs/scaling.md."""

    @pydantic.model_validator(mode="after")
    def _check_across_sections(self) -> "Config":
        game = azo.games.registry.make(self.game)
        checks.check_openings(self, game)
        checks.check_endings(self, game)
        checks.check_replay(self, game)
        checks.check_search(self)
        checks.check_generations(self)
        azo.learning.learner.check_heads(self.network, self.learner)
        if self.run.num_devices is not None:
            checks.check_devices(self, self.run.num_devices)
        for entry in self.generation.schedule:
            at_generation(self, entry.start)
        for index in range(len(self.curriculum)):
            of_phase(self, index)
        return self


def with_settings(config: Config, changes: Mapping[str, Any]) -> Config:
    """Returns the settings with some changed, by full names such as `search.num_simulations`.

    Raises:
      ValueError: One line that names what is wrong.
    """
    tree = config.model_dump()
    for name, value in changes.items():
        section, _, setting = name.partition(".")
        known = list(_sections()[section].model_fields) if section in _sections() else []
        if setting not in known:
            every = [f"{s}.{x}" for s, kind in _sections().items() for x in kind.model_fields]
            raise ValueError(f"unknown setting {name!r}. {_suggest(name, known or every)}")
        tree[section][setting] = value
    return _validate(tree, None)


def at_generation(config: Config, generation: int) -> Config:
    """Returns the settings as they are in a generation, the first being 0."""
    entries = [entry for entry in config.generation.schedule if entry.start <= generation]
    changes = {name: value for entry in entries for name, value in entry.set.items()}
    for name in changes:
        if name.partition(".")[0] in _FIXED_SECTIONS or name in _FIXED_SETTINGS:
            raise ValueError(f"generation.schedule: {name} cannot change during a run")
    plain = config.generation.model_copy(update={"schedule": ()})
    return with_settings(config.model_copy(update={"generation": plain}), changes)


def of_phase(config: Config, index: int) -> Config:
    """Returns the settings of one phase of the curriculum, the first being 0.

    It begins with the network of the phase before, unless that is of another shape or its settings
    say otherwise.
    """
    folders = [
        str(config.run.folder / f"{number}-{phase.name}")
        for number, phase in enumerate(config.curriculum, start=1)
    ]
    names = [phase.name for phase in config.curriculum]
    known = dict(zip(names[:index], folders[:index], strict=True))
    phase = config.curriculum[index]

    def filled(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for name, folder in known.items():
            value = value.replace("{" + name + "}", folder)
        if "{" in value:
            there = ", ".join(known) or "none"
            raise ValueError(f"phase {phase.name}: {value!r} names no earlier phase: {there}")
        return value

    alone = config.model_copy(update={"curriculum": ()})
    changes = {name: filled(value) for name, value in phase.set.items()}
    changed = with_settings(alone, changes | {"run.folder": folders[index]})
    if index and "run.start_from" not in changes:
        before = with_settings(alone, _network_settings(config.curriculum[index - 1]))
        if before.network == changed.network:
            changed = with_settings(changed, {"run.start_from": folders[index - 1]})
    return changed


def _network_settings(phase: Phase) -> dict[str, Any]:
    return {name: value for name, value in phase.set.items() if name.startswith("network.")}


def load(argv: Sequence[str], *, prog: str = "azo train") -> Config:
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

    return parsing.parse_quietly(parse, list(argv))


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

    tree, unknown = parsing.parse_quietly(parse, flags)
    if unknown:
        raise ValueError(_unknown_flag(unknown[0]))
    return _validate(tree, None)


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
