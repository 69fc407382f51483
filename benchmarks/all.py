"""Runs the benchmarks one after the other, and writes their tables into `benchmarks/README.md`.

    python -m benchmarks.all                a CPU, under 40 minutes (`make bench`)
    python -m benchmarks.all --preset gpu   one GPU, under 8 minutes

Each benchmark runs in its own process, because each is pinned to its own cores. Tables are printed
as soon as they are complete. At the end the README's part for this preset is replaced as a whole,
unless a benchmark failed. A benchmark that the time limit cuts off leaves a note in its place. With
`--folder` the same command continues later with the benchmarks that are missing.
"""

import pathlib
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

import pydantic

from azo.cli import command_line

FOLDER = pathlib.Path(__file__).resolve().parent


class Section(NamedTuple):
    """One benchmark with its flags."""

    title: str
    module: str
    flags: str = ""


_CELLS = "--batches 64 --simulations 64 200 --before-ply 40"  # no game is near its end
PRESETS = {
    "cpu": (
        Section("Rules on one core", "rules"),
        Section("Rules on two devices", "rules", "--num-devices 2"),
        Section("Search by PUCT on one core", "search", f"--algorithm puct {_CELLS}"),
        Section("Search by Gumbel on one core", "search", f"--algorithm gumbel {_CELLS}"),
        Section(
            "Search by PUCT, 1024 games x 100 simulations",
            "search",
            "--batches 1024 --simulations 100 --no-with-network --repeats 1 --limit-seconds 500",
        ),
        Section("Self-play on one core", "selfplay"),
        Section("Kinds of networks", "networks"),
        Section("The whole iteration on two cores", "iteration"),
        Section("Memory", "memory"),
        Section("Compilation", "compilation"),
        Section("The endgame solvers", "solver", "--empties 6 8 10"),
    ),
    "gpu": (
        Section("Rules", "rules", "--batch 65536 --plies 32 --repeats 3"),
        Section(
            "Self-play",
            "selfplay",
            "--cells 5x128:64 --batch 2048 --num-plies 4 --repeats 3",
        ),
        Section("The whole iteration", "iteration", "--config configs/azo8-gpu.toml --repeats 3"),
        Section(
            "Kinds of networks",
            "networks",
            "--networks 5x128 patterns:16 --batch 2048 --repeats 3",
        ),
        Section(
            "Search by PUCT",
            "search",
            "--batches 2048 --simulations 64 --network 5x128 --limit-gigabytes 40",
        ),
        Section(
            "The endgame solvers",
            "solver",
            "--num-devices 1 --num-lanes 4096 --batch 65536 --limit-seconds 60",
        ),
    ),
    # Every script in a minute or two, as a check that all of them work.
    "tiny": (
        Section("Rules", "rules", "--batch 8 --plies 4 --repeats 1"),
        Section("Search", "search", "--batches 4 --simulations 4 --network 1x4 --repeats 1"),
        Section("Self-play", "selfplay", "--cells 1x4:2 --batch 4 --num-plies 1 --repeats 1"),
        Section(
            "Kinds of networks",
            "networks",
            "--networks 1x4 patterns:1 --batch 4 --simulations 2 --repeats 1",
        ),
        Section("Memory", "memory", "--simulations 4"),
        Section("Iteration", "iteration", "--config configs/tictactoe.toml --repeats 1"),
        Section("Compilation", "compilation", "--config configs/tictactoe.toml"),
        Section(
            "The endgame solvers",
            "solver",
            "--size 4 --empties 5 --batch 16 --num-lanes 8 --host-empties 5 --repeats 1",
        ),
    ),
}
LEFT_OUT = "Left out: "
LIMIT_MINUTES = {"cpu": 40.0, "gpu": 8.0, "tiny": 8.0}


class AllConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Runs the benchmarks, and writes their tables into a README."""

    preset: Literal["cpu", "gpu", "tiny"] = "cpu"
    """The set of benchmarks to run: see `PRESETS`."""
    limit_minutes: pydantic.PositiveFloat | None = None
    """Benchmarks that have not ended by then are left out. By default 40, on a GPU 8."""
    readme: pathlib.Path = FOLDER / "README.md"
    """File for the tables. They replace the text between the lines that name the preset."""
    folder: pathlib.Path | None = None
    """Folder for the output of each benchmark; what is there is not measured again."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return command_line.run_main(_main, argv)


def _main(argv: Sequence[str]) -> int:
    settings = command_line.parse(AllConfig, argv, prog="python -m benchmarks.all")
    try:
        replaced(settings.readme.read_text(), settings.preset, "")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    limit = 60 * (settings.limit_minutes or LIMIT_MINUTES[settings.preset])
    start = time.monotonic()
    sections, num_failed = [], 0
    seen: set[str] = set()
    for number, section in enumerate(PRESETS[settings.preset], start=1):
        path = settings.folder and settings.folder / f"{number:02}-{section.module}.md"
        output = _kept_output(section, path, start + limit - time.monotonic())
        if output is None:
            num_failed += 1
            continue
        text = f"### {section.title}\n\n{_without(seen, output)}\n"
        print(text, flush=True)
        sections.append(text)
    if num_failed:
        return 1
    if settings.folder is None:  # else some may be of other days
        minutes = (time.monotonic() - start) / 60
        sections.append(f"The whole preset took {minutes:.0f} minutes.\n")
        print(sections[-1])
    text = replaced(settings.readme.read_text(), settings.preset, "\n".join(sections))
    settings.readme.write_text(text)
    return 0


def replaced(readme: str, preset: str, tables: str) -> str:
    """Returns a README with new tables between the marker lines of a preset.

    Raises:
      ValueError: the README has no such lines.
    """
    begin, end = f"<!-- {preset}: begin -->\n", f"<!-- {preset}: end -->\n"
    if begin not in readme or end not in readme:
        raise ValueError(
            f"the README has no lines {begin.strip()} and {end.strip()} for the tables"
        )
    before, after = readme.split(begin)[0], readme.split(end)[1]
    return f"{before}{begin}\n{tables}\n{end}{after}"


def _kept_output(section: Section, path: pathlib.Path | None, seconds: float) -> str | None:
    """Returns the output of a benchmark from its file, or runs it and writes the file."""
    if path is None:
        return _output(section, seconds)
    if path.exists():
        return path.read_text()
    output = _output(section, seconds)
    if output is not None and not output.startswith(LEFT_OUT):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output)
    return output


def _output(section: Section, seconds: float) -> str | None:
    """Returns the output of a benchmark, or a note that it was left out; None if it failed."""
    command = [sys.executable, "-m", f"benchmarks.{section.module}", *section.flags.split()]
    if seconds <= 0:
        return f"{LEFT_OUT}the time limit was reached.\n"
    try:
        done = subprocess.run(
            command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"{LEFT_OUT}the time limit was reached before it ended.\n"
    if done.returncode:
        print(f"{' '.join(command)} failed with exit code {done.returncode}", file=sys.stderr)
        return None
    return done.stdout


def _without(seen: set[str], output: str) -> str:
    """Returns the output without heading lines of earlier sections, and adds its own to `seen`."""
    lines = output.splitlines()
    kept = [line for line in lines if not (line.startswith("* ") and line in seen)]
    seen.update(line for line in lines if line.startswith("* "))
    return "\n".join(kept)


if __name__ == "__main__":
    sys.exit(main())
