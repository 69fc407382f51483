"""Queues of runs: a TOML file that names recipes and seeds to compare.

An arm starts from the settings of the arm that it is compared with, so the two differ only in the
settings of the arm. All jobs of a queue have the same budget, of network evaluations in self-play
and gates or of processor time. The phases of a curriculum share it: each phase has the rest of the
earlier ones, or less if its own settings limit it.
"""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic

from azo.settings import import_paths, setting_types, shipped_files, validation
from azo.storage import files
from azo.training import config

_Name = Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_.-]+$")]
_Settings = dict[str, Any]


class Arm(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A recipe to compare."""

    name: _Name
    """Name in tables and folders."""
    question: str
    """The question that the arm answers, in one line."""
    config: pathlib.Path | None = None
    """Settings file to start from; by default the settings of the arm that it is compared with."""
    against: str | None = None
    """Earlier arm to start from and to compare with; by default the first."""
    set: _Settings = {}
    """Settings that differ, by full name, such as `search.num_simulations`."""
    phases: dict[str, _Settings] = {}
    """Settings that differ in phases of the curriculum, by the names of the phases."""


class Queue(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Arms to compare, with everything else equal."""

    base: pathlib.Path
    """Settings file of all arms that have no own one, relative to the folder of the queue's
    file."""
    set: _Settings = {}
    """Settings of all arms that differ from the settings file, by full names."""
    max_evaluations: setting_types.LargeInt | None = None
    """Budget of each job: network evaluations."""
    max_processor_seconds: setting_types.PositiveFloat | None = None
    """Alternatively, processor time of the training."""
    seeds: Annotated[tuple[setting_types.Seed, ...], pydantic.Field(min_length=1)]
    """Seeds. All arms run with the first seed before any arm runs with the second."""
    opponent: str = "rollouts:100"
    """Opponent of the trained networks in the final match."""
    num_games: setting_types.PairedGames = 512
    """Games of the final match."""
    num_simulations: setting_types.Simulations = 100
    """Simulations per move of the networks in the matches."""
    opening_plies: Annotated[setting_types.Plies, pydantic.Field(multiple_of=2)] = 4
    """Random plies at the start of each game of the matches."""
    versus_games: Annotated[setting_types.NonNegativeInt, pydantic.Field(multiple_of=2)] = 0
    """Games of each arm against the arm it is compared with, trained with the same seed; 0:
    none."""
    arms: Annotated[tuple[Arm, ...], pydantic.Field(min_length=1)]
    """Arms, in the order of their runs."""

    @pydantic.field_validator("arms")
    @classmethod
    def _check_arms(cls, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        """Returns the arms, each but the first with the name of the one it is compared with."""
        checked: list[Arm] = []
        for arm in arms:
            earlier = [other.name for other in checked]
            if arm.name in earlier:
                raise ValueError(f"there are two arms {arm.name!r}: rename one")
            if arm.against is not None and arm.against not in earlier:
                raise ValueError(
                    f"arm {arm.name!r}: against is {arm.against!r}, but should be an earlier arm:"
                    f" {', '.join(earlier) or 'this is the first'}"
                )
            against = arm.against or next(iter(earlier), None)
            checked.append(arm.model_copy(update={"against": against}))
        return tuple(checked)

    @pydantic.model_validator(mode="after")
    def _check_seeds_and_budget(self) -> "Queue":
        if (self.max_evaluations is None) == (self.max_processor_seconds is None):
            raise ValueError("give one of max_evaluations and max_processor_seconds")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds is {list(self.seeds)}: remove the repeated seeds")
        return self

    @property
    def limit(self) -> str:
        """The setting of `run` that limits a job."""
        return "max_evaluations" if self.max_evaluations else "max_processor_seconds"

    @property
    def budget(self) -> float:
        """Evaluations or processor seconds of a job."""
        return getattr(self, self.limit)


@dataclasses.dataclass(frozen=True)
class Job:
    """One arm with one seed."""

    arm: Arm
    seed: int
    folder: pathlib.Path  # contains the folders of its runs
    settings: config.Config  # without the budget
    opponent: "Job | None"  # with the same seed, of the arm that it plays against
    request: Mapping[str, Any]  # decides the result, and is stored with it
    queue: Queue

    def __str__(self) -> str:
        return f"{self.arm.name}, seed {self.seed}"

    @property
    def root(self) -> pathlib.Path:
        """Folder that the user named, with the folders of the arms and, in these, of the jobs."""
        return self.folder.parents[1]

    @property
    def log(self) -> pathlib.Path:
        """File with the output of its child processes."""
        return self.folder / "log.txt"

    @property
    def num_phases(self) -> int:
        """Number of its runs: the phases of a curriculum, or one."""
        return max(1, len(self.settings.curriculum))

    def phase(self, index: int, budget_left: float) -> config.Config:
        """Returns the settings of one of its runs, from 0, with the rest of the budget."""
        settings, limit = self.settings, self.queue.limit
        if settings.curriculum:
            settings = config.of_phase(self.settings, index)
            if f"run.{limit}" in self.settings.curriculum[index].set:
                budget_left = min(getattr(settings.run, limit) or budget_left, budget_left)
        return config.with_settings(settings, {f"run.{limit}": budget_left})


def load(path: pathlib.Path, folder: pathlib.Path) -> tuple[Queue, list[Job]]:
    """Returns a queue and its jobs in their order: all arms with the first seed, then the second.

    `path` is a TOML file or the name of a shipped one, `folder` the parent of the jobs' folders.
    Raises ValueError for an error in the file or in the settings of an arm.
    """
    with import_paths.from_file():
        return _load(path, folder)


def _load(path: pathlib.Path, folder: pathlib.Path) -> tuple[Queue, list[Job]]:
    path = shipped_files.find_config(path, "queue", "queues")
    queue = validation.load(Queue, path, "queue")
    fixed = {"base", "set", "seeds", "arms", "versus_games"}
    common = queue.model_dump(mode="json", exclude=fixed, exclude_none=True)
    # Only the budget ends a run, and the last checkpoint is its result.
    without_phases = {
        "minutes": None,
        "run.num_iterations": None,
        "ratings.num_points": 0,
        "evaluation.every": 0,
        "evaluation.num_games": 2,
        "evaluation.num_simulations": queue.num_simulations,
        "evaluation.opponent": "random",
    }
    # The settings file of each arm, and the settings that differ: of all phases and of each.
    origins: dict[str, tuple[pathlib.Path, _Settings, dict[str, _Settings]]] = {}
    jobs: dict[tuple[str | None, int], Job] = {}
    for arm in queue.arms:
        phases: dict[str, _Settings] = {}
        file, changes = arm.config or queue.base, queue.set
        if arm.config is None and arm.against is not None:
            file, changes, phases = origins[arm.against]
        names = sorted(phases.keys() | arm.phases.keys())
        phases = {name: phases.get(name, {}) | arm.phases.get(name, {}) for name in names}
        changes = changes | arm.set
        origins[arm.name] = file, changes, phases
        request = {"config": str(file), "overrides": changes, "phases": phases} | common
        with files.located(f"{path}: arm {arm.name!r}"):
            settings = _with_phases(config.load_file(path.parent / file), phases)
            for seed in queue.seeds:
                place = folder / arm.name / str(seed)
                own: _Settings = {"run.folder": place, "run.seed": seed, "run.num_devices": 1}
                if not settings.curriculum:
                    own |= without_phases | {"run.folder": place / "run"}
                resolved = config.with_settings(settings, own | changes)
                opponent = jobs.get((arm.against, seed)) if queue.versus_games else None
                job = Job(arm, seed, place, resolved, opponent, request, queue)
                jobs[arm.name, seed] = job
            for index in range(job.num_phases):
                job.phase(index, queue.budget)
    return queue, sorted(jobs.values(), key=lambda job: queue.seeds.index(job.seed))


def _with_phases(settings: config.Config, phases: Mapping[str, _Settings]) -> config.Config:
    phase_names = [phase.name for phase in settings.curriculum]
    for name in phases:
        if name not in phase_names:
            available = ", ".join(phase_names) or "none"
            raise ValueError(f"unknown phase {name!r}. Phases of the recipe: {available}")
    curriculum = tuple(
        phase.model_copy(update={"set": phase.set | phases.get(phase.name, {})})
        for phase in settings.curriculum
    )
    return settings.model_copy(update={"curriculum": curriculum})
