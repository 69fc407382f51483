"""Rates a network on the fixed ladder, and keeps the leaderboard.

    azo leaderboard runs/zero-fast

RUN is the folder of a run: its latest network meets all players of the ladder with 100, 400 and 800
simulations and with 0.1 seconds a move, and the record is added to `--records` and `--page`, in
place of an earlier one of the same training. The folder of an exported network is rated, but gives
no record, since it does not say what the training took. Without RUN the page is written from the
records. The games are kept in RUN/ladder, so the same command continues a stopped rating. Time
limits need an otherwise idle machine.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.games import setting_types
from azo.lab import ladder, records
from azo.storage import files
from azo.training import metrics, network_files, origin, shipped_files


class LeaderboardConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Ratings on the fixed ladder."""

    run: Annotated[tyro.conf.Positional[pathlib.Path | None], tyro.conf.arg(metavar="RUN")] = None
    """Folder of a run or of an exported network; without it the page is written anew."""
    num_games: setting_types.PairedGames = 100
    """Games against each player of the ladder. Each opening is played twice, with both colours."""
    simulations: tuple[setting_types.Simulations, ...] = (100, 400, 800)
    """Simulations a move, one rating each."""
    seconds: tuple[setting_types.PositiveFloat, ...] = (0.1,)
    """Seconds a move of the engine, one rating each."""
    records: pathlib.Path = pathlib.Path("docs/records.jsonl")
    """File of the records."""
    page: pathlib.Path = pathlib.Path("docs/notebook/leaderboard.md")
    """Page to write."""


def main(argv: Sequence[str]) -> int:
    """Rates a network, adds its record, and writes the page; returns the exit code."""
    flags = command_line.parse(LeaderboardConfig, argv, prog="azo leaderboard", description=__doc__)
    if flags.run is not None:
        run = shipped_files.find_network(flags.run)
        if not (run / metrics.FILE).is_file():
            _rated(flags, run, pathlib.Path("runs") / run.name / "ladder" / "exported")
            settings = network_files.load_settings(run)
            print(f"{flags.run}: {origin.describe(network_files.origin_of(settings))}")
            print(f"{flags.run}: an exported network, which gives no record")
            return 0
        matches = _rated(flags, run, run / "ladder" / str(records.all_steps(run)[-1]))
        records.add(flags.records, records.of_run(run, matches))
    files.write(flags.page, records.page(records.read(flags.records)).encode())
    print(f"written: {flags.page}")
    return 0


def _rated(
    flags: LeaderboardConfig, run: pathlib.Path, folder: pathlib.Path
) -> dict[str, ladder.Results]:
    """Returns the matches by way to play, and prints the ratings; keeps all in a folder."""
    network = folder / "network"
    variables, settings = network_files.load(run, is_latest=True)
    if not network.exists():
        network_files.save(network, variables, settings)
    number = flags.num_games
    matches = {
        str(count): ladder.by_simulations(network, folder / str(count), count, number)
        for count in flags.simulations
    }
    for seconds in flags.seconds:
        games = folder / f"{seconds:g}s"
        matches[f"{seconds:g} s"] = ladder.by_seconds(network, games, seconds, number)
    for way, results in matches.items():
        rated = ladder.rate_network(results)
        low, high = rated.interval
        print(f"{way}: Elo {rated.rating:.0f}, 95 % {low:.0f} to {high:.0f}")
    return matches
