"""Rates a network on the fixed ladder, and keeps the leaderboard.

    python -m scripts.leaderboard runs/zero-fast

RUN is the folder of a run: its latest network meets all players of the ladder with 100, 400 and 800
simulations and with 0.1 seconds per move, and its record is printed. `--records FILE` adds it to a
file, in place of an earlier one of the same training, and all records of the file are printed, also
without RUN; `--page FILE` writes them instead. The folder of an exported network is rated, but
gives no record, since it does not say what the training took. The games are saved in RUN/ladder, so
the same command continues a stopped rating. Ratings with time limits need an otherwise idle
machine.
"""

import pathlib
import sys
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.matches import ladder
from azo.networks import network_files, origin
from azo.settings import setting_types, shipped_files
from azo.storage import files
from azo.training import metrics
from scripts.leaderboard import matches, records

PROGRAM = "python -m scripts.leaderboard"


class LeaderboardConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Ratings on the fixed ladder."""

    run: Annotated[tyro.conf.Positional[pathlib.Path | None], tyro.conf.arg(metavar="RUN")] = None
    """Folder of a run or of an exported network; needed unless there are records."""
    num_games: setting_types.PairedGames = 100
    """Games against each player of the ladder. Each opening is played twice, with both colours."""
    simulations: tuple[setting_types.Simulations, ...] = (100, 400, 800)
    """Simulations per move; each number gives one rating."""
    seconds: tuple[setting_types.PositiveFloat, ...] = (0.1,)
    """Seconds per move of the engine; each number gives one rating."""
    records: pathlib.Path | None = None
    """File of records, one per line, to which the record of the run is added."""
    page: pathlib.Path | None = None
    """File for the leaderboard in Markdown. By default it is printed."""


def main(argv: Sequence[str]) -> int:
    """Rates a network, and prints or writes the leaderboard; returns the exit code."""
    flags = command_line.parse(LeaderboardConfig, argv, prog=PROGRAM, description=__doc__)
    if flags.run is None and flags.records is None:
        raise ValueError("give RUN, the folder to rate, or --records FILE, to print its records")
    rated = []
    if flags.run is not None:
        run = shipped_files.find_network(flags.run)
        if not (run / metrics.FILE).is_file():
            _rated(flags, run, pathlib.Path("runs") / run.name / "ladder" / "exported")
            settings = network_files.load_settings(run)
            print(f"{flags.run}: {origin.describe(network_files.origin_of(settings))}")
            print(f"{flags.run}: an exported network, which gives no record")
            return 0
        played = _rated(flags, run, run / "ladder" / str(records.all_steps(run)[-1]))
        rated = [records.of_run(run, played)]
        if flags.records is not None:
            records.add(flags.records, rated[0])
    page = records.page(rated if flags.records is None else records.read(flags.records))
    if flags.page is None:
        print(page, end="")
    else:
        files.write(flags.page, page.encode(), makes_folder=True)
        print(f"written: {flags.page}")
    return 0


def _rated(
    flags: LeaderboardConfig, run: pathlib.Path, folder: pathlib.Path
) -> dict[str, ladder.Results]:
    """Returns the matches by way to play, and prints the ratings; keeps all in a folder."""
    network = folder / "network"
    for name in ("network", *map(str, flags.simulations), *(f"{x:g}s" for x in flags.seconds)):
        files.check_place(folder / name, folder)
    if folder.is_relative_to(run):
        files.check_place(folder, run)
    variables, settings = network_files.load(run, is_latest=True)
    if not network.exists():
        network_files.save(network, variables, settings, inside=folder)
    number = flags.num_games
    played = {
        str(count): matches.by_simulations(network, folder / str(count), count, number)
        for count in flags.simulations
    }
    for seconds in flags.seconds:
        games = folder / f"{seconds:g}s"
        played[f"{seconds:g} s"] = matches.by_seconds(network, games, seconds, number)
    for way, results in played.items():
        rated = ladder.rate_network(results)
        low, high = rated.interval
        print(f"{way}: Elo {rated.rating:.0f}, 95 % {low:.0f} to {high:.0f}")
    return played


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
