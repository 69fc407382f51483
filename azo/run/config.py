"""All settings of a run: gathered, loaded from a TOML file, and checked.

Every section is defined beside the code that reads it. This module gathers them into `Config` and
checks combinations of sections. Wrong settings raise ValueError with one line that names the
setting, the value found and what would work.
"""

import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic

# Full names: the fields of `Config` have the names of modules, and would hide them.
import azo.games.protocol
import azo.games.registry
import azo.learning.learner
import azo.learning.run_state
import azo.measure.generation_elo
from azo.run import checks, shipped_files, validation

DEFAULT_CONFIG = shipped_files.CONFIGS / "quickstart.toml"

# Settings that are fixed for a run: array shapes and the folder.
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


class EvaluationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Matches against a fixed opponent during a run."""

    every: pydantic.NonNegativeInt = 10
    """Iterations from one evaluation to the next; 0 evaluates only at the end of the run."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 128
    """Games a match. Each opening is played twice, with both colours."""
    num_simulations: pydantic.PositiveInt = 100
    """Simulations a move of the network."""
    opponent: str = "rollouts:100"
    """Opponent: random, greedy, iagno:LEVEL, alphabeta:DEPTH, rollouts:N or a checkpoint's path."""
    opening_plies: Annotated[int, pydantic.Field(ge=0, multiple_of=2)] = 4
    """Random plies at the start of each game, so that games differ; even: black moves first."""
    until_score: Annotated[float, pydantic.Field(gt=0, le=1)] | None = None
    """The run ends when a match reaches this score."""


class Phase(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A part of a curriculum: a run of its own, with other settings."""

    name: Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_-]+$")]
    """What to call it; its folder is the run's folder / its number and name."""
    set: dict[str, Any] = {}
    """Settings by their full names; `{NAME}` in a text is the folder of an earlier phase."""


class Config(azo.learning.run_state.RecipeConfig):
    """All settings of a run: those of the compiled iteration, and those around it."""

    game: azo.games.registry.GameConfig = azo.games.registry.GameConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    ratings: azo.measure.generation_elo.RatingsConfig = azo.measure.generation_elo.RatingsConfig()
    run: RunConfig = RunConfig()
    curriculum: tuple[Phase, ...] = ()
    """Phases, one after the other; without any, one run with the settings as they are."""
    distributed: bool = False
    """Train together with other processes, on one host or on many; see docs/scaling.md."""

    @pydantic.model_validator(mode="after")
    def _check_across_sections(self) -> "Config":
        game = azo.games.registry.make(self.game)
        checks.check_openings(self, game, self.evaluation.opening_plies)
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
            raise ValueError(
                f"unknown setting {name!r}. {validation.suggest(name, known or every)}"
            )
        tree[section][setting] = value
    return validation.validate(Config, tree, None)


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


def load_file(path: pathlib.Path) -> Config:
    """Returns the settings of a file.

    Args:
      path: a TOML file, the name of a shipped one, or the `settings.json` of a run.

    Raises:
      ValueError: One line; the file is missing or unreadable, or a setting is wrong.
    """
    path = shipped_files.find_config(path)
    if path.suffix == ".json":
        return from_json(path.read_text(encoding="utf-8"), str(path))
    tree = validation.read_toml(path, "settings")
    run = tree.setdefault("run", {})
    if isinstance(run, dict):
        run.setdefault("folder", f"runs/{path.stem}")
    return validation.validate(Config, tree, str(path))


def to_json(config: Config) -> str:
    """Returns all settings, defaults included, as indented JSON."""
    return config.model_dump_json(indent=2) + "\n"


def from_json(text: str, place: str = "settings.json") -> Config:
    """Returns the settings that `to_json` wrote; `place` names the file in messages."""
    try:
        return Config.model_validate_json(text)
    except pydantic.ValidationError as error:
        raise ValueError(validation.describe(error, Config, place)) from None


def _sections() -> dict[str, type[pydantic.BaseModel]]:
    kinds = {name: type(field.default) for name, field in Config.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if issubclass(kind, pydantic.BaseModel)}
