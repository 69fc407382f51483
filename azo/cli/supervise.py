"""Trains a network on recorded games.

    azo supervise games.wtb --folder runs/supervised

FILES are WTHOR files (`.wtb`), eOthello's CSV (`.csv`), GGF, SGF, PGN, JSON or transcripts, one per
line, each also compressed (`.gz`, `.bz2`, `.xz`); a folder means all WTHOR files in it. Games that
cannot be used are skipped, and one line per file lists them. WTHOR has the exact score of each game
at 24 empty squares: earlier positions get this score as their target, later positions get the final
score of the game. `--config FILE` reads settings from a TOML file, and flags override it.

`--source random` generates random games, from which the network learns only the value. `--source
search` plays games with a search, from which it then learns the policy. `--source runs` reads the
positions in the replays of runs: FILES are the folders of these runs. Game, search, network and
rates are then by default those of the first run.

After every evaluation the best network so far is in FOLDER/best, for play and for `--start`, and
the metrics are in FOLDER/metrics.jsonl. Ctrl-C ends training after the current steps.
"""

import os
import pathlib
from collections.abc import Sequence

from azo.cli import command_line
from azo.games import registry
from azo.process import interruption
from azo.settings import validation
from azo.storage import locks
from azo.training import supervised_data, supervised_training


def main(argv: Sequence[str]) -> int:
    """Trains a network; returns the exit code."""
    settings = load(argv)
    _check_new(settings.folder)
    game = registry.make(settings.game)
    data, held_out = supervised_data.prepare(settings, game)
    with locks.lock_folder(settings.folder), interruption.StopRequest() as stop:
        _check_new(settings.folder)  # another process may have used it in the meantime
        supervised_training.train(settings, game, data, held_out, stop)
    return 0


def _check_new(folder: pathlib.Path) -> None:
    """Raises ValueError if a folder has anything but a lock file, or is a file."""
    if folder.exists() and (not folder.is_dir() or set(os.listdir(folder)) - {locks.LOCK}):
        raise ValueError(f"{folder}: exists already: choose a new --folder")


def load(argv: Sequence[str]) -> supervised_data.SuperviseConfig:
    """Returns the settings of `--config FILE` and flags; raises ValueError with one line."""
    kind = supervised_data.SuperviseConfig
    settings, typed = command_line.parse(
        kind,
        argv,
        prog="azo supervise",
        description=__doc__,
        load_file=lambda path: _load_file(path) if path else None,
        finish=lambda kind, flags: (command_line.validated(kind, flags), flags.typed),
    )
    return supervised_data.check(settings, typed)


def _load_file(path: pathlib.Path) -> supervised_data.SuperviseConfig:
    """Returns the settings of a file; what a section leaves out is as without the file."""
    defaults = supervised_data.SuperviseConfig().model_dump()
    tree = validation.merged(defaults, validation.read_toml(path, "settings"))
    return validation.validate(supervised_data.SuperviseConfig, tree, str(path))
