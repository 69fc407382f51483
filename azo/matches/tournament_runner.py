"""Plays a tournament in a folder, so that an interrupted one can be resumed.

The folder has `games.jsonl` with a line for each finished game, which is never played again;
`players.jsonl` with the definitions of the players; `engines.log` with the exchanges with engines
that failed; and `games.txt` with one transcript per line, for other commands.
"""

import io
import logging
import pathlib
from collections.abc import Sequence
from typing import Any

import pydantic
import rich.console

from azo.games import notation, plurals, protocol, registry
from azo.matches import elo, tournament_file
from azo.matches.tournament import game_log, openings, page, rounds
from azo.opponents import engine_protocols
from azo.process import console, interruption
from azo.storage import files, journal, locks

GAMES = "games.jsonl"
LOG = "engines.log"
PLAYERS = "players.jsonl"
TRANSCRIPTS = "games.txt"


def run(
    config: tournament_file.TournamentConfig, folder: pathlib.Path, *, is_playing: bool = True
) -> tuple[list[elo.Pairing], list[str]]:
    """Plays the missing games, if any, and writes the files.

    Returns:
      The results of all pairs of players, and the lines of the tables.

    Raises:
      ValueError: One line: a player cannot be made, the folder has games of other players or
        openings, no game has been played, or another process plays there.
    """
    with locks.lock_folder(folder) as lock:
        game, path = registry.make(config.game), folder / GAMES
        players = tournament_file.make_players(config, game)
        names = [player.name for player in players]
        drawn = tournament_file.draw_openings(config, game)
        files.remove_leftovers(folder)
        files.check_own(folder / TRANSCRIPTS, is_replaced=True)
        files.check_own(folder / LOG)
        _check_players(folder / PLAYERS, config, players)
        played = {one.scheduled: one for one in game_log.repair(path, game.board_shape[0])}
        for one in played.values():
            opening = one.actions[: one.opening_plies]
            if one.opening < len(drawn) and opening != drawn[one.opening]:
                raise ValueError(
                    f"{path}: opening {one.opening} is not the one drawn now: use the openings and"
                    " the seed of the stored games, or another --folder"
                )
        schedule = tournament_file.schedule(config, names)
        waiting = [one for one in schedule if one not in played]
        if waiting and is_playing:
            played |= _play(config, game, players, drawn, waiting, folder, lock)
        games = [played[one] for one in schedule if one in played]
        if not games:
            raise ValueError(f"{path}: no game has been played")
        lines = [notation.transcript(one.actions, game.board_shape[0]) for one in games]
        content = ("\n".join(lines) + "\n").encode()
        files.write(folder / TRANSCRIPTS, content, inside=folder)
    pairings = game_log.pairings(names, games)
    rated = elo.rate(pairings, players=names, anchor=config.anchor)
    num_missing = len(schedule) - len(games)
    return pairings, page.results(rated, pairings, games, num_missing=num_missing)


def _play(
    config: tournament_file.TournamentConfig,
    game: protocol.Game,
    players: Sequence[tournament_file.TournamentPlayer],
    drawn: Sequence[openings.Opening],
    waiting: Sequence[game_log.ScheduledGame],
    folder: pathlib.Path,
    lock: locks.Lock,
) -> dict[game_log.ScheduledGame, game_log.PlayedGame]:
    """Returns the games played; each is on disk as soon as it has ended."""
    terminal = rich.console.Console(highlight=False, markup=False, emoji=False)
    if not terminal.is_terminal:
        terminal.print(f"{plurals.counted(len(waiting), 'game')} to play")
    finished = {}
    progress = console.ProgressBar(terminal)
    task = progress.add_task("games", total=len(waiting))

    def on_end(played: game_log.PlayedGame) -> None:
        lock.check()
        journal.append(folder / GAMES, game_log.to_line(played, game.board_shape[0]))
        finished[played.scheduled] = played
        progress.advance(task)
        if played.ended:
            terminal.print(
                f"{played.black} - {played.white}, opening {played.opening}: {played.ended}",
                soft_wrap=True,
            )

    log = _Log(folder / LOG, delay=True, encoding="utf-8")
    log.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    engine_protocols.logger.addHandler(log)
    try:
        with interruption.handled_by(interruption.interrupt), progress:  # closes engines
            rounds.play(
                game,
                waiting,
                drawn,
                {player.name: (player.contender, config.seed) for player in players},
                games_at_once=config.games_at_once,
                on_end=on_end,
            )
    except engine_protocols.EngineError as error:  # at its start
        raise ValueError(str(error)) from None
    finally:
        engine_protocols.logger.removeHandler(log)
        log.close()
    return finished


class _Entry(pydantic.BaseModel):
    """A line of `players.jsonl`: the game, or a player."""

    name: str
    definition: dict[str, Any]


class _Log(logging.FileHandler):
    """Keeps the exchanges with engines that fail."""

    def _open(self) -> io.TextIOWrapper:
        path = pathlib.Path(self.baseFilename)
        return io.TextIOWrapper(files.open_log(path, path.parent), "utf-8", write_through=True)

    def handleError(self, record: logging.LogRecord) -> None:
        """Loses a record that cannot be written: the game log reports a full disk."""
        del record


def _check_players(
    path: pathlib.Path,
    config: tournament_file.TournamentConfig,
    players: Sequence[tournament_file.TournamentPlayer],
) -> None:
    """Stores the game and the players; raises ValueError if the stored ones contradict them."""
    new = {"game": config.game.model_dump(mode="json")}
    new |= {f"player {player.name!r}": player.definition for player in players}
    entries = journal.repair(path, _Entry.model_validate_json)
    stored = {entry.name: entry.definition for entry in entries}
    for name, definition in new.items():
        if stored.get(name, definition) != definition:
            raise ValueError(
                f"{path}: {name} is stored with another definition, {stored[name]}: rename it, or"
                " choose another --folder"
            )
    for name, definition in new.items():
        if name not in stored:
            journal.append(path, _Entry(name=name, definition=definition).model_dump_json())
