"""Compiles azo's programs for accelerators that are not there, and shows what came out.

    make accelerators                                     both environments, all targets
    python -m benchmarks.accelerators h100 --out FOLDER   one target, in its environment
    python -m benchmarks.accelerators --out FOLDER --page docs/devices.md

The last form writes the tables of all targets in FOLDER into the page. Figures are "compiled" (they
stand in the program), "estimated by the compiler" (cycles of a TPU) or "calculated" (by `cost`).
"""

import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

import pydantic
import tyro

import benchmarks.all
from azo.cli import command_line
from azo.process import kernels
from benchmarks.accelerators import cost, hlo, targets

SEARCHES = ("azo", "mctx", "Pgx")
SIZES = (512, 2048, 16384)
ITERATION_SIZES = (512, 1024, 2048, 4096, 8192, 16384)
NUM_GAMES, NUM_SIMULATIONS = 2048, 32


class Flags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Compiles azo's programs for accelerators that are not there."""

    target: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TARGET")] = ""
    """What to compile for; without it the tables are written."""
    out: pathlib.Path = pathlib.Path("runs/accelerators")
    """Folder of the results."""
    config: str = "azo8-gpu"
    """Settings file of the whole iteration."""
    parts: tuple[str, ...] = ("search", "iteration")
    """What to compile: search, iteration, or both."""
    networks: tuple[str, ...] = ("8x128", "5x128", "patterns")
    """Networks of the searches."""
    page: pathlib.Path | None = None
    """Page whose tables are replaced."""


def main(argv: Sequence[str] | None = None) -> int:
    """Compiles for a target, or writes the tables; returns the exit code."""
    flags = command_line.parse(
        Flags, argv, prog="python -m benchmarks.accelerators", description=__doc__
    )
    if flags.target:
        for name, figures in _compile(flags):
            flags.out.mkdir(parents=True, exist_ok=True)
            (flags.out / f"{flags.target}-{name}.json").write_text(json.dumps(figures, indent=1))
            print(flags.target, name, json.dumps(figures), flush=True)
        return 0
    results = {path.stem: json.loads(path.read_text()) for path in flags.out.glob("*.json")}
    lines = tables(results)
    print("\n".join(lines))
    if flags.page is not None:
        text = benchmarks.all.replaced(flags.page.read_text(), "accelerators", "\n".join(lines))
        flags.page.write_text(text)
    return 0


def _compile(flags: Flags) -> Any:
    if flags.target not in targets.TARGETS:
        raise ValueError(f"no target {flags.target!r}: there are {', '.join(targets.TARGETS)}")
    target = targets.TARGETS[flags.target]
    targets.prepare(target)
    kernels.trust()
    from azo.learning import run_state
    from azo.settings import shipped_files
    from azo.training import config
    from benchmarks.accelerators import programs

    mesh = targets.mesh(target, run_state.AXIS)
    if "search" in flags.parts and target.num_devices == 1:
        for name in flags.networks:
            for by in SEARCHES if name == "8x128" else ("azo",):
                lowered = programs.search(
                    by, mesh, programs.TOWERS[name],
                    num_games=NUM_GAMES, num_simulations=NUM_SIMULATIONS,
                )  # fmt: skip
                program, figures = _compiled(lowered)
                yield f"search-{name}-{by}", figures | _of_search(program, target)
    if "iteration" in flags.parts:
        settings = config.load_file(shipped_files.CONFIGS / f"{flags.config}.toml")
        program, figures = _compiled(programs.whole(settings, mesh))
        yield f"iteration-{flags.config}", figures | _of_iteration(program, settings, target)


def _compiled(lowered: Any) -> tuple[hlo.Loop, dict[str, Any]]:
    begin = time.perf_counter()
    compiled = lowered.compile()
    memory = compiled.memory_analysis()
    return hlo.read(compiled.as_text()), {
        "compile_seconds": round(time.perf_counter() - begin),
        "argument_mib": memory.argument_size_in_bytes >> 20,
        "temporary_mib": memory.temp_size_in_bytes >> 20,
        "code_mib": memory.generated_code_size_in_bytes >> 20,
    }


def _of_search(program: hlo.Loop, target: targets.Target) -> dict[str, Any]:
    simulation = _simulation(program)
    levels = [loop for loop in simulation.loops if loop.turns is None]
    speeds = {}
    for size in SIZES if not target.hertz else (NUM_GAMES,):
        scale = size / NUM_GAMES
        whole = cost.seconds(simulation, target, scale)
        network = cost.seconds(simulation, target, scale, "evaluation")
        speeds[size] = {"per_second": round(size / whole), "network_share": network / whole}
    return {
        "kernels": len(simulation.kernels()),
        "network_kernels": len(simulation.kernels("evaluation")),
        "level_kernels": [len(loop.kernels()) for loop in levels],
        "level_cycles": [loop.cycles() for loop in levels],
        "host_reads": simulation.num_host_reads(),
        "mib_moved": sum(x.num_bytes for x in simulation.kernels()) >> 20,
        "cycles": simulation.cycles(),
        "network_cycles": simulation.cycles("evaluation"),
        "speeds": speeds,
    }


