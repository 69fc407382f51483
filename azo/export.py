"""Writes a network for play: `python -m azo.export runs/quickstart checkpoints/mine`.

The new folder holds parameters and settings, and nothing that only training needs. It is named
wherever a player is wanted.
"""

import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo import checkpoint, config


class ExportConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """What to export, and where to."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run: its best checkpoint is taken, or its latest if none was evaluated."""
    latest: bool = False
    """Take the latest: the best is that of one match with one opponent, who may tell little."""
    folder: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FOLDER")]
    """New folder to write."""


def main(argv: Sequence[str]) -> int:
    """Exports and says how much; returns the exit code."""
    export = config.parse_flags(ExportConfig, argv, prog="python -m azo.export")
    variables, settings = checkpoint.load_params(export.run, is_latest=export.latest)
    checkpoint.save_params(export.folder, variables, settings)
    size = sum(path.stat().st_size for path in export.folder.rglob("*") if path.is_file())
    print(f"{export.run} exported to {export.folder}, {size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(config.run_main(main))
