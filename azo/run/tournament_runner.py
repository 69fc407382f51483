"""Plays a tournament in a folder, so that an interrupted one can be resumed.

The folder has `games.jsonl` with a line for each finished game, which is never played again;
`players.json` with the definitions of the players; `engines.log` with the exchanges with engines
that failed; and all games as transcripts, GGF and WTHOR files.
"""

import contextlib
import json
import logging
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import rich.console
import rich.progress

from azo.formats import files, locks
from azo.games import protocol, registry
from azo.measure import elo, journal
from azo.measure.tournament import backends, export, game_log, openings, page, rounds, standings
from azo.run import interruption, tournament_file

GAMES = "games.jsonl"
LOG = "engines.log"
_PLAYERS = "players.json"


def run(
    config: tournament_file.TournamentConfig,
    folder: pathlib.Path,
    title: str,
    *,
    report: pathlib.Path | None = None,
    command: str = "",
    is_playing: bool = True,
) -> list[str]:
    """Plays the missing games, writes the files and returns the lines of the tables.

    Args:
      config: the tournament.
      folder: for the games.
      title: name of the tournament in files.
      report: also write the tables to this page.
      command: the command that the page shows.
      is_playing: False plays nothing, and shows the games so far.

    Raises:
      ValueError: One line: a player cannot be made, the folder has games of other players or
        openings, no game has been played, or another process plays there.
    """
    with locks.lock_folder(folder):
        game = registry.make(config.game)
        players = tournament_file.make_players(config, game)
        names = [player.name for player in players]
        drawn = tournament_file.draw_openings(config, game)
        schedule = tournament_file.schedule(config, names)
        _check_players(folder / _PLAYERS, config, players)
        game_log.mend(folder / GAMES, game.board_shape[0])
        waiting = game_log.missing(schedule, _read(folder, game, drawn))
        if waiting and is_playing:
            _play(config, game, players, drawn, waiting, folder)
        scheduled = set(schedule)
        played = [one for one in _read(folder, game, drawn) if one.scheduled in scheduled]
        if not played:
            raise ValueError(f"{folder / GAMES}: no game has been played")
        export.write(folder, played, game, title)
        pairings = standings.pairings(names, played)
        rated = elo.rate(pairings, players=names, anchor=config.anchor)
        num_missing = len(schedule) - len(played)
        tables = page.tables(rated, pairings, played, num_missing=num_missing)
        if report is not None:
            page.write(report, title, command, rated, pairings, tables)
    return tables


def _play(
    config: tournament_file.TournamentConfig,
    game: protocol.Game,
    players: Sequence[tournament_file.TournamentPlayer],
    drawn: Sequence[openings.Opening],
    waiting: Sequence[game_log.ScheduledGame],
    folder: pathlib.Path,
) -> None:
    """Plays games; each is on disk as soon as it has ended."""
    names = {name for scheduled in waiting for name in (scheduled.black, scheduled.white)}
    console = rich.console.Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.print(f"{len(waiting)} games to play")
    with contextlib.ExitStack() as stack:
        stack.enter_context(interruption.signals_interrupt())  # so that engines are closed
        stack.enter_context(_logged(folder / LOG))
        started: dict[str, backends.Backend] = {}
        for player in players:
            if player.name in names:
                started[player.name] = player.start()
                stack.callback(started[player.name].close)
        screen = rich.progress.Progress(console=console, disable=not console.is_terminal)
        stack.enter_context(screen)
        bar = screen.add_task("games", total=len(waiting))

        def on_end(played: game_log.PlayedGame) -> None:
            journal.append(folder / GAMES, game_log.to_line(played, game.board_shape[0]))
            screen.advance(bar)
            if played.ended:
                screen.console.print(
                    f"{played.black} - {played.white}, opening {played.opening}: {played.ended}",
                    soft_wrap=True,
                )

        rounds.play(
            game, waiting, drawn, started, games_at_once=config.games_at_once, on_end=on_end
        )


class _Log(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """Loses a record that cannot be written: the game log reports a full disk."""
        del record


@contextlib.contextmanager
def _logged(path: pathlib.Path) -> Iterator[None]:
    """Keeps the exchanges with engines that fail."""
    handler = _Log(path, delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("azo.engines")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


def _read(
    folder: pathlib.Path, game: protocol.Game, drawn: Sequence[openings.Opening]
) -> list[game_log.PlayedGame]:
    """Returns the games so far; raises ValueError if they began with other openings."""
    path = folder / GAMES
    played = game_log.read(path, game.board_shape[0])
    for one in played:
        opening = one.actions[: one.opening_plies]
        if one.opening < len(drawn) and opening != drawn[one.opening]:
            raise ValueError(
                f"{path}: opening {one.opening} is not the one drawn now: use the openings and the"
                " seed of the stored games, or another --folder"
            )
    return played


def _check_players(
    path: pathlib.Path,
    config: tournament_file.TournamentConfig,
    players: Sequence[tournament_file.TournamentPlayer],
) -> None:
    """Stores the game and the players; raises ValueError if the stored ones contradict them."""
    definitions = {player.name: player.definition for player in players}
    new = {"game": config.game.model_dump(mode="json"), "players": definitions}
    new = json.loads(json.dumps(new))
    stored = (_read_players(path) if path.exists() else None) or new
    for name, value in new["game"].items():
        if stored["game"].get(name) != value:
            raise ValueError(
                f"{path}: game.{name} is {stored['game'].get(name)}, but this tournament has"
                f" {value}: choose another --folder"
            )
    for name, definition in new["players"].items():
        if stored["players"].get(name, definition) != definition:
            raise ValueError(
                f"{path}: player {name!r} is stored with another definition: rename it, or choose"
                " another --folder"
            )
    stored["players"] |= new["players"]
    files.write(path, (json.dumps(stored, indent=1) + "\n").encode())


def _read_players(path: pathlib.Path) -> dict[str, Any] | None:
    """Returns the stored game and players; a damaged file is renamed, and the result is None."""
    try:
        stored = json.loads(files.read_text(path))
        if isinstance(stored["game"], dict) and isinstance(stored["players"], dict):
            return stored
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    aside = path.with_name(path.name + journal.DAMAGED)
    path.rename(aside)
    print(
        f"{path}: damaged, kept as {aside.name}; the stored games cannot be compared with the"
        " definitions of their players",
        file=sys.stderr,
    )
    return None