def _of_iteration(program: hlo.Loop, settings: Any, target: targets.Target) -> dict[str, Any]:
    simulation = _simulation(program)
    step = max(_loops(program), key=lambda loop: len(loop.kernels()))  # of the learner
    collectives = [x for x in step.kernels() if x.kind in hlo.COLLECTIVES]
    solver = [
        loop
        for loop in _loops(program)
        if "/endings/" in loop.path and not loop.loops and len(loop.kernels()) > 10
    ]
    speeds = {}
    if target.num_devices == 1 and not target.hertz:
        plays, steps = settings.selfplay, settings.learner.num_steps
        for size in ITERATION_SIZES:
            scale = size / plays.num_games
            simulations = plays.num_plies * settings.search.num_simulations
            seconds = {
                "search": simulations * cost.seconds(simulation, target, scale),
                "learning": steps * scale * cost.seconds(step, target),
                "endings": cost.ending_seconds(size * plays.num_plies),
            }
            speeds[size] = seconds | {"positions": size * plays.num_plies}
    return {
        "speeds": speeds,
        "simulation_kernels": len(simulation.kernels()),
        "simulation_reads": simulation.num_host_reads(),
        "simulation_cycles": simulation.cycles(),
        "step_kernels": len(step.kernels()),
        "step_cycles": step.cycles(),
        "step_collectives": len(collectives),
        "solver_kernels": [len(loop.kernels()) for loop in solver],
        "solver_cycles": [loop.cycles() for loop in solver],
    }


def _simulation(program: hlo.Loop) -> hlo.Loop:
    """Returns the loop over simulations: the innermost one that evaluates with the network."""
    found = [loop for loop in _loops(program) if loop.kernels("evaluation")]
    most = max(len(loop.kernels("evaluation")) for loop in found)
    return [loop for loop in found if 2 * len(loop.kernels("evaluation")) > most][-1]


def _loops(program: hlo.Loop) -> list[hlo.Loop]:
    return [loop for loop in program.walk() if loop is not program]


def tables(results: dict[str, dict[str, Any]]) -> list[str]:
    """Returns the tables of results, by the names of their files, as Markdown."""
    searches, speeds, iterations, whole = [], [], [], []
    for name, x in sorted(results.items()):
        target, kind, *rest = name.split("-", 2)
        if kind == "search":
            network, by = rest[0].rsplit("-", 1)
            searches.append(
                f"| {target} | {by}, {network} | {x['network_kernels']} |"
                f" {x['kernels'] - x['network_kernels']} |"
                f" {', '.join(map(str, x['level_kernels'])) or '-'} | {x['host_reads']} |"
                f" {x['mib_moved']:,} | {_number(x['network_cycles'])} |"
                f" {_number(x['cycles'] - x['network_cycles'])} |"
                f" {', '.join(map(_number, x['level_cycles'])) or '-'} |"
                f" {x['compile_seconds']} |"
            )
            for size, speed in x["speeds"].items():
                speeds.append(
                    f"| {target} | {by}, {network} | {int(size):,} |"
                    f" {_rounded(speed['per_second'])} |"
                    f" {speed['network_share']:.0%} |"
                )
        else:
            iterations.append(
                f"| {target} | {rest[0]} | {x['compile_seconds']} | {x['argument_mib']:,} |"
                f" {x['temporary_mib']:,} | {x['code_mib']:,} | {x['simulation_kernels']} |"
                f" {x['step_kernels']} | {x['step_collectives']} |"
                f" {', '.join(map(str, x['solver_kernels'])) or '-'} |"
            )
            whole += _rows_of_iteration(target, x.get("speeds", {}))
    lines = [
        f"One simulation of a Gumbel search with {NUM_SIMULATIONS} simulations per move, for"
        f" {NUM_GAMES:,} games. The numbers of kernels and bytes are those of the compiled program;"
        " the cycles are the compiler's estimates. A level is one iteration of a loop whose number"
        " of iterations depends on the data; on CUDA, the host reads the condition of such a loop."
        " A dash means that the program has no such loop, or that the compiler states no cycles. A"
        " program with several such loops has one number for each.",
        "",
        "| target | search, network | kernels of the network | other kernels | kernels per level |"
        " host reads outside levels | MiB moved | cycles of the network | other cycles |"
        " cycles per level | compile time, s |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *searches,
        "",
        "Simulations per second, calculated. On a GPU, a launch is assumed to take"
        f" {cost.LAUNCH_SECONDS * 1e6:g} us and a read by the host {cost.HOST_READ_SECONDS * 1e6:g}"
        f" us; bandwidth and peak throughput are the published ones. A path is assumed to have"
        f" {cost.NUM_LEVELS} levels. On a TPU, the compiler's cycles are divided by the published"
        " clock rate.",
        "",
        "| target | search, network | games | simulations per second | time in the network |",
        "| --- | --- | ---: | ---: | ---: |",
        *speeds,
        "",
    ]
    return lines + _table_of_iterations(iterations) + _table_of_times(whole)


def _rows_of_iteration(target: str, speeds: dict[str, dict[str, float]]) -> list[str]:
    rows = []
    for size, x in speeds.items():
        seconds = x["search"] + x["learning"] + x["endings"]
        rows.append(
            f"| {target} | {int(size):,} | {x['search']:.2f} | {x['learning']:.2f} |"
            f" {x['endings']:.2f} | {seconds:.2f} | {_rounded(x['positions'] / seconds)} |"
        )
    return rows


def _table_of_times(rows: list[str]) -> list[str]:
    if not rows:
        return []
    return [
        "Seconds per iteration, calculated, with the same number of learning steps per position in"
        " all rows:",
        "",
        "| target | games | search | learning | exact endings | in all | positions per second |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
    ]


def _table_of_iterations(rows: list[str]) -> list[str]:
    if not rows:
        return []
    return [
        "The whole iteration, compiled:",
        "",
        "| target | settings | compile time, s | arguments MiB | temporary MiB | code MiB |"
        " kernels per simulation | kernels per learning step | collectives per learning step |"
        " kernels per step of the solver |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *rows,
        "",
    ]


def _rounded(x: float) -> str:
    """Returns a number of three digits, since a model has no more."""
    return f"{float(f'{x:.3g}'):,.0f}"


def _number(x: int) -> str:
    return f"{x:,}" if x else "-"


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
