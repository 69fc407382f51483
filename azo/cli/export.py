"""Exports the network of a run for play.

    azo export runs/azo8 checkpoints/mine

The new folder holds parameters and settings only; every command that takes a network accepts it.
The last line of the output says whether the network learned from the rules alone, or from which
games and networks. With `--portable` it also holds `portable/`, for programs that run without azo:
docs/networks.md.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.networks import network_files, origin, pattern_tables, portable_files
from azo.settings import setting_types


class ExportConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Exports the network of a run."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run: its best checkpoint, or its latest if none was evaluated."""
    latest: bool = False
    """Take the latest checkpoint. The best one is chosen by a single match against one opponent."""
    compact: bool = False
    """Round the tables of a pattern network to multiples of 1/512: about half the file size."""
    portable: bool = False
    """Also write programs that run without azo: for JAX, and as StableHLO for other compilers."""
    batch_size: setting_types.Games | None = None
    """With --portable: positions per call of the StableHLO programs; by default 1."""
    folder: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FOLDER")]
    """New folder to write."""


def main(argv: Sequence[str]) -> int:
    """Exports and prints the size; returns the exit code."""
    flags = command_line.parse(ExportConfig, argv, prog="azo export", description=__doc__)
    if flags.batch_size is not None and not flags.portable:
        raise ValueError("--batch-size needs --portable: a network takes batches of any size")
    variables, settings = network_files.load(flags.run, is_latest=flags.latest)
    if flags.compact:
        if settings.network.kind != "patterns":
            kind = settings.network.kind
            raise ValueError(f"--compact rounds tables; a network of kind {kind!r} has none")
        tables = pattern_tables.rounded(variables["params"][pattern_tables.TABLES])
        params = variables["params"] | {pattern_tables.TABLES: tables}
        variables = variables | {"params": params}
    programs: dict[str, bytes] = {}
    if flags.portable:
        name, size = flags.run.resolve().name, flags.batch_size or 1
        programs = portable_files.contents(variables, settings, name, size)
    network_files.save(flags.folder, variables, settings, programs)
    size = sum(path.stat().st_size for path in flags.folder.rglob("*") if path.is_file())
    print(f"{flags.run} exported to {flags.folder}, {size / 1e6:.2f} MB")
    print(origin.describe(network_files.origin_of(settings)))
    return 0
