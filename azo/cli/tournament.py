"""Plays a tournament and rates its players.

    azo tournament strength --num-games 20

TOURNAMENT is the name of a shipped tournament or the path of a TOML file, whose settings are listed
in azo/matches/tournament_file.py. FOLDER/games.jsonl gets one line per finished game, so the same
command resumes a tournament and repeats no finished game. FOLDER also holds games.txt with the
transcripts, and engines.log with the messages of a program that failed. The tables are Markdown.
"""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.matches import tournament_file, tournament_runner
from azo.settings import setting_types


class TournamentFlags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Plays a tournament and rates the players."""

    file: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="TOURNAMENT")]
    """Name of a shipped tournament, or a TOML file."""
    folder: pathlib.Path | None = None
    """Folder of the games; by default runs/NAME, with the name of the file."""
    num_games: setting_types.PositiveInt | None = None
    """Games per pair of players, instead of the number in the file. A larger number adds games."""
    openings: pathlib.Path | None = None
    """File with one opening per line, used instead of the openings of the tournament."""
    table: bool = False
    """Play no games; show the tables and write the files of the games so far."""


def main(argv: Sequence[str]) -> int:
    """Plays the missing games, writes and prints the tables; returns the exit code."""
    flags = command_line.parse(TournamentFlags, argv, prog="azo tournament", description=__doc__)
    config = tournament_file.load(flags.file, num_games=flags.num_games, openings=flags.openings)
    title = flags.file.stem
    folder = flags.folder or pathlib.Path("runs") / title
    try:
        _, lines = tournament_runner.run(config, folder, is_playing=not flags.table)
    except KeyboardInterrupt:
        print("stopped; finished games are saved; the same command resumes")
        return 0
    print("\n".join(lines))
    return 0
