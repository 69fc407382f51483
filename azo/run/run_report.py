"""Report on a run as one page: `report/index.html` in the run's folder, with all its plots.

It reads the run's metrics and settings. The phases of a curriculum, `1-NAME`, `2-NAME`, ..., follow
one another on one page.
"""

import json
import pathlib
import re
from collections.abc import Sequence

from azo.games import protocol, registry
from azo.measure import extras
from azo.measure.report import run_log
from azo.run import checkpoint, metrics

FOLDER = "report"


def write(folder: pathlib.Path) -> pathlib.Path:
    """Writes the report and returns the path of its page.

    Args:
      folder: of a run, or of a curriculum.

    Raises:
      ValueError: The folder has no run, the run has no iteration yet, or a file of it is broken.
    """
    with extras.needed("a report", "plotly"):
        from azo.measure.report import page
    log, title, settings = read(folder)
    return page.write(folder / FOLDER, title, log, settings=settings)


def read(folder: pathlib.Path) -> tuple[run_log.RunLog, str, str]:
    """Returns the log of a run or of a curriculum, its title, and its settings as text.

    Raises:
      ValueError: As for `write`.
    """
    runs = phases(folder)
    log = _log(folder, runs)
    settings, game = _settings(runs[-1])
    return log, f"{game.name} in {folder}", settings


def phases(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the folders of the runs, in their order."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; give a run's, such as runs/quickstart")
    if (folder / metrics.FILE).is_file():
        return [folder]
    numbered = [(re.match(r"(\d+)-", path.name), path) for path in folder.iterdir()]
    runs = [
        (int(match[1]), path)
        for match, path in numbered
        if match is not None and (path / metrics.FILE).is_file()
    ]
    if not runs:
        raise ValueError(
            f"{folder}: no run: neither {metrics.FILE} nor phases such as 1-NAME/{metrics.FILE}"
        )
    return [path for _, path in sorted(runs)]


def _log(folder: pathlib.Path, runs: Sequence[pathlib.Path]) -> run_log.RunLog:
    events = [(run.name, metrics.read(run)) for run in runs]
    try:
        return run_log.from_phases(events)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None


def _settings(run: pathlib.Path) -> tuple[str, protocol.Game]:
    """Returns the settings of a run as text, and its game.

    Only the settings of the game are parsed, so runs of other versions of azo are readable.
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
