"""Queues of comparisons: a TOML file that names recipes and seeds, and the runs that it asks for.

An arm starts from the settings of the arm that it is compared with, so it differs from it in what
it sets and in nothing else. All runs of a queue have the same budget of network evaluations, those
of self-play and gates; the phases of a curriculum share it, each having what the earlier ones left.
"""

import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

import pydantic

from azo.run import config, metrics, shipped_files, validation

_Name = Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_.-]+$")]
_Settings = dict[str, Any]
_LOG = "log.txt"
_RUN = "run"
# With a constant learning rate the number of iterations has no effect but to end the run, which is
# what the budget is for; iterations that learn alone take none of it.
_SPARE_ITERATIONS = 100


class Arm(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A recipe to be compared."""

    name: _Name
    """What tables and folders call it."""
    question: str
    """What it is to find out, in one line."""
    config: pathlib.Path | None = None
    """Settings file to start from, in place of the settings of the arm it is compared with."""
    against: str | None = None
    """An earlier arm to start from and to compare with; the first one unless it says otherwise."""
    set: _Settings = {}
    """What is different, by full names such as `search.num_simulations`."""
    phases: dict[str, _Settings] = {}
    """What is different in phases of its curriculum, by their names."""


class Queue(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Comparisons with everything else equal."""

    base: pathlib.Path
    """Settings file of all arms without one of their own; paths start at the queue's folder."""
    set: _Settings = {}
    """What all arms have otherwise than their settings file, by full names."""
    max_evaluations: pydantic.PositiveInt
    """Network evaluations of each run."""
    seeds: Annotated[tuple[pydantic.NonNegativeInt, ...], pydantic.Field(min_length=1)]
    """Every arm is run once with each."""
    opponent: str = "rollouts:100"
    """Whom the trained networks meet."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 512
    """Games of that match."""
    num_simulations: pydantic.PositiveInt = 100
    """Simulations a move of the networks in it."""
    arms: Annotated[tuple[Arm, ...], pydantic.Field(min_length=1)]
    """In the order in which they are run."""

    @pydantic.model_validator(mode="after")
    def _check_names(self) -> "Queue":
        for index, arm in enumerate(self.arms):
            earlier = [other.name for other in self.arms[:index]]
            if arm.name in earlier:
                raise ValueError(f"there are two arms {arm.name!r}: rename one")
            if arm.against is not None and arm.against not in earlier:
                raise ValueError(
                    f"arm {arm.name!r} is against {arm.against!r}, which is no earlier arm:"
                    f" {', '.join(earlier) or 'there is none'}"
                )
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds are {list(self.seeds)}: each only once")
        return self

    def against(self, arm: Arm) -> Arm | None:
        """Returns the arm that one is compared with, None for the first."""
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
    folder: pathlib.Path  # of the job; runs lie in it
    settings: config.Config  # without the budget
    asked: Mapping[str, Any]  # what decides its result, as in the result's line
    queue: Queue

    @property
    def log(self) -> pathlib.Path:
        return self.folder / _LOG

    @property
    def num_parts(self) -> int:
        """Runs that it takes: the phases of a curriculum, or one."""
        return max(1, len(self.settings.curriculum))

    def part(self, index: int, num_evaluations: int) -> config.Config:
        """Returns the settings of one of its runs, the first being 0, with so large a budget."""
        budget = {"run.max_evaluations": num_evaluations}
        if self.settings.curriculum:
            return config.with_settings(config.of_phase(self.settings, index), budget)
        chosen = config.with_settings(self.settings, {"run.folder": self.folder / _RUN} | budget)
        if "run.num_iterations" in self.asked["overrides"]:
            return chosen
        return config.with_settings(chosen, {"run.num_iterations": num_iterations(chosen)})


def load(path: pathlib.Path, folder: pathlib.Path) -> tuple[Queue, list[Job]]:
    """Returns a queue and its jobs in their order: every arm's first seed, then the second, ...

    Args:
      path: the TOML file.
      folder: where the jobs have theirs.

    Raises:
      ValueError: one line that says what is wrong with the file or the settings of an arm.
    """
    path = shipped_files.find_config(path, "queue", "queues")
    queue = validation.load(Queue, path, "queue")
    jobs = {}
    for arm in queue.arms:
        try:
            jobs[arm.name] = [_job(queue, arm, seed, path.parent, folder) for seed in queue.seeds]
            for job in jobs[arm.name][:1]:
                for index in range(job.num_parts):
                    job.part(index, queue.max_evaluations)
        except ValueError as error:
            raise ValueError(f"{path}: arm {arm.name!r}: {error}") from None
    return queue, [job for seeds in zip(*jobs.values(), strict=True) for job in seeds]


def num_iterations(settings: config.Config) -> int:
    """Returns the iterations that use up `run.max_evaluations`.

    As many as are expected where the learning rate depends on them, far too many otherwise.
    """
    assert settings.run.max_evaluations is not None
    expected = math.ceil(settings.run.max_evaluations / evaluations_per_iteration(settings))
    if settings.learner.schedule == "constant":
        return _SPARE_ITERATIONS * expected
    generation = settings.generation
    if generation.num_samples or generation.schedule or settings.gate.is_enabled:
        raise ValueError(
            f"with learner.schedule {settings.learner.schedule!r} and generations the budget does"
            " not say how many iterations there will be: set run.num_iterations"
        )
    return expected


def evaluations_per_iteration(settings: config.Config) -> float:
    """Returns the network evaluations of an iteration's self-play, the mean with a playout cap."""
    plays, search = settings.selfplay, settings.search
    share = plays.full_search_share
    simulations = share * search.num_simulations + (1 - share) * plays.fast_simulations
    return plays.num_games * plays.num_plies * (simulations + 1)


def evaluations_used(folder: pathlib.Path) -> int:
    """Returns the network evaluations of a run so far."""
    name = "selfplay/evaluations"
    return max((event[name] for event in metrics.read(folder) if name in event), default=0)


def to_toml(settings: config.Config) -> str:
    """Returns what differs from the defaults as a settings file."""
    tree = json.loads(settings.model_dump_json(exclude_defaults=True, exclude_none=True))
    sections = {name: value for name, value in tree.items() if isinstance(value, dict)}
    lines = [f"{name} = {_literal(tree[name])}" for name in tree if name not in sections]
    for name, values in sections.items():
        lines += ["", f"[{name}]", *(f"{key} = {_literal(x)}" for key, x in values.items())]
    return "\n".join(lines).lstrip() + "\n"


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_literal(x)}" for key, x in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _job(queue: Queue, arm: Arm, seed: int, beside: pathlib.Path, folder: pathlib.Path) -> Job:
    file, overrides, phases = _origin(queue, arm)
    place = folder / arm.name / str(seed)
    settings = config.load_file(beside / file)
    settings = _with_phases(settings, phases)
    own = {"run.folder": place, "run.seed": seed, "run.num_devices": 1}
    if not settings.curriculum:
        # Only the final match counts, and it takes the last network, not that of the best match.
        own |= {
            "evaluation.every": 0,
            "evaluation.num_games": 2,
            "evaluation.num_simulations": queue.num_simulations,
            "evaluation.opponent": "random",
        }
    asked = {
        "config": str(file),
        "overrides": overrides,
        "phases": phases,
        "max_evaluations": queue.max_evaluations,
        "opponent": queue.opponent,
        "num_games": queue.num_games,
        "num_simulations": queue.num_simulations,
    }
    return Job(
        arm=arm.name,
        seed=seed,
        folder=place,
        settings=config.with_settings(settings, own | overrides),
        asked=asked,
        queue=queue,
    )


def _origin(queue: Queue, arm: Arm) -> tuple[pathlib.Path, _Settings, dict[str, _Settings]]:
    """Returns an arm's settings file and all that differs from it, in phases as well."""
    against = queue.against(arm)
    if arm.config is not None or against is None:
        return arm.config or queue.base, queue.set | arm.set, arm.phases
    file, overrides, phases = _origin(queue, against)
    names = phases.keys() | arm.phases.keys()
    merged = {name: phases.get(name, {}) | arm.phases.get(name, {}) for name in sorted(names)}
    return file, overrides | arm.set, merged


def _with_phases(settings: config.Config, phases: Mapping[str, _Settings]) -> config.Config:
    known = [phase.name for phase in settings.curriculum]
    for name in phases:
        if name not in known:
            raise ValueError(f"there is no phase {name!r}: {', '.join(known) or 'none at all'}")
    curriculum = tuple(
        phase.model_copy(update={"set": phase.set | phases.get(phase.name, {})})
        for phase in settings.curriculum
    )
    return settings.model_copy(update={"curriculum": curriculum})
