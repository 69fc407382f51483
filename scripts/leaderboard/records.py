"""Records: the cost of a run, and the Elo of its network on the fixed ladder.

A file of records has one line per record, and `page` makes a table of them. All numbers come from
the folder of the run and from its matches.
"""

import datetime
import json
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import pydantic

from azo.matches import ladder, tables
from azo.networks import checkpoint_folder, exported_network, network_files, origin
from azo.settings import setting_types, shipped_files
from azo.storage import files, journal
from azo.training import checkpoint, config, metrics

_HEADER = """\
# Leaderboard

Each row gives the cost of a run, and the Elo of its last network on the fixed ladder with a 95 %
interval, newest first. Hours are processor time of the iterations. In the columns with a number of
simulations, the network plays with the search of self-play, without noise. In the column with a
time per move, the engine of `azo gtp` plays, which also solves endgames.
`python -m scripts.leaderboard RUN --records FILE --page FILE` adds a record.
"""
# Settings that do not change what a run learns.
_FREE = {"minutes", "evaluation", "ratings", "run", "curriculum", "origin"}
_COSTS = ("time/processor_seconds", "time/training_seconds", "selfplay/evaluations")
_MAX_CHANGES = 6  # of a recipe, to be named as a shipped one with changes

_Counts = tuple[int, int, int]  # games won, drawn and lost


