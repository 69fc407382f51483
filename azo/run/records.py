"""Records: what a run took, and the strength of its network on the fixed ladder.

`docs/records.jsonl` has one line a record, `docs/leaderboard.md` the table. All figures come from
the folder of the run and from its matches.
"""

import datetime
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import pydantic

from azo.formats import files
from azo.measure import elo, journal
from azo.run import (
    checkpoint,
    checkpoint_folder,
    config,
    ladder_matches,
    metrics,
    network_files,
    origin,
    shipped_files,
)

_HEADER = """\
# Leaderboard

Time to strength: what a run took, and the Elo of its last network on the
[fixed ladder](classical.md#the-fixed-ladder), newest first. Hours are processor time of the
iterations. 95 % intervals are in brackets. A player with a number of simulations has the search of
self-play without noise. A player with a time a move is the engine of `azo gtp`, which also solves
endgames. `azo leaderboard` writes this page from `docs/records.jsonl`;
[models.md](models.md#long-runs-and-records) says how to add a record.
"""
# Settings that do not change what a run learns.
_FREE = {"evaluation", "ratings", "run", "curriculum", "distributed", "origin"}
_MAX_CHANGES = 6  # of a recipe, to be named as a shipped one with changes


class Training(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What was trained, with which source, and where."""

    date: datetime.date
    """Day of the matches."""
    commit: str
    """Of the training; several if the run was resumed with another one. Earlier versions of azo
    recorded none."""
    recipe: str
    """Shipped settings file, with the settings that differ, and the network that it began with."""
    hardware: str
    """Processor and devices of the training."""
    from_rules_alone: bool


class Record(Training):
    """One run, and the strength of its network."""

    hours: float
    """Processor time of the iterations."""
    training_hours: float
    """Time of the iterations."""
    iterations: int
    games: int
    evaluations: int
    matches: dict[str, dict[str, tuple[int, int, int]]]
    """Won, drawn and lost by way to play, such as "100" (simulations) or "0.1 s", and opponent."""
    elo: dict[str, tuple[float, float, float]]
    """Elo on the ladder and its 95 % interval, by way to play."""


def of_run(run: pathlib.Path, matches: Mapping[str, Sequence[elo.Pairing]]) -> Record:
    """Returns the record of the latest checkpoint of a run.

    Args:
      run: its folder.
      matches: against the ladder, by way to play.

    Raises:
      ValueError: One line: the metrics do not say what the run took.
    """
    step = latest_step(run)
    (last,) = figures(run, [step])
    return Record(
        **dict(of_training(run, step)),
        hours=round(last["time/processor_seconds"] / 3600, 3),
        training_hours=round(last["time/training_seconds"] / 3600, 3),
        iterations=step,
        games=last["selfplay/games"],
        evaluations=last["selfplay/evaluations"],
        matches={
            way: {one.second: (one.wins, one.draws, one.losses) for one in pairings}
            for way, pairings in matches.items()
        },
        elo={way: _rating(pairings) for way, pairings in matches.items()},
    )


def of_training(run: pathlib.Path, step: int) -> Training:
    """Returns what led to the checkpoint of an iteration."""
    settings = checkpoint.read_settings(run, step)
    starts = [event for event in metrics.read(run, "start") if event["iteration"] <= step]
    is_complete = bool(starts) and starts[0]["iteration"] == 0
    missing = [] if is_complete else ["not recorded"]  # by earlier versions
    machines = [f"{event['start/processor']}; {event['start/devices']}" for event in starts]
    return Training(
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        commit=_joined([*missing, *(event["start/commit"] for event in starts)]),
        recipe=recipe(settings),
        hardware=_joined([*missing, *machines]),
        from_rules_alone=origin.is_from_rules_alone(network_files.origin_of(settings)),
    )


def figures(run: pathlib.Path, steps: Sequence[int]) -> list[dict[str, Any]]:
    """Returns the metrics of the iterations of checkpoints.

    Raises:
      ValueError: One line: an iteration is not in the metrics, or has no processor time.
    """
    found = {event["iteration"]: event for event in metrics.read(run, "iteration")}
    for step in steps:
        if "time/processor_seconds" not in found.get(step, {}):
            raise ValueError(
                f"{run}: its metrics do not have the processor time of checkpoint {step}"
            )
    return [found[step] for step in steps]


def latest_step(run: pathlib.Path) -> int:
    """Returns the iteration of the latest checkpoint; raises ValueError without one."""
    return all_steps(run)[-1]


def all_steps(run: pathlib.Path) -> list[int]:
    """Returns the iterations of all checkpoints, in order; raises ValueError without any."""
    steps = checkpoint_folder.CheckpointFolder(run).steps()
    if not steps:
        raise ValueError(f"{run}: not the folder of a run with a checkpoint")
    return steps


def recipe(settings: config.Config) -> str:
    """Returns the shipped settings file nearest to settings, and what differs.

    The training of a network that a run began with is not in the figures of the run.
    """
    start = settings.run.start_from
    begun = [] if start is None else [f"begun with the network {start.name}"]
    own = _flat(settings.model_dump(mode="json", exclude=_FREE))
    changes = {}
    for path in [*shipped_files.CONFIGS.glob("*.toml"), *shipped_files.CONFIGS.glob("champions/*")]:
        shipped = config.load_file(path)
        theirs = _flat(shipped.model_dump(mode="json", exclude=_FREE))
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

    It replaces earlier records of the same training, and keeps their ratings by other ways to play.
    """
    earlier = read(path)
    same = [one for one in earlier if _trained(one) == _trained(record)]
    for one in reversed(same):
        matches, ratings = one.matches | record.matches, one.elo | record.elo
        record = record.model_copy(update={"matches": matches, "elo": ratings})
    kept = [one for one in earlier if one not in same]
    lines = [one.model_dump_json() + "\n" for one in (*kept, record)]
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, "".join(lines).encode())


