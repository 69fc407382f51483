"""How long does a run take to compile, at first and from JAX's persistent cache?

    python -m benchmarks.compilation --config configs/azo8.toml

Two processes compile the whole iteration of these settings, one after the other. They share a cache
folder that is empty at first, as with `JAX_COMPILATION_CACHE_DIR`. Times include tracing.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from azo.games import registry
from azo.learning import iteration, sharding
from azo.training import config, devices
from benchmarks import measure

AIMS = {"cold": 60, "from the cache": 10}  # seconds, of the default settings


class CompilationBenchConfig(measure.Settings):
    """How long does a run take to compile, at first and from JAX's persistent cache?"""

    config: pathlib.Path = config.DEFAULT_CONFIG
    """Settings of the run, a TOML file."""
    once: bool = False
    """Compile in this process, and print the seconds."""

    @property
    def num_cores(self) -> int:
        """Number of devices of the run."""
        return config.load_file(self.config).run.num_devices or 1


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and returns the exit code."""
    return measure.run("benchmarks.compilation", CompilationBenchConfig, report, argv)


def report(bench: CompilationBenchConfig) -> list[str]:
    """Runs the benchmark and returns its lines of markdown."""
    if bench.once:
        return [str(compile_seconds(bench.config))]
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for name, aim in AIMS.items():
            start = time.perf_counter()
            seconds = _in_a_process(bench.config, cache)
            process_seconds = time.perf_counter() - start
            is_default = bench.config == config.DEFAULT_CONFIG
            aim_text = f"under {aim}" if is_default else ""
            rows.append((name, f"{seconds:.1f}", f"{process_seconds:.1f}", aim_text))
    columns = (f"settings of {bench.config.name}", "compile seconds", "whole process", "aim")
    return [measure.markdown_table(columns, rows), ""]


def compile_seconds(path: pathlib.Path) -> float:
    """Returns how long the iteration takes to compile, tracing included."""
    settings = config.load_file(path)
    mesh = sharding.make_mesh(devices.prepare(settings))
    game = registry.make(settings.game)
    state = sharding.begin(game, settings, mesh, seed=0)
    iterate = iteration.build(game, settings, mesh)
    return measure.compile_program(iterate, state, 0.0).compile_seconds


def _in_a_process(path: pathlib.Path, cache: str) -> float:
    command_line = [sys.executable, "-m", "benchmarks.compilation", "--once", "--config", str(path)]
    # Without the second, two processes do not fit on one GPU.
    variables = {"JAX_COMPILATION_CACHE_DIR": cache, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    done = subprocess.run(
        command_line, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
