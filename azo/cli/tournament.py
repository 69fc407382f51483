"""Plays a tournament and rates its players.

    azo tournament strength --num-games 20

TOURNAMENT is the name of a shipped tournament or the path of a TOML file, whose settings are listed
in azo/run/tournament_file.py. FOLDER/games.jsonl gets a line for each finished game, so the same
command resumes a tournament and repeats no finished game. FOLDER also holds the games as
transcripts, GGF and WTHOR files, and engines.log with the messages of a program that failed.
`--report PAGE.md` writes a page with a picture.
"""

import contextlib
import fcntl
import json
import logging
import pathlib
import shlex
import signal
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pydantic
import rich.console
import rich.progress
import tyro

from azo.cli import command_line
from azo.games import protocol, registry
from azo.measure import elo
from azo.measure.tournament import backends, export, game_log, openings, page, rounds, standings
from azo.run import tournament_file

GAMES = "games.jsonl"
LOG = "engines.log"
_PLAYERS = "players.json"
_LOCK = ".lock"


class TournamentFlags(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Plays a tournament, or goes on with it, and rates the players."""

    file: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="TOURNAMENT")]
    """Name of a shipped tournament, or a TOML file."""
    folder: pathlib.Path | None = None
    """Where the games go; runs/ and the name of the file unless set."""
    num_games: pydantic.PositiveInt | None = None
    """Of each pair, in place of the number in the file: more games are added to those played."""
    report: pathlib.Path | None = None
    """Also write the tables as a page in Markdown, with a picture beside it."""
    table: bool = False
    """Play nothing: only tables and files of the games so far."""


def main(argv: Sequence[str]) -> int:
    """Plays what is missing, writes and prints the tables; returns the exit code."""
    flags = command_line.parse(TournamentFlags, argv, prog="azo tournament", description=__doc__)
    if flags.report is not None:
        page.check_drawing()
    asked = tournament_file.load(flags.file, num_games=flags.num_games)
    folder = flags.folder or pathlib.Path("runs") / flags.file.stem
    with _alone_in(folder):
        return _run(flags, asked, folder, argv)


def _run(
    flags: TournamentFlags,
    asked: tournament_file.TournamentConfig,
    folder: pathlib.Path,
    argv: Sequence[str],
) -> int:
    game = registry.make(asked.game)
    everyone = tournament_file.entrants(asked, game)
    drawn = tournament_file.draw_openings(asked, game)
    schedule = tournament_file.schedule(asked, [entrant.name for entrant in everyone])
    _check_players(folder / _PLAYERS, asked, everyone)
    played = _read(folder, game, drawn)
    waiting = game_log.missing(schedule, played)
    console = rich.console.Console(highlight=False, markup=False, emoji=False)
    if waiting and not flags.table:
        with _sigterm_as_ctrl_c():
            play(asked, game, everyone, drawn, waiting, folder, console)
        played = _read(folder, game, drawn)
    ours = set(schedule)
    counted = [record for record in played if record.scheduled in ours]
    if not counted:
        raise ValueError(f"{folder / GAMES}: no game has been played")
    export.write(folder, counted, game, flags.file.stem)
    names = [entrant.name for entrant in everyone]
    pairings = standings.pairings(names, counted)
    rated = elo.rate(pairings, players=names, anchor=asked.anchor)
    num_missing = len(schedule) - len(counted)
    tables = page.tables(rated, pairings, counted, num_missing=num_missing)
    print("\n".join(tables))
    if flags.report is not None:
        command = shlex.join(["python", "-m", "azo", "tournament", *argv])
        page.write(flags.report, flags.file.stem, command, rated, pairings, tables)
    return 0


def play(
    asked: tournament_file.TournamentConfig,
    game: protocol.Game,
    everyone: Sequence[tournament_file.Entrant],
    drawn: Sequence[openings.Opening],
    waiting: Sequence[game_log.ScheduledGame],
    folder: pathlib.Path,
    console: rich.console.Console,
) -> None:
    """Plays the games that wait, each of them on disk as soon as it has ended."""
    names = {name for scheduled in waiting for name in (scheduled.black, scheduled.white)}
    with (
        _logged(folder / LOG),
        _started(entrant for entrant in everyone if entrant.name in names) as players,
        rich.progress.Progress(console=console, disable=not console.is_terminal) as screen,
    ):
        bar = screen.add_task("games", total=len(waiting))
        size = game.board_shape[0]

        def on_end(record: game_log.PlayedGame) -> None:
            game_log.append(folder / GAMES, record, size)
            screen.advance(bar)
            if record.ended:
                screen.console.print(
                    f"{record.black} - {record.white}, opening {record.opening}: {record.ended}",
                    soft_wrap=True,
                )

        if not console.is_terminal:
            console.print(f"{len(waiting)} games to play")
        rounds.play(game, waiting, drawn, players, games_at_once=asked.games_at_once, on_end=on_end)


@contextlib.contextmanager
def _started(everyone: Iterator[tournament_file.Entrant]) -> Iterator[dict[str, backends.Backend]]:
    """Starts the players, and ends them however the tournament ends."""
    with contextlib.ExitStack() as stack:
        found = {}
        for entrant in everyone:
            found[entrant.name] = entrant.sit()
            stack.callback(found[entrant.name].close)
        yield found


@contextlib.contextmanager
def _alone_in(folder: pathlib.Path) -> Iterator[None]:
    """Keeps others out of a folder, so that no game is played twice.

    Raises:
      ValueError: another tournament is under way there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"{folder}: another tournament is under way there") from None
        yield


@contextlib.contextmanager
def _logged(path: pathlib.Path) -> Iterator[None]:
    """Keeps what failing programs were told and said."""
    handler = logging.FileHandler(path, delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("azo.engines")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Lets SIGTERM end external programs too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _read(
    folder: pathlib.Path, game: protocol.Game, drawn: Sequence[openings.Opening]
) -> list[game_log.PlayedGame]:
    """Returns the games so far; raises ValueError if they began otherwise than ours would."""
    path = folder / GAMES
    found = game_log.read(path, game.board_shape[0])
    for record in found:
        number = record.opening
        began = record.actions[: record.opening_plies]
        if number < len(drawn) and began != drawn[number]:
            raise ValueError(
                f"{path}: opening {number} was another one: give the openings and the seed that"
                " these games were played with, or another --folder"
            )
    return found


def _check_players(
    path: pathlib.Path,
    asked: tournament_file.TournamentConfig,
    everyone: Sequence[tournament_file.Entrant],
) -> None:
    """Keeps what decides the games of a folder, so that no others are added to them.

    Raises:
      ValueError: the game, or a player of one of the names, was another one before.
    """
    now: dict[str, Any] = {entrant.name: entrant.definition for entrant in everyone}
    now = json.loads(json.dumps({"game": asked.game.model_dump(mode="json"), "players": now}))
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else now
    if before["game"] != now["game"]:
        raise ValueError(f"{path}: the games there are of another game: give another --folder")
    for name, definition in now["players"].items():
        if before["players"].get(name, definition) != definition:
            raise ValueError(
                f"{path}: {name!r} was another player in the games there: rename it, or give"
                " another --folder"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    everything = {"game": now["game"], "players": before["players"] | now["players"]}
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
