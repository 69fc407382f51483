"""Report on a run as one page: `report/index.html` in the run's folder, with all its pictures.

It reads the run's metrics and settings, and its network for the picture of the search. The phases
of a curriculum, `1-NAME`, `2-NAME`, ..., follow one another on one page.
"""

import json
import pathlib
import re
from collections.abc import Sequence

import jax

from azo.games import protocol, registry
from azo.measure import diagnostics, extras, players
from azo.measure.report import run_log
from azo.run import checkpoint, metrics, network_files

FOLDER = "report"


def write(
    folder: pathlib.Path,
    *,
    num_positions: int = 256,
    max_simulations: int = diagnostics.SIMULATIONS[-1],
    seed: int = 0,
) -> pathlib.Path:
    """Writes the report and returns the path of its page.

    Args:
      folder: of a run, or of a curriculum.
      num_positions: positions for the picture of the search, which 0 omits.
      max_simulations: simulations of the largest search.
      seed: of the positions and searches.

    Raises:
      ValueError: The folder has no run, the run has no iteration yet, or a file of it is broken.
    """
    with extras.needed("a report", "matplotlib"):
        from azo.measure.report import page
    runs = _phases(folder)
    notes: list[str] = []
    log = _log(folder, runs)
    settings, game = _settings(runs[-1])
    fluctuation = None
    if num_positions:
        try:
            fluctuation = _search(runs[-1], num_positions, max_simulations, seed)
        except ValueError as error:
            notes.append(f"No searches with the run's network: {error}.")
    return page.write(
        folder / FOLDER,
        f"{game.name} in {folder}",
        log,
        board_shape=game.board_shape,
        fluctuation=fluctuation,
        notes=notes,
        settings=settings,
    )


def _phases(folder: pathlib.Path) -> list[pathlib.Path]:
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


def _search(
    run: pathlib.Path, num_positions: int, max_simulations: int, seed: int
) -> diagnostics.Fluctuation:
    """Searches random positions with the run's network and increasing simulations."""
    variables, settings = network_files.load(run)
    sizes = [size for size in diagnostics.SIMULATIONS if size < max_simulations]
    return diagnostics.fluctuation(
        registry.make(settings.game),
        players.TrainedNetwork(variables, settings.network, settings.search),
        jax.random.key(seed),
        num_positions=num_positions,
        num_simulations=[*sizes, max_simulations],
    )
