"""Trains a network on recorded games.

    azo supervise games.wtb --folder runs/supervised

FILES are WTHOR files (`.wtb`), eOthello's CSV (`.csv`) or transcripts, one a line (`.txt`), each
also as `.gz`; a folder stands for its WTHOR files. `--source random` and `--source search` make
games instead, as the 6x6 project does to pretrain first its value, then its policy. `--config FILE`
reads settings from a TOML file, and flags override it.

After every evaluation the best network so far is in FOLDER/best, for play and for `--start`, and
the figures are in FOLDER/metrics.jsonl. Ctrl-C ends training after the current steps.
"""

from collections.abc import Sequence

from azo.cli import command_line
from azo.games import registry
from azo.run import interruption, supervised_data, supervised_training, validation


def main(argv: Sequence[str]) -> int:
    """Trains a network; returns the exit code."""
    settings = load(argv)
    if settings.folder.exists():
        raise ValueError(f"{settings.folder}: exists already: choose a new --folder")
    game = registry.make(settings.game)
    data, held_out = supervised_data.prepare(settings, game)
    with interruption.StopRequest() as stop:
        supervised_training.train(settings, game, data, held_out, stop)
    return 0


def load(argv: Sequence[str]) -> supervised_data.SuperviseConfig:
    """Returns the settings of `--config FILE` and flags; raises ValueError with one line."""
    kind = supervised_data.SuperviseConfig
    settings = command_line.parse(
        kind,
        argv,
        prog="azo supervise",
        description=__doc__,
        load_file=lambda path: validation.load(kind, path, "settings") if path else None,
    )
    return supervised_data.check(settings)
