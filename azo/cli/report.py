"""Reports on a run as one HTML page with plots.

    azo report runs/azo8

Reads the metrics and the settings of the run, and writes `report/index.html` into its folder: a
self-contained page with interactive plots. The phases of a curriculum, `1-NAME`, `2-NAME`, ...,
follow one another on one page.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.process import extras


class ReportConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A page of plots about a run."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run, or of a curriculum with the runs of its phases."""


def main(argv: Sequence[str]) -> int:
    """Writes the report and prints its path; returns the exit code."""
    flags = command_line.parse(
        ReportConfig, argv, prog="azo report", description=__doc__, opens_networks=False
    )
    with extras.needed("a report", "plotly"):
        from azo.report import page
    print(page.write(flags.run))
    return 0
