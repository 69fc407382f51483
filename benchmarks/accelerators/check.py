"""Compiles small programs for accelerators, and fails where they have grown.

    make accelerators TARGETS=check              both environments, as CI does
    make accelerators TARGETS='check --store'    stores new figures, for a commit that says why
    python -m benchmarks.accelerators.check h100    one target, in its environment

Each program has two blocks and few games, so that all compile in three minutes. Their figures are
those of the compiled programs: kernels, choices that the host reads, collectives, memory, code and,
on a TPU, the compiler's estimate of cycles. `check.json` has those of the last commit that stored
them. A figure that is more than a tenth larger fails. A figure that is a tenth smaller gives a
line, and passes.
"""

import functools
import json
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pydantic
import tyro

from azo.cli import command_line
from azo.process import kernels
from benchmarks.accelerators import hlo, targets

FILE = pathlib.Path(__file__).with_suffix(".json")
STORE = "make accelerators TARGETS='check --store'"
TOLERANCE = 0.1  # of a stored figure
NUM_GAMES, NUM_SIMULATIONS, BATCH_SIZE = 256, 32, 256
Figures = dict[str, int]
Lower = Callable[[], Any]


class Flags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Compiles small programs for accelerators, and compares them with stored figures."""

    target: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TARGET")]
    """What to compile for: h100 or v5e."""
    store: bool = False
    """Store the figures in place of comparing them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Compiles the programs of a target; returns 1 if one has grown."""
    flags = command_line.parse(
        Flags, argv, prog="python -m benchmarks.accelerators.check", description=__doc__
    )
    if flags.target not in TARGETS:
        raise ValueError(f"no target {flags.target!r}: there are {', '.join(TARGETS)}")
    targets.prepare(targets.TARGETS[flags.target])
    kernels.trust()
    stored = json.loads(FILE.read_text()) if FILE.is_file() else {}
    found = {}
    for name, lower in TARGETS[flags.target]().items():
        begin = time.perf_counter()
        found[name] = figures(lower().compile())
        seconds = time.perf_counter() - begin
        text = ", ".join(f"{unit} {number:,}" for unit, number in found[name].items())
        print(f"{flags.target} {name}: compiled in {seconds:.0f} s: {text}", flush=True)
    if flags.store:
        FILE.write_text(json.dumps(stored | {flags.target: found}, indent=1) + "\n")
        return 0
    grown, shrunk = compare(stored.get(flags.target, {}), found)
    for line in shrunk:
        print(f"{flags.target} {line}, which may be stored")
    for line in grown:
        print(f"{flags.target} {line}", file=sys.stderr)
    if grown:
        print(f"if this is meant: {STORE}, in a commit that says so", file=sys.stderr)
    return 1 if grown else 0


def compare(stored: dict[str, Figures], found: dict[str, Figures]) -> tuple[list[str], list[str]]:
    """Returns a line for each figure that has grown, and one for each that has shrunk.

    A program or figure that is not stored has grown. One that is stored and not found has shrunk.
    """
    grown, shrunk = [], []
    for name in {**stored, **found}:
        before, now = stored.get(name, {}), found.get(name, {})
        for unit in {**before, **now}:
            old, new = before.get(unit), now.get(unit)
            line = f"{name}: {unit} {_text(old)} before, {_text(new)} now"
            if new is not None and (old is None or new > old * (1 + TOLERANCE)):
                grown.append(line)
            elif new is None or (old is not None and new < old * (1 - TOLERANCE)):
                shrunk.append(line)
    return grown, shrunk


def _programs_of_gpu() -> dict[str, Lower]:
    """Returns how each program for GPUs is lowered, by its name."""
    from azo.learning import run_state
    from azo.networks import network
    from benchmarks.accelerators import programs

    one, eight = (targets.mesh(targets.TARGETS[x], run_state.AXIS) for x in ("h100", "h100x8"))
    recipe = _recipe()

    def search(settings: network.NetworkConfig, **options: Any) -> Lower:
        return functools.partial(programs.search, "azo", one, settings, **_SEARCH, **options)

    def iteration(settings: network.NetworkConfig, mesh: Any, kind: Any) -> Lower:
        small = recipe.model_copy(update={"network": settings})
        return functools.partial(programs.whole, small, mesh, kind=kind)

    tower = recipe.network
    patterns = network.NetworkConfig(kind="patterns")
    return {
        "search gumbel": search(tower),
        "search puct": search(tower, algorithm="puct"),
        "search without kernels": search(patterns, kernels="off"),
        "iteration": iteration(tower, one, "play_and_learn"),
        "learning on 8 devices": iteration(tower, eight, "learn"),
        "learning of patterns": iteration(patterns, one, "learn"),
        "solver": functools.partial(
            programs.solver, one, num_positions=NUM_GAMES, max_empties=10, num_lanes=256
        ),
    }


def _programs_of_tpu() -> dict[str, Lower]:
    from azo.learning import run_state
    from benchmarks.accelerators import programs

    mesh = targets.mesh(targets.TARGETS["v5e"], run_state.AXIS)
    recipe = _recipe()
    search = functools.partial(programs.search, "azo", mesh, recipe.network, **_SEARCH)
    return {
        "search gumbel": search,
        "search puct": functools.partial(search, algorithm="puct"),
        "self-play": functools.partial(programs.whole, recipe, mesh, kind="play"),
    }


def _recipe() -> Any:
    """Returns the recipe for accelerators with a small tower, few games and a short replay."""
    from azo.settings import shipped_files
    from azo.training import config

    recipe = config.load_file(shipped_files.CONFIGS / "azo8-gpu.toml")
    changes = {
        "network.num_blocks": 2,
        "replay.capacity": 100_000,
        "replay.min_positions": 10_000,
        "learner.batch_size": BATCH_SIZE,
        "selfplay.num_games": NUM_GAMES,
    }
    return config.with_settings(recipe, changes)


_SEARCH = {"num_games": NUM_GAMES, "num_simulations": NUM_SIMULATIONS}
TARGETS = {"h100": _programs_of_gpu, "v5e": _programs_of_tpu}


def _text(number: int | None) -> str:
    return "none" if number is None else f"{number:,}"


def figures(compiled: Any) -> Figures:
    """Returns the figures of a compiled program; the loops count one turn."""
    memory = compiled.memory_analysis()
    program = hlo.read(compiled.as_text())
    loops = list(program.walk())
    operations = [x for loop in loops for x in loop.kernels()]
    code = memory.generated_code_size_in_bytes or len(compiled.runtime_executable().serialize())
    found = {
        "kernels": len(operations),
        "kernels in loops": len(operations) - len(program.kernels()),
        "host reads": sum(loop.num_host_reads() for loop in loops),
        "collectives": sum(x.kind in hlo.COLLECTIVES for x in operations),
        "KiB moved": sum(x.num_bytes for x in operations) >> 10,
        "KiB of memory": (memory.temp_size_in_bytes + memory.argument_size_in_bytes) >> 10,
        "KiB of code": code >> 10,
    }
    cycles = sum(loop.cycles() for loop in loops)
    return found | ({"cycles": cycles} if cycles else {})


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
