"""Reports on a run as one HTML page with plots.

    azo report runs/quickstart

Reads the metrics, the settings and the network of the run, and writes `report/index.html` into its
folder, with the plots beside it as PNG. The phases of a curriculum, `1-NAME`, `2-NAME`, ..., follow
one another on one page.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.measure import diagnostics
from azo.run import run_report


class ReportConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A page of pictures about a run."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run, or of a curriculum with the runs of its phases."""
    num_positions: pydantic.NonNegativeInt = 256
    """Positions searched with increasing numbers of simulations; 0 omits that picture."""
    max_simulations: Annotated[int, pydantic.Field(ge=2)] = diagnostics.SIMULATIONS[-1]
    """Simulations of the largest of these searches."""
    seed: pydantic.NonNegativeInt = 0
    """Seed of these positions and searches."""


def main(argv: Sequence[str]) -> int:
    """Writes the report and prints its path; returns the exit code."""
    flags = command_line.parse(ReportConfig, argv, prog="azo report", description=__doc__)
    path = run_report.write(
        flags.run,
        num_positions=flags.num_positions,
        max_simulations=flags.max_simulations,
        seed=flags.seed,
    )
    print(path)
    return 0
