"""Rates a network on the fixed ladder, and keeps the leaderboard.

    azo leaderboard runs/zero-fast

RUN is the folder of a run: its latest network meets all players of the ladder with 100, 400 and 800
simulations and with 0.1 seconds a move, and the record is added to `--records` and `--page`. The
folder of an exported network is rated, but gives no record, since it does not say what the training
took. Without RUN the page is written from the records. The games are kept in RUN/ladder, so the
same command continues a stopped rating. Time limits need an otherwise idle machine.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.formats import files
from azo.games import setting_types
from azo.measure import elo
from azo.run import ladder_matches, metrics, network_files, origin, records, shipped_files


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
    page: pathlib.Path = pathlib.Path("docs/leaderboard.md")
    """Page to write."""


def main(argv: Sequence[str]) -> int:
    """Rates a network, adds its record, and writes the page; returns the exit code."""
    flags = command_line.parse(LeaderboardConfig, argv, prog="azo leaderboard", description=__doc__)
    if flags.run is not None:
        run = shipped_files.find_network(flags.run)
        has_record = (run / metrics.FILE).is_file()
        matches = _rated(flags, run, run if has_record else pathlib.Path("runs") / run.name)
        if not has_record:
            settings = network_files.load_settings(run)
            print(f"{flags.run}: {origin.describe(network_files.origin_of(settings))}")
            print(f"{flags.run}: an exported network, which gives no record")
            return 0
        records.add(flags.records, records.of_run(run, matches))
    files.write(flags.page, records.page(records.read(flags.records)).encode())
    print(f"written: {flags.page}")
    return 0


def _rated(
    flags: LeaderboardConfig, run: pathlib.Path, folder: pathlib.Path
) -> dict[str, list[elo.Pairing]]:
    """Returns the matches by way to play, and prints the ratings; keeps all in a folder."""
    variables, settings = network_files.load(run, is_latest=True)
    name = str(records.latest_step(run)) if folder == run else "exported"
    place = folder / "ladder" / name
    network = place / "network"
    if not network.exists():
        network_files.save(network, variables, settings)
    matches = {}
    for count in flags.simulations:
        way = str(count)
        matches[way] = ladder_matches.by_simulations(network, place / way, count, flags.num_games)
    for seconds in flags.seconds:
        way = f"{seconds:g} s"
        games = place / f"{seconds:g}s"
        matches[way] = ladder_matches.by_seconds(network, games, seconds, flags.num_games)
    for way, pairings in matches.items():
        rated = ladder_matches.rate(pairings)
        low, high = rated.interval
        print(f"{way}: Elo {rated.rating:.0f}, 95 % {low:.0f} to {high:.0f}")
    return matches
