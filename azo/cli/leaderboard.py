"""Rates a network on the fixed ladder, and keeps the leaderboard.

    azo leaderboard runs/zero-fast

RUN is the folder of a run: its latest network meets all players of the ladder with 100, 400 and 800
simulations and with 0.1 seconds a move, and the record is added to `--records` and `--page`, in
place of an earlier one of the same training. The folder of an exported network is rated, but gives
no record, since it does not say what the training took. Without RUN the page is written from the
records. The games are kept in RUN/ladder, so the same command continues a stopped rating. Time
limits need an otherwise idle machine.

    azo leaderboard runs/zero-fast --time-to-strength

finds the first kept checkpoint of a run that scores 50 % against each of five fixed opponents, and
adds its minutes of training to `--times` and `--page`. The games are kept in RUN/strength.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.formats import files
from azo.games import setting_types
from azo.measure import elo, journal
from azo.run import (
    ladder_matches,
    metrics,
    network_files,
    origin,
    records,
    shipped_files,
    strength_times,
)


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
    time_to_strength: bool = False
    """Measure the training until equal strength with fixed opponents, in place of the Elo."""
    num_processes: setting_types.Processes = 1
    """Time to strength: processes of each external engine."""
    times: pathlib.Path = pathlib.Path("docs/strength_times.jsonl")
    """File of the times to strength."""
    records: pathlib.Path = pathlib.Path("docs/records.jsonl")
    """File of the records."""
    page: pathlib.Path = pathlib.Path("docs/leaderboard.md")
    """Page to write."""

    @pydantic.model_validator(mode="after")
    def _check_run(self) -> "LeaderboardConfig":
        if self.time_to_strength and self.run is None:
            raise ValueError("--time-to-strength measures a run: give its folder")
        return self


def main(argv: Sequence[str]) -> int:
    """Rates a network, adds its record, and writes the page; returns the exit code."""
    flags = command_line.parse(LeaderboardConfig, argv, prog="azo leaderboard", description=__doc__)
    if flags.run is not None and flags.time_to_strength:
        _measure(flags, flags.run)
    elif flags.run is not None:
        run = shipped_files.find_network(flags.run)
        has_record = (run / metrics.FILE).is_file()
        matches = _rated(flags, run, run if has_record else pathlib.Path("runs") / run.name)
        if not has_record:
            settings = network_files.load_settings(run)
            print(f"{flags.run}: {origin.describe(network_files.origin_of(settings))}")
            print(f"{flags.run}: an exported network, which gives no record")
            return 0
        records.add(flags.records, records.of_run(run, matches))
    times = strength_times.section(strength_times.read(flags.times))
    files.write(flags.page, f"{records.page(records.read(flags.records))}\n{times}".encode())
    print(f"written: {flags.page}")
    return 0


def _measure(flags: LeaderboardConfig, run: pathlib.Path) -> None:
    """Prints the time to strength against each opponent, and adds the record."""
    times = {}
    for name in strength_times.OPPONENTS:
        times[name] = strength_times.measure(run, name, flags.num_games, flags.num_processes)
        print(f"{name}: {strength_times.describe(times[name])}", flush=True)
    record = strength_times.of_run(run, flags.num_games, times)
    journal.append(flags.times, record.model_dump_json())


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
