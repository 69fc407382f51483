"""Queues of runs: a TOML file that names recipes and seeds to compare.

An arm starts from the settings of the arm that it is compared with, so the two differ only in the
settings of the arm. All jobs of a queue have the same budget, of network evaluations in self-play
and gates or of processor time. The phases of a curriculum share it: each phase has the rest of the
earlier ones, or less if its own settings limit it.
"""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pydantic

from azo.games import setting_types
from azo.measure import comparison
from azo.run import config, metrics, shipped_files, validation

_Name = Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_.-]+$")]
_Settings = dict[str, Any]
# The budget ends the run, not the number of iterations.
_MAX_ITERATIONS = 1_000_000
Limit = Literal["max_evaluations", "max_processor_seconds"]
# What the metrics of a run say of it.
_FIGURES: dict[Limit, str] = {
    "max_evaluations": "selfplay/evaluations",
    "max_processor_seconds": "time/processor_seconds",
}


class Arm(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A recipe to compare."""

    name: _Name
    """Name in tables and folders."""
    question: str
    """The question that the arm answers, in one line."""
    config: pathlib.Path | None = None
    """Settings file to start from; by default the settings of the arm it is compared with."""
    against: str | None = None
    """Earlier arm to start from and to compare with; by default the first."""
    set: _Settings = {}
    """Settings that differ, by full names such as `search.num_simulations`."""
    phases: dict[str, _Settings] = {}
    """Settings that differ in phases of the curriculum, by the names of the phases."""


class VersusConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Match between two trained networks of the same seed, stopped by a sequential test."""

    max_games: Annotated[setting_types.NonNegativeInt, pydantic.Field(multiple_of=2)] = 0
    """Games at most; 0: no match."""
    batch_games: setting_types.PairedGames = 50
    """Games between two looks at the result."""
    elo: setting_types.PositiveFloat = 20.0
    """The match ends when it is known, at 5 %, that the one or the other is stronger by so much."""


class Queue(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Arms to compare, with everything else equal."""

    base: pathlib.Path
    """Settings file of all arms without their own; relative to the folder of the queue's file."""
    set: _Settings = {}
    """Settings of all arms that differ from the settings file, by full names."""
    max_evaluations: setting_types.LargeInt | None = None
    """Budget of each job: network evaluations."""
    max_processor_seconds: setting_types.PositiveFloat | None = None
    """Alternatively, processor time of the training."""
    seeds: Annotated[tuple[setting_types.Seed, ...], pydantic.Field(min_length=1)]
    """Seeds; an arm runs with one after the other until its effect is known."""
    opponent: str = "rollouts:100"
    """Opponent of the trained networks in the final match."""
    num_games: setting_types.PairedGames = 512
    """Games of the final match."""
    num_simulations: setting_types.Simulations = 100
    """Simulations a move of the networks in the matches."""
    opening_plies: Annotated[setting_types.Plies, pydantic.Field(multiple_of=2)] = 4
    """Random plies at the start of each game of the matches."""
    versus: VersusConfig = VersusConfig()
    """Match of each arm against the arm that it is compared with."""
    arms: Annotated[tuple[Arm, ...], pydantic.Field(min_length=1)]
    """Arms, in the order of their runs."""

    @pydantic.model_validator(mode="after")
    def _check_budget(self) -> "Queue":
        if (self.max_evaluations is None) == (self.max_processor_seconds is None):
            raise ValueError("give one of max_evaluations and max_processor_seconds")
        return self

    @pydantic.model_validator(mode="after")
    def _check_names(self) -> "Queue":
        for index, arm in enumerate(self.arms):
            earlier = [other.name for other in self.arms[:index]]
            if arm.name in earlier:
                raise ValueError(f"there are two arms {arm.name!r}: rename one")
            if arm.against is not None and arm.against not in earlier:
                raise ValueError(
                    f"arm {arm.name!r}: against is {arm.against!r}, but should be an earlier arm:"
                    f" {', '.join(earlier) or 'this is the first'}"
                )
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds is {list(self.seeds)}: remove the repeated seeds")
        return self

    @property
    def limit(self) -> Limit:
        """The setting of `run` that limits a job."""
        return "max_evaluations" if self.max_evaluations else "max_processor_seconds"

    @property
    def budget(self) -> float:
        """Evaluations or processor seconds of a job."""
        return getattr(self, self.limit)

    @property
    def comparisons(self) -> list[comparison.Arm]:
        """Name and question of each arm, and the name of the arm that it is compared with."""
        against = [self.against(arm) for arm in self.arms]
        return [
            (arm.name, arm.question, other.name if other else None)
            for arm, other in zip(self.arms, against, strict=True)
        ]

    def against(self, arm: Arm) -> Arm | None:
        """Returns the arm that an arm is compared with, None for the first."""
        if arm is self.arms[0]:
            return None
        return next(
            other for other in self.arms if other.name == (arm.against or self.arms[0].name)
        )


@dataclasses.dataclass(frozen=True)
class Job:
    """One arm with one seed."""

    arm: str
    seed: int
    folder: pathlib.Path  # contains the folders of its runs
    settings: config.Config  # without the budget
    request: Mapping[str, Any]  # decides the result, and is stored with it
    queue: Queue

    def __str__(self) -> str:
        return f"{self.arm}, seed {self.seed}"

    @property
    def log(self) -> pathlib.Path:
        """File with the output of its child processes."""
        return self.folder / "log.txt"

    @property
    def num_phases(self) -> int:
        """Number of its runs: the phases of a curriculum, or one."""
        return max(1, len(self.settings.curriculum))

    @property
    def against(self) -> str | None:
        """Name of the arm that it is compared with."""
        return next(other for name, _, other in self.queue.comparisons if name == self.arm)

    def phase(self, index: int, budget_left: float) -> config.Config:
        """Returns the settings of one of its runs, from 0, with the rest of the budget."""
        limit = f"run.{self.queue.limit}"
        if self.settings.curriculum:
            own = self.settings.curriculum[index].set.get(limit, budget_left)
            phase = config.of_phase(self.settings, index)
            return config.with_settings(phase, {limit: min(own, budget_left)})
        changes = {"run.folder": self.folder / "run", limit: budget_left}
        if "run.num_iterations" not in self.request["overrides"]:
            changes["run.num_iterations"] = _MAX_ITERATIONS
        return config.with_settings(self.settings, changes)


def load(path: pathlib.Path, folder: pathlib.Path) -> tuple[Queue, list[Job]]:
    """Returns a queue and its jobs in their order: all arms with the first seed, then the second.

    Args:
      path: the TOML file, or the name of a shipped one.
      folder: the parent of the folders of the jobs.

    Raises:
      ValueError: One line about the error in the file or the settings of an arm.
    """
    path = shipped_files.find_config(path, "queue", "queues")
    queue = validation.load(Queue, path, "queue")
    jobs = {}
    for arm in queue.arms:
        try:
            jobs[arm.name] = [_job(queue, arm, seed, path.parent, folder) for seed in queue.seeds]
            for job in jobs[arm.name][:1]:
                for index in range(job.num_phases):
                    job.phase(index, queue.budget)
        except ValueError as error:
            raise ValueError(f"{path}: arm {arm.name!r}: {error}") from None
    return queue, [job for seeds in zip(*jobs.values(), strict=True) for job in seeds]


def used(run: pathlib.Path, limit: Limit) -> Any:
    """Returns how much of a limit a run has used so far: evaluations or processor seconds."""
    name = _FIGURES[limit]
    return max((event[name] for event in metrics.read(run) if name in event), default=0)


def _job(queue: Queue, arm: Arm, seed: int, beside: pathlib.Path, folder: pathlib.Path) -> Job:
    file, overrides, phases = _origin(queue, arm)
    job_folder = folder / arm.name / str(seed)
    settings = config.load_file(beside / file)
    settings = _with_phases(settings, phases)
    own = {"run.folder": job_folder, "run.seed": seed, "run.num_devices": 1}
    if not settings.curriculum:
        # A single small evaluation at the end, so that the best checkpoint is the last one.
        own |= {
            "evaluation.every": 0,
            "evaluation.num_games": 2,
            "evaluation.num_simulations": queue.num_simulations,
            "evaluation.opponent": "random",
        }
    request = {
        "config": str(file),
        "overrides": overrides,
        "phases": phases,
        **{
            name: value
            for name, value in queue.model_dump(mode="json").items()
            if name not in ("base", "set", "seeds", "arms", "versus") and value is not None
        },
    }
    return Job(
        arm=arm.name,
        seed=seed,
        folder=job_folder,
        settings=config.with_settings(settings, own | overrides),
        request=request,
        queue=queue,
    )


def _origin(queue: Queue, arm: Arm) -> tuple[pathlib.Path, _Settings, dict[str, _Settings]]:
    """Returns the settings file of an arm, and the settings that differ: of all and by phase."""
    against = queue.against(arm)
    if arm.config is not None or against is None:
        return arm.config or queue.base, queue.set | arm.set, arm.phases
    file, overrides, phases = _origin(queue, against)
    names = phases.keys() | arm.phases.keys()
    merged = {name: phases.get(name, {}) | arm.phases.get(name, {}) for name in sorted(names)}
    return file, overrides | arm.set, merged


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
