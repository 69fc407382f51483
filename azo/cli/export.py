"""Exports the network of a run for play.

    azo export runs/quickstart checkpoints/mine

The new folder holds parameters and settings only; every command that takes a network takes it.
With `--portable` it also holds `portable/`, for programs that run without azo: docs/export.md.
"""

import json
import pathlib
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import pydantic
import tyro

from azo.cli import command_line
from azo.games import registry
from azo.learning import network, portable
from azo.run import config, network_files, shipped_files

PORTABLE = "portable"
JAX_PROGRAM = "network.jaxexport"
CPU_PROGRAM = "network-cpu.mlirbc"
ACCELERATOR_PROGRAM = "network-accelerator.mlirbc"
DESCRIPTION = "network.json"


class ExportConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What to export, and where to."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run: its best checkpoint is taken, or its latest if none was evaluated."""
    latest: bool = False
    """Take the latest: the best is that of one match with one opponent, who may tell little."""
    portable: bool = False
    """Add the network as programs that run without azo: for JAX, and for other compilers."""
    batch_size: pydantic.PositiveInt | None = None
    """With --portable: positions a call of the StableHLO programs, 1 unless given."""
    folder: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FOLDER")]
    """New folder to write."""


def main(argv: Sequence[str]) -> int:
    """Exports and says how much; returns the exit code."""
    export = command_line.parse(ExportConfig, argv, prog="azo export", description=__doc__)
    if export.batch_size is not None and not export.portable:
        raise ValueError("--batch-size is for the programs of --portable; a network takes any")
    variables, settings = network_files.load(export.run, is_latest=export.latest)
    network_files.save(export.folder, variables, settings)
    if export.portable:
        _write_portable(export, variables, settings)
    size = sum(path.stat().st_size for path in export.folder.rglob("*") if path.is_file())
    print(f"{export.run} exported to {export.folder}, {size / 1e6:.2f} MB")
    return 0


def _write_portable(
    export: ExportConfig, variables: network.Variables, settings: config.Config
) -> None:
    game, batch_size = registry.make(settings.game), export.batch_size or 1

    def stablehlo(platform: str) -> bytes:
        return portable.export(
            game, settings.network, variables, batch_size=batch_size, platforms=(platform,)
        ).mlir_module_serialized

    for_jax = portable.export(game, settings.network, variables)
    description = _description(export.run, settings, batch_size)
    contents = {
        JAX_PROGRAM: bytes(for_jax.serialize()),
        CPU_PROGRAM: stablehlo("cpu"),
        ACCELERATOR_PROGRAM: stablehlo("cuda"),  # the same for all but CPUs
        DESCRIPTION: (json.dumps(description, indent=2) + "\n").encode(),
    }
    folder = export.folder / PORTABLE
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)


def _description(run: pathlib.Path, settings: config.Config, batch_size: int) -> dict[str, Any]:
    """Returns what a program that knows nothing of azo must know of the files."""
    game = registry.make(settings.game)
    rows, columns = game.board_shape
    a_pass = f", move {rows * columns} the pass" if game.num_actions > rows * columns else ""
    precision = settings.network.precision
    on_cpu, elsewhere = ("float32", "bfloat16") if precision == "auto" else (precision, precision)
    return {
        "game": settings.game.model_dump(),
        "input": {
            "planes": {
                "shape": ["b", rows, columns, 2],
                "dtype": "float32",
                "meaning": "1 where the side to move has a piece (first plane) and where the other"
                " side has one (second plane), else 0; Othello's a1 is row 0, column 0, and b1 is"
                " row 0, column 1",
            }
        },
        "output": {
            "logits": {
                "shape": ["b", game.num_actions],
                "dtype": "float32",
                "meaning": "of every move, legal or not: leave out the illegal ones, then softmax;"
                f" move row * {columns} + column is a square{a_pass}",
            },
            "value": {
                "shape": ["b"],
                "dtype": "float32",
                "meaning": "expected result for the side to move: 1 a win, 0 a draw, -1 a loss",
            },
        },
        "files": {
            JAX_PROGRAM: {"form": "jax.export", "b": "any", "platforms": portable.PLATFORMS},
            CPU_PROGRAM: {"form": "StableHLO", "b": batch_size, "convolutions": on_cpu},
            ACCELERATOR_PROGRAM: {"form": "StableHLO", "b": batch_size, "convolutions": elsewhere},
        },
        "network": settings.network.model_dump(),
        "made": {
            "from": run.resolve().name,
            "azo": shipped_files.version(),
            "jax": jax.__version__,
        },
    }
