"""All settings of a run: gathered, loaded from a TOML file, and checked.

Every section is defined beside the code that reads it. This module gathers them into `Config` and
checks combinations of sections. Wrong settings raise ValueError with one line that names the
setting, the value found and what would work.
"""

import operator
import pathlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import pydantic
import tyro

import azo.learning.run_state
import azo.networks.origin
from azo.games import game_config, plurals, registry
from azo.settings import setting_types, shipped_files, validation
from azo.storage import files
from azo.training import checks

DEFAULT_CONFIG = shipped_files.CONFIGS / "azo8.toml"
ACCELERATOR_CONFIG = shipped_files.CONFIGS / "azo8-gpu.toml"  # the default on a GPU or TPU

# Settings that end a run, the metrics that they limit, and what is said then of one or more.
_LIMITS = {
    "minutes": ("time/minutes", "minute", "over"),
    "run.num_iterations": ("iteration", "iteration", "done"),
    "run.max_evaluations": ("selfplay/evaluations", "evaluation", "used"),
    "run.max_processor_seconds": ("time/processor_seconds", "processor second", "used"),
}
LISTS = ("generation.schedule", "curriculum")  # of changed settings, by full names
_NAMED = re.compile(r"\{([^{}]*)(\}?)")
_WITH_EVALUATIONS = setting_types.needs_other("every", 0)
_WITH_SELFPLAY = setting_types.needs("endings.num_positions", 0)
_WITH_TABLES = setting_types.needs_other("network.kind", "residual")
_GAMES_OF_MATCHES = setting_types.needs_other(
    "evaluation.every",
    0,
    alternatives=(
        setting_types.needs("gate.is_enabled", True),
        setting_types.needs_other("ratings.num_points", 0),
    ),
)


class RunConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Length, devices and folder of a run."""

    seed: setting_types.Seed = setting_types.never(0, is_common=True)
    """Seed of all random keys; the same seed repeats the run."""
    folder: pathlib.Path = setting_types.on_resume(pathlib.Path("runs/azo8"), is_common=True)
    """Folder of checkpoints and metrics; by default runs/NAME, with the name of the settings
    file."""
    num_iterations: setting_types.PositiveInt | None = setting_types.on_resume(None, is_common=True)
    """Number of iterations of the whole run. At least one limit of the run must be given."""
    num_devices: setting_types.Devices | None = setting_types.on_resume(None, is_common=True)
    """Devices of each process, which share games and batches; None takes all."""
    save_every: setting_types.PositiveInt = setting_types.on_resume(50)
    """Iterations between two checkpoints."""
    keep_checkpoints: setting_types.PositiveInt = setting_types.on_resume(3)
    """Number of latest checkpoints to keep; the best one is always kept."""
    log_every: setting_types.PositiveInt = setting_types.on_resume(1)
    """Iterations between two lines of metrics."""
    max_evaluations: setting_types.LargeInt | None = setting_types.on_resume(None)
    """The run ends after this many network evaluations in self-play and gates."""
    max_processor_seconds: setting_types.PositiveFloat | None = setting_types.on_resume(None)
    """The run ends when its iterations have taken this many processor seconds of the host."""
    start_from: pathlib.Path | None = setting_types.never(None, is_common=True)
    """Folder of a run or network whose weights the run starts from. From a network for another size
    of the Othello board, only the layers that fit are taken."""

    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"save_every": 10}


class EvaluationConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Matches against a fixed opponent during a run."""

    every: setting_types.NonNegativeInt = setting_types.on_resume(0, is_common=True)
    """Iterations between two evaluations. The last one is at the end of the run; 0: none."""
    num_games: setting_types.PairedGames = setting_types.on_resume(128)
    """Games per match. Each opening is played twice, with both colours."""
    num_simulations: setting_types.Simulations = setting_types.on_resume(100)
    """Simulations per move of the network."""
    opponent: str = setting_types.on_resume("rollouts:100", is_common=True)
    """Opponent: random, greedy, iagno:LEVEL, alphabeta:DEPTH, patterns:DEPTH, rollouts:N or the
    path of a checkpoint."""
    opening_plies: Annotated[setting_types.Plies, pydantic.Field(multiple_of=2)] = (
        setting_types.on_resume(4)
    )
    """Random plies at the start of each game: an even number, so that black moves next."""
    until_score: Annotated[float, pydantic.Field(gt=0, le=1)] | None = setting_types.on_resume(None)
    """The run ends when a match reaches this score."""

    NEEDS: ClassVar[setting_types.Table] = {
        "num_games": (_WITH_EVALUATIONS,),
        "num_simulations": (_WITH_EVALUATIONS,),
        "opponent": (_WITH_EVALUATIONS,),
        "until_score": (_WITH_EVALUATIONS,),
    }
    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"every": 10}

    def is_due(self, iteration: int) -> bool:
        """Returns whether to evaluate after an iteration, numbered from 1."""
        return self.every > 0 and iteration % self.every == 0


class RatingsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Elo on a fixed ladder during a run, and discs lost on solved positions."""

    num_points: setting_types.NonNegativeInt = setting_types.on_resume(0, is_common=True)
    """Number of ratings, at equal intervals over the run; 0: none."""
    num_games: setting_types.PairedGames = setting_types.on_resume(256)
    """Largest number of games against each opponent; a rating usually has two opponents. Fewer
    games are played if all ratings would take more than a tenth of the time. Each opening is played
    twice, with both colours."""
    num_simulations: setting_types.Simulations = setting_types.on_resume(100)
    """Simulations per move of the network."""

    NEEDS: ClassVar[setting_types.Table] = {
        "num_games": (setting_types.needs_other("num_points", 0),),
        "num_simulations": (setting_types.needs_other("num_points", 0),),
    }

    def is_due(self, share: float, rated_share: float) -> bool:
        """Returns whether to rate after a share of the run, last rated after `rated_share`."""
        return int(share * self.num_points) > int(rated_share * self.num_points)


class Phase(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One run of a curriculum, and the settings in which it differs."""

    name: Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_-]+$")]
    """Name. The folder of the phase is NUMBER-NAME in the folder of the run."""
    set: dict[str, Any] = {}
    """Settings by full name. `{NAME}` in a string stands for the folder of an earlier phase."""


class Config(azo.learning.run_state.RecipeConfig):
    """All settings of a run: of the compiled iteration, and of the host's work around it."""

    minutes: Annotated[float, pydantic.Field(ge=2, le=6000)] | None = setting_types.on_resume(
        None, is_common=True
    )
    """Length of the run in minutes, including matches, and compilation up to a quarter of it. The
    schedules of the learning rate and of the ratings are scaled to this length."""
    game: game_config.GameConfig = game_config.GameConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    ratings: RatingsConfig = RatingsConfig()
    run: RunConfig = RunConfig()
    curriculum: tuple[Phase, ...] = setting_types.on_resume(())
    """Phases, trained one after the other; without phases there is a single run."""
    origin: Annotated[azo.networks.origin.Origin | None, tyro.conf.Suppress] = (
        setting_types.on_resume(None)
    )
    """What the network learned from besides the rules. The run records it, see `origin`."""

    LIMITS: ClassVar[tuple[str, ...]] = tuple(_LIMITS)
    NEEDS: ClassVar[setting_types.Table] = {
        "learner.table_feature_rate": (_WITH_TABLES,),
        "learner.table_logit_rate": (_WITH_TABLES,),
        "evaluation.opening_plies": (_GAMES_OF_MATCHES,),
        "targets.value": (_WITH_SELFPLAY,),
        "targets.trace_decay": (_WITH_SELFPLAY,),
        "resignation.is_enabled": (_WITH_SELFPLAY,),
        "selfplay": (_WITH_SELFPLAY,),
        **{
            f"search.{name}": (_WITH_SELFPLAY,)
            for name in azo.learning.run_state.SearchConfig.model_fields
            if name != "score_share"  # also of solved endings
        },
    }

    @pydantic.model_validator(mode="after")
    def _check_across_sections(self) -> "Config":
        game = registry.make(self.game)
        checks.check_games(self, game, self.evaluation.opening_plies)
        checks.check_endings(self, game)
        if self.search.backend == "mctx" and self.selfplay.explored_share:
            raise ValueError(
                "selfplay.explored_share learns from the trees of azo's own search: set it to 0, or"
                " search.backend to azo"
            )
        checks.check_replay(self, game)
        checks.check_generations(self)
        if self.run.num_devices is not None:
            checks.check_devices(self, self.run.num_devices)
        for entry in self.generation.schedule:
            scheduled(self, entry.start, entry.share)
        for index in range(len(self.curriculum)):
            of_phase(self, index)
        return self


