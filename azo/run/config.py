"""All settings of a run: gathered, loaded from a TOML file, and checked.

Every section is defined beside the code that reads it. This module gathers them into `Config` and
checks combinations of sections. Wrong settings raise ValueError with one line that names the
setting, the value found and what would work.
"""

import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic
import tyro

# Full names: the fields of `Config` have the names of modules, and would hide them.
import azo.games.registry
import azo.learning.learner
import azo.learning.run_state
import azo.measure.generation_elo
import azo.run.origin
from azo.formats import files
from azo.games import setting_types
from azo.run import checks, shipped_files, validation

DEFAULT_CONFIG = shipped_files.CONFIGS / "quickstart.toml"

# Settings that are fixed for a run: array shapes and the folder.
_FIXED_SECTIONS = ("game", "network", "generation", "evaluation", "ratings", "run")
_FIXED_SETTINGS = (
    "selfplay.num_games",
    "selfplay.teacher",
    "selfplay.archive_share",
    "resignation.is_enabled",
    "endings.solver",
    "replay.capacity",
    "learner.optimiser",
    "learner.average_decay",
    "gate.is_enabled",
)
# Further ones while turns wait for the host's solver.
_FIXED_WITH_HOST = (
    "selfplay.num_plies",
    "endings.adjudicate_empties",
    "endings.num_positions",
    "endings.deep_positions",
)

# Settings of earlier versions, and the values at which they changed nothing.
_REMOVED = {"network": {"has_pooled_bias": False}}


class RunConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Length, devices and folder of a run."""

    seed: setting_types.Seed = 0
    """Start of all random keys; the same seed repeats the run."""
    folder: pathlib.Path = pathlib.Path("runs/quickstart")
    """Folder of checkpoints and metrics; by default runs/ and the name of the settings file."""
    num_iterations: setting_types.PositiveInt = 100
    """Iterations of the whole run."""
    num_devices: setting_types.Processes | None = None
    """Devices of each process, which share games and batches; None takes all devices."""
    solver_processes: setting_types.Processes | None = None
    """Processes of the host's solver, see `endings`; None starts one a core."""
    save_every: setting_types.PositiveInt = 10
    """Iterations between checkpoints."""
    keep_checkpoints: setting_types.PositiveInt = 3
    """Latest checkpoints to keep; the best one is always kept."""
    log_every: setting_types.PositiveInt = 1
    """Iterations between lines of metrics."""
    max_evaluations: setting_types.LargeInt | None = None
    """Network evaluations in self-play and gates after which the run ends."""
    max_processor_seconds: setting_types.PositiveFloat | None = None
    """Processor time of the iterations, on the host, after which the run ends."""
    retry_rate: Annotated[float, pydantic.Field(ge=0, lt=1)] = 0.0
    """When a loss, gradient, weight or value is not finite: 0 stops the run; a factor goes back to
    the latest checkpoint and multiplies the learning rates by it, at most 8 times."""
    start_from: pathlib.Path | None = None
    """Folder of a run or network whose network the run begins with, instead of a fresh one; of one
    for Othello on a board of another size, the layers that fit."""


class EvaluationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Matches against a fixed opponent during a run."""

    every: setting_types.NonNegativeInt = 10
    """Iterations from one evaluation to the next; 0 evaluates only at the end of the run."""
    num_games: setting_types.PairedGames = 128
    """Games a match. Each opening is played twice, with both colours."""
    num_simulations: setting_types.Simulations = 100
    """Simulations a move of the network."""
    opponent: str = "rollouts:100"
    """Opponent: random, greedy, iagno:LEVEL, alphabeta:DEPTH, patterns:DEPTH, rollouts:N or a path
    of a checkpoint."""
    opening_plies: Annotated[setting_types.Plies, pydantic.Field(multiple_of=2)] = 4
    """Random plies at the start of each game; even, so that black moves first afterwards."""
    until_score: Annotated[float, pydantic.Field(gt=0, le=1)] | None = None
    """The run ends when a match reaches this score."""

    def is_due(self, iteration: int) -> bool:
        """Returns whether to evaluate after an iteration, numbered from 1."""
        return self.every > 0 and iteration % self.every == 0


class Phase(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One run of a curriculum, and the settings in which it differs."""

    name: Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_-]+$")]
    """Name; the folder of the phase is the run's folder / NUMBER-NAME."""
    set: dict[str, Any] = {}
    """Settings by their full names; `{NAME}` in a string is the folder of an earlier phase."""