class Cost(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The cost of a run's iterations until a checkpoint."""

    iteration: setting_types.Count
    processor_minutes: setting_types.NonNegativeFloat
    wall_minutes: setting_types.NonNegativeFloat
    evaluations: setting_types.Count


class Record(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One run, and the strength of its network."""

    date: datetime.date
    """Day of the matches."""
    commit: str
    """Of the training; several if the run was resumed with another one."""
    recipe: str
    """Shipped settings file, with the settings that differ, and the network that it began with."""
    seed: int | None = None
    """None in the oldest record."""
    hardware: str
    """Processor and devices of the training."""
    from_rules_alone: bool
    cost: Cost
    """Of the last checkpoint."""
    matches: dict[str, dict[str, _Counts]] = {}
    """Games on the ladder by way to play, such as "100" (simulations) or "0.1 s", and opponent."""
    elo: dict[str, tuple[setting_types.Finite, setting_types.Finite, setting_types.Finite]] = {}
    """Elo on the ladder and its 95 % interval, by way to play."""


def of_run(run: pathlib.Path, matches: Mapping[str, ladder.Results]) -> Record:
    """Returns the record of the latest checkpoint of a run; ValueError if its metrics lack costs.

    `matches` on the ladder are by way to play.
    """
    step = all_steps(run)[-1]
    standings = {way: ladder.rate_network(results) for way, results in matches.items()}
    settings = checkpoint.read_settings(run, step)
    of_network = exported_network.NetworkSettings.from_run(settings)
    starts = [event for event in metrics.read(run, "start") if event["iteration"] <= step]
    return Record(
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        commit=_joined(event["start/commit"] for event in starts),
        recipe=recipe(settings),
        seed=settings.run.seed,
        hardware=_joined(f"{one['start/processor']}; {one['start/devices']}" for one in starts),
        from_rules_alone=origin.is_from_rules_alone(network_files.origin_of(of_network)),
        cost=_cost(run, step),
        matches={
            way: {name: result.counts for name, result in results.items()}
            for way, results in matches.items()
        },
        elo={
            way: (round(one.rating, 1), round(one.interval[0], 1), round(one.interval[1], 1))
            for way, one in standings.items()
        },
    )


def _cost(run: pathlib.Path, step: int) -> Cost:
    """Returns what a checkpoint took; raises ValueError if the metrics lack times or counts."""
    events = [one for one in metrics.read(run, "iteration") if one["iteration"] == step]
    found = events[-1] if events else {}
    for field in _COSTS:
        if found.get(field) is None:
            raise ValueError(f"{run}: its metrics do not have {field} of checkpoint {step}")
    return Cost(
        iteration=step,
        processor_minutes=round(found["time/processor_seconds"] / 60, 2),
        wall_minutes=round(found["time/training_seconds"] / 60, 2),
        evaluations=found["selfplay/evaluations"],
    )


def all_steps(run: pathlib.Path) -> list[int]:
    """Returns the iterations of all checkpoints, in order; raises ValueError without any."""
    steps = checkpoint_folder.all_steps(run)
    if not steps:
        raise ValueError(f"{run}: not the folder of a run with a checkpoint")
    return steps


def recipe(settings: config.Config) -> str:
    """Returns the shipped settings file nearest to settings, and what differs.

    The training of a network that a run began with is not in the figures of the run.
    """
    start = settings.run.start_from
    begun = [] if start is None else [f"begun with the network {start.name}"]
    own = _flat(settings)
    changes = {}
    for path in [*shipped_files.CONFIGS.glob("*.toml"), *shipped_files.CONFIGS.glob("champions/*")]:
        theirs = _flat(config.load_file(path))
        changes[path.relative_to(shipped_files.CONFIGS).with_suffix("").as_posix()] = [
            f"{name} {json.dumps(value)}" for name, value in own.items() if theirs[name] != value
        ]
    name = min(changes, key=lambda one: len(changes[one]))
    is_own = len(changes[name]) > _MAX_CHANGES
    return ", ".join([*(["own settings"] if is_own else [name, *changes[name]]), *begun])


def read(path: pathlib.Path) -> list[Record]:
    """Returns the records of a file, oldest first; none without a file."""
    return journal.read(path, Record.model_validate_json)


def add(path: pathlib.Path, record: Record) -> None:
    """Adds a record to a file.

    It replaces earlier records of the same training, and keeps their other ratings.
    """
    measured = ("matches", "elo")
    free: Any = {"date", *measured}
    training = record.model_dump(exclude=free)
    kept = []
    for earlier in read(path):
        if earlier.model_dump(exclude=free) == training:
            both = {name: getattr(earlier, name) | getattr(record, name) for name in measured}
            record = record.model_copy(update=both)
        else:
            kept.append(earlier)
    lines = [one.model_dump_json(exclude_defaults=True) + "\n" for one in (*kept, record)]
    files.write(path, "".join(lines).encode(), makes_folder=True)


def page(records: Sequence[Record]) -> str:
    """Returns the leaderboard in Markdown, newest records first."""
    rated = records[::-1]
    ways = list(dict.fromkeys(way for one in rated for way in one.elo))
    units = ["simulations" if way.isdigit() else "per move" for way in ways]
    titles = [f"Elo, {way} {unit}" for way, unit in zip(ways, units, strict=True)]
    of_training = ["date", "recipe", "seed>", "commit", "hardware", "rules alone"]
    rows = []
    for one in rated:
        elos = {way: "{:.0f} ({:.0f} to {:.0f})".format(*rating) for way, rating in one.elo.items()}
        rows.append(
            [
                one.date,
                f"`{one.recipe}`",
                "" if one.seed is None else one.seed,
                one.commit,
                one.hardware,
                "yes" if one.from_rules_alone else "no",
                f"{one.cost.processor_minutes / 60:.2f}",
                f"{one.cost.evaluations:,}",
                *(elos.get(way, "") for way in ways),
            ]
        )
    columns = [*of_training, "hours>", "evaluations>", *titles]
    lines = tables.table(columns, rows) if rows else ["No record yet."]
    return "\n".join([_HEADER, *lines]) + "\n"


def _joined(texts: Iterable[str]) -> str:
    return ", then ".join(dict.fromkeys(texts))


def _flat(settings: config.Config) -> dict[str, Any]:
    """Returns the settings that change what a run learns, by their full names."""
    tree = settings.model_dump(mode="json", exclude=_FREE)
    leaves = jax.tree.leaves_with_path(tree, is_leaf=lambda node: not isinstance(node, dict))
    return {jax.tree_util.keystr(path, simple=True, separator="."): one for path, one in leaves}