def _trained(record: Record) -> dict[str, Any]:
    return record.model_dump(exclude={"date", "matches", "elo"})


def page(records: Sequence[Record]) -> str:
    """Returns the leaderboard in Markdown, newest record first."""
    ways = list(dict.fromkeys(way for record in records for way in record.elo))
    head = ["date", "recipe", "commit", "hardware", "hours", "games", "evaluations"]
    head += ["rules alone", *(f"Elo, {_title(way)}" for way in ways)]
    signs = ["---"] * 4 + ["---:"] * 3 + ["---"] * (1 + len(ways))
    rows = [
        [
            f"{record.date}",
            f"`{record.recipe}`",
            record.commit,
            record.hardware,
            f"{record.hours:.2f}",
            f"{record.games:,}",
            f"{record.evaluations:,}",
            "yes" if record.from_rules_alone else "no",
            *(_cell(record.elo.get(way)) for way in ways),
        ]
        for record in reversed(records)
    ]
    return f"{_HEADER}\n{table(head, signs, rows)}\n"


def table(head: Sequence[str], signs: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown; `signs` are those of its second line."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, signs, *rows)]
    return "\n".join(lines) if rows else "No record yet."


def _rating(pairings: Sequence[elo.Pairing]) -> tuple[float, float, float]:
    standing = ladder_matches.rate(pairings)
    low, high = standing.interval
    return round(standing.rating, 1), round(low, 1), round(high, 1)


def _cell(rating: tuple[float, float, float] | None) -> str:
    return "" if rating is None else "{:.0f} ({:.0f} to {:.0f})".format(*rating)


def _title(way: str) -> str:
    return f"{way} simulations" if way.isdigit() else f"{way} a move"


def _joined(texts: Any) -> str:
    return ", then ".join(dict.fromkeys(texts))


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns nested settings by their full names."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        nested = isinstance(value, dict)
        flat |= _flat(value, f"{prefix}{name}.") if nested else {prefix + name: value}
    return flat