class Config(azo.learning.run_state.RecipeConfig):
    """All settings of a run: of the compiled iteration, and of the host's work around it."""

    game: azo.games.registry.GameConfig = azo.games.registry.GameConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    ratings: azo.measure.generation_elo.RatingsConfig = azo.measure.generation_elo.RatingsConfig()
    run: RunConfig = RunConfig()
    curriculum: tuple[Phase, ...] = ()
    """Phases, run one after the other; without any there is a single run."""
    distributed: bool = False
    """Train together with other processes, on one host or several; see docs/scaling.md."""
    origin: Annotated[azo.run.origin.Origin | None, tyro.conf.Suppress] = None
    """What the network learned from besides the rules; a run records it, see `azo.run.origin`."""

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
    """Returns settings with some changed, by full names such as `search.num_simulations`.

    Raises:
      ValueError: One line about the first wrong setting.
    """
    tree = config.model_dump()
    for name, value in changes.items():
        *sections, setting = name.split(".")
        place: Any = tree
        for section in sections:
            place = place.setdefault(section, {}) if isinstance(place, dict) else None
        if not sections or not setting or not isinstance(place, dict):
            raise ValueError(f"{name!r}: write SECTION.SETTING, such as search.num_simulations")
        place[setting] = value
    return validation.validate(Config, tree, None)


def at_generation(config: Config, generation: int) -> Config:
    """Returns the settings of a generation, counted from 0."""
    entries = [entry for entry in config.generation.schedule if entry.start <= generation]
    changes = {name: value for entry in entries for name, value in entry.set.items()}
    fixed = _FIXED_SETTINGS + _FIXED_WITH_HOST * config.endings.waits_for_host
    for name in changes:
        if name.partition(".")[0] in _FIXED_SECTIONS or name in fixed:
            raise ValueError(f"generation.schedule: {name} cannot change during a run")
    plain = config.generation.model_copy(update={"schedule": ()})
    return with_settings(config.model_copy(update={"generation": plain}), changes)


def of_phase(config: Config, index: int) -> Config:
    """Returns the settings of a phase of the curriculum, counted from 0.

    The phase starts from the network of the phase before if that has the same shape, unless its
    settings name another start.
    """
    phase = config.curriculum[index]
    folders = [
        str(config.run.folder / f"{number}-{one.name}")
        for number, one in enumerate(config.curriculum, start=1)
    ]
    earlier = {config.curriculum[number].name: folders[number] for number in range(index)}

    def with_folders(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        for name, folder in earlier.items():
            value = value.replace("{" + name + "}", folder)
        if "{" in value:
            names = ", ".join(earlier) or "none"
            raise ValueError(f"phase {phase.name}: {value!r} names no earlier phase: {names}")
        return value

    base = config.model_copy(update={"curriculum": ()})
    changes = {name: with_folders(value) for name, value in phase.set.items()}
    settings = with_settings(base, changes | {"run.folder": folders[index]})
    if index and "run.start_from" not in changes:
        previous = config.curriculum[index - 1].set
        shape = {name: value for name, value in previous.items() if name.startswith("network.")}
        if with_settings(base, shape).network == settings.network:
            settings = with_settings(settings, {"run.start_from": folders[index - 1]})
    return settings


def load_file(path: pathlib.Path) -> Config:
    """Returns the settings of a file.

    Args:
      path: a TOML file, the name of a shipped one, or the `settings.json` of a run. A TOML file
        may begin with `base`, the file whose settings it changes: the path from its folder, or the
        name of a shipped one.

    Raises:
      ValueError: One line; the file is missing or unreadable, or a setting is wrong.
    """
    path = shipped_files.find_config(path)
    if path.suffix == ".json":
        return from_json(files.read_text(path), str(path))
    tree = _read(path, ())
    run = tree.setdefault("run", {})
    if isinstance(run, dict):
        run.setdefault("folder", f"runs/{path.stem}")
    return validation.validate(Config, tree, str(path))


def _read(path: pathlib.Path, readers: tuple[pathlib.Path, ...]) -> dict[str, Any]:
    """Returns the settings in a file and in its bases; `readers` are the files that name it."""
    if path.resolve() in readers:
        raise ValueError(f"{path}: base leads back to this file")
    tree = validation.read_toml(path, "settings")
    base = tree.pop("base", None)
    if base is None:
        return tree
    if not isinstance(base, str):
        raise ValueError(f"{path}: base is {base!r}, but should be the path of a settings file")
    try:
        base_path = shipped_files.find_config(pathlib.Path(base), beside=path.parent)
    except ValueError as error:
        raise ValueError(f"{path}: base: {error}") from None
    return _merged(_read(base_path, (*readers, path.resolve())), tree)


def _merged(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tree of settings with some changed; lists are replaced as a whole."""
    merged = dict(tree)
    for name, value in changes.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merged(old, value)
        merged[name] = value
    return merged


def to_json(config: Config) -> str:
    """Returns all settings, defaults included, as indented JSON."""
    return config.model_dump_json(indent=2) + "\n"


def from_json(text: str, place: str = "settings.json") -> Config:
    """Returns the settings that `to_json` wrote; `place` names the file in messages."""
    tree = files.parse_json(text, place)
    if not isinstance(tree, dict):
        raise ValueError(f"{place}: not settings")
    if "has_margin_head" in (tree.get("network") or {}):
        raise ValueError(
            f"{place}: a network of an earlier version, which gives one value in place of the"
            " chances of all final scores: train it again"
        )
    for section, settings in _REMOVED.items():
        for name, value in settings.items():
            if isinstance(tree.get(section), dict) and tree[section].get(name) == value:
                del tree[section][name]
    return validation.validate(Config, tree, place)
