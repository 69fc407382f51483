"""Reports on a run as one HTML page with plots.

    azo report runs/quickstart

Reads the metrics, the settings and the network of the run, and writes `report/index.html` into its
folder, with the plots beside it as PNG. The phases of a curriculum, `1-NAME`, `2-NAME`, ..., follow
one another on one page.
"""

import json
import pathlib
import re
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import pydantic
import tyro

from azo.cli import command_line
from azo.games import protocol, registry
from azo.measure import diagnostics, players
from azo.measure.report import drawing, games, learning, page, panels, run_log, strength
from azo.run import checkpoint, metrics, network_files

FOLDER = "report"
PAGE = "index.html"


class ReportConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A page of pictures about a run."""

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run, or of a curriculum with the runs of its phases."""
    num_positions: pydantic.NonNegativeInt = 256
    """Positions searched with ever more simulations; 0 leaves that out."""
    max_simulations: Annotated[int, pydantic.Field(ge=2)] = diagnostics.SIMULATIONS[-1]
    """Simulations of the largest of these searches."""
    seed: pydantic.NonNegativeInt = 0
    """Of these positions and searches."""


def main(argv: Sequence[str]) -> int:
    """Writes the report, and prints where; returns the exit code."""
    print(write(command_line.parse(ReportConfig, argv, prog="azo report", description=__doc__)))
    return 0


def write(settings: ReportConfig) -> pathlib.Path:
    """Writes the report and returns the path of its page.

    Raises:
      ValueError: the folder holds no run, the run has no iteration yet, or a file of it is broken.
    """
    plots = _drawing()
    runs = _phases(settings.run)
    notes: list[str] = []
    record = _record(settings.run, runs, notes)
    chosen, game = _settings(runs[-1])
    found = _fluctuation(settings, runs, notes) if settings.num_positions else None
    pictures = [
        *games.pictures(record, game.board_shape),
        *strength.pictures(record),
        *learning.pictures(record, found),
    ]
    folder = settings.run / FOLDER
    drawn: list[tuple[panels.Picture, bytes | None]] = [
        (picture, plots.draw(picture) if picture.panels else None) for picture in pictures
    ]
    text = page.render(
        f"{game.name} in {settings.run}", record, drawn, notes=notes, settings=chosen
    )
    try:
        folder.mkdir(exist_ok=True)
        for picture, png in drawn:
            path = folder / f"{picture.name}.png"
            path.unlink(missing_ok=True)  # an earlier report may have had it
            if png is not None:
                path.write_bytes(png)
        (folder / PAGE).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{folder}: cannot write here ({error.strerror})") from None
    return folder / PAGE


def _drawing() -> Any:
    """Returns `plots`, which needs a library that training does not."""
    with drawing.needing_matplotlib("a report"):
        from azo.measure.report import plots
    return plots


def _phases(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the folders of the runs to report on, in order."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; give a run's, such as runs/quickstart")
    if (folder / metrics.FILE).is_file():
        return [folder]
    numbered = [(re.match(r"(\d+)-", path.name), path) for path in folder.iterdir()]
    found = [
        (int(match[1]), path)
        for match, path in numbered
        if match is not None and (path / metrics.FILE).is_file()
    ]
    if not found:
        raise ValueError(
            f"{folder}: no run: neither {metrics.FILE} nor phases such as 1-NAME/{metrics.FILE}"
        )
    return [path for _, path in sorted(found)]


def _record(folder: pathlib.Path, runs: Sequence[pathlib.Path], notes: list[str]) -> run_log.Record:
    phases = [(run.name, _events(run, notes)) for run in runs]
    try:
        return run_log.make(phases)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None


def _events(run: pathlib.Path, notes: list[str]) -> list[run_log.Event]:
    path = run / metrics.FILE
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        notes.append(f"The last line of {path} is cut short, and left out.")
        del lines[-1]
    for number, line in enumerate(lines, start=1):
        if not _is_event(line):
            raise ValueError(f"{path}, line {number}: not an event of a run")
    return metrics.read(run)


def _is_event(line: str) -> bool:
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return False
    return isinstance(event, dict) and "event" in event and isinstance(event.get("iteration"), int)


def _settings(run: pathlib.Path) -> tuple[str, protocol.Game]:
    """Returns a run's settings as text, and its game.

    Of all settings only those of the game have to be known here, so that runs of other versions
    can be reported on.
    """
    path = run / checkpoint.SETTINGS
    try:
        text = path.read_text(encoding="utf-8")
        game = registry.make(registry.GameConfig.model_validate(json.loads(text)["game"]))
    except OSError as error:
        raise ValueError(f"{path}: cannot read the run's settings ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path}: not the settings of a run") from None
    return text, game


def _fluctuation(
    settings: ReportConfig, runs: Sequence[pathlib.Path], notes: list[str]
) -> diagnostics.Fluctuation | None:
    """Searches with the network of the latest phase."""
    try:
        variables, trained = network_files.load(runs[-1])
    except ValueError as error:
        notes.append(f"No searches with the run's network: {error}.")
        return None
    sizes = [size for size in diagnostics.SIMULATIONS if size < settings.max_simulations]
    return diagnostics.fluctuation(
        registry.make(trained.game),
        players.TrainedNetwork(variables, trained.network, trained.search),
        jax.random.key(settings.seed),
        num_positions=settings.num_positions,
        num_simulations=[*sizes, settings.max_simulations],
    )