def with_settings(config: Config, changes: Mapping[str, Any]) -> Config:
    """Returns settings with some changed, by full names such as `search.num_simulations`."""
    tree = config.model_dump()
    for name, value in changes.items():
        *sections, setting = name.split(".")
        place: Any = tree
        for section in sections:
            place = place.setdefault(section, {}) if isinstance(place, dict) else None
        if not setting or not isinstance(place, dict):
            raise ValueError(f"{name!r}: write SECTION.SETTING, such as search.num_simulations")
        place[setting] = value
    return validation.validate(Config, tree, None)


def scheduled(config: Config, generation: int, share: float) -> Config:
    """Returns the settings of a generation, counted from 0, after a share of the run."""
    entries = [entry for entry in config.generation.schedule if entry.holds(generation, share)]
    changes = {name: value for entry in entries for name, value in entry.set.items()}
    for name, field in setting_types.fields_of(Config).items() if changes else ():
        is_changed = any(name == one or name.startswith(f"{one}.") for one in changes)
        if is_changed and setting_types.when_changed(field) in ("never", "on resume"):
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

    def folder_of(match: re.Match[str]) -> str:
        if not match[2] or match[1] not in earlier:
            names = ", ".join(earlier) or "none"
            raise ValueError(f"phase {phase.name}: {match[0]!r} names no earlier phase: {names}")
        return earlier[match[1]]

    base = config.model_copy(update={"curriculum": ()})
    # In one pass: a folder with braces would otherwise double the text at each phase.
    changes = {
        name: _NAMED.sub(folder_of, value) if isinstance(value, str) else value
        for name, value in phase.set.items()
    }
    settings = with_settings(base, changes | {"run.folder": folders[index]})
    if index and "run.start_from" not in changes:
        previous = config.curriculum[index - 1].set
        shape = {name: value for name, value in previous.items() if name.startswith("network.")}
        if with_settings(base, shape).network == settings.network:
            settings = with_settings(settings, {"run.start_from": folders[index - 1]})
    return settings


def load_file(path: pathlib.Path) -> Config:
    """Returns the settings of a file.

    `path` is a TOML file, the name of a shipped one, or the `settings.json` of a run. A TOML file
    may begin with `base`, the file whose settings it changes: the path from its folder, or the name
    of a shipped one.
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
    tree = _with_current_names(validation.read_toml(path, "settings"))
    base = tree.pop("base", None)
    if base is None:
        return tree
    if not isinstance(base, str):
        raise ValueError(f"{path}: base is {base!r}, but should be the path of a settings file")
    with files.located(f"{path}: base"):
        base_path = shipped_files.find_config(pathlib.Path(base), beside=path.parent)
    return validation.merged(_read(base_path, (*readers, path.resolve())), tree)


def _with_current_names(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns a tree of settings with the names of today, also in the schedule and the phases."""
    tree = validation.with_current_names(Config, tree)
    for name in LISTS:
        place: Any = tree
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        for entry in place if isinstance(place, list) else ():
            if isinstance(entry, dict) and isinstance(old := entry.get("set"), dict):
                entry["set"] = {validation.current_name(Config, x): old[x] for x in old}
    return tree


def to_json(config: Config) -> str:
    """Returns all settings, defaults included, as indented JSON."""
    return config.model_dump_json(indent=2) + "\n"


def from_json(text: str, place: str = "settings.json", *, is_resumed: bool = True) -> Config:
    """Returns the settings that `to_json` wrote; messages name the file `place`.

    Unless a run `is_resumed` with them, only its network is read, and settings of other versions
    are ignored. One that the text lacks has the default of the versions that wrote no such setting.
    """
    tree = files.parse_json(text, place)
    tree = _with_current_names(tree) if isinstance(tree, dict) else tree
    tree = validation.with_former_defaults(Config, tree)
    return validation.validate(Config, tree, place, ignores_unknown=not is_resumed)


class Limit(NamedTuple):
    """One limit of a run."""

    reason: str  # to end the run, once the limit is reached
    share: float  # used so far
    flag: str  # that doubles the limit


def used_limits(config: Config, used: Mapping[str, float]) -> list[Limit]:
    """Returns all limits of a run that has used so much, by the names of metrics."""
    limits = []
    for setting, (metric, noun, state) in _LIMITS.items():
        most = operator.attrgetter(setting)(config)
        if most is not None:
            flag = f"--{setting.replace('_', '-')} {2 * most:.15g}"
            amount = plurals.counted(most, noun, form=",.15g")
            reason = f"{amount} is {state}" if most == 1 else f"its {amount} are {state}"
            limits.append(Limit(reason, used.get(metric, 0) / most, flag))
    return limits
