"""External engines as players: programs that speak GTP or NBoard's protocol, each a subprocess.

`engine_protocols.ExternalEngineConfig` describes an engine. An engine that hangs, dies, plays an
illegal move or refuses a command raises `EngineError`, and should lose its game. The next request
starts it again. The logger `azo.engines` gets all lines at level DEBUG, and the last ones of a
failure at WARNING. One `ExternalEngine` serves one thread at a time.

A forced pass needs no request: programs disagree on the form of such a request. The pass is sent
before the next move, unless `send_passes` is off.
"""

import contextlib
import os
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from azo.games import notation, plurals, variant
from azo.games.host import live_game
from azo.opponents import engine_protocols

# Debian keeps games where PATH does not always look.
_GAMES_FOLDER = "/usr/games"


class Choice(NamedTuple):
    """An engine's move."""

    action: int
    positions: int | None  # number searched, as the engine reports it; None if it does not


class ExternalEngine(contextlib.AbstractContextManager["ExternalEngine"]):
    """An external engine, which runs until `close` or the end of a `with` block."""

    def __init__(self, config: engine_protocols.ExternalEngineConfig, game: variant.Variant):
        """Starts the engine.

        Raises:
          ValueError: The game has another start or is reversed, which the protocols cannot express;
            the engine refuses the size of the board; the program or folder does not exist.
          EngineError: The engine hangs, dies or refuses a command.
        """
        _check_game(config, game)
        self._config = config
        self._game = game
        self._process: engine_protocols.EngineProcess | None = None
        self._start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def choose(self, moves: Sequence[int]) -> Choice:
        """Returns the engine's action after the actions since the start of the game.

        If the process has the first of `moves`, only the others are sent, otherwise all of them.

        Raises:
          ValueError: `moves` are illegal, or end the game.
          EngineError: The engine failed. Its process has ended, and the next call starts another.
        """
        live = live_game.LiveGame(self._game)
        live.new_game(actions=moves)
        if live.is_over:
            raise ValueError(
                f"the game is over after {plurals.counted(len(moves), 'ply', 'plies')}"
            )
        if live.legal_actions == (self._game.pass_action,):
            return Choice(self._game.pass_action, None)
        if self._process is None:
            self._start()
        try:
            text, positions = self._client.choose(moves)
            return Choice(self._read(text, live.legal_actions), positions)
        except engine_protocols.EngineError as error:
            self._kill(error)
            raise

    def close(self) -> None:
        """Ends the engine's process, politely at first."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _start(self) -> None:
        config = self._config
        if config.folder is not None and not config.folder.is_dir():
            raise ValueError(f"{config.title}: there is no folder {config.folder}")
        try:
            process = engine_protocols.EngineProcess(_command(config), config.folder, config.title)
        except OSError as error:
            raise ValueError(
                f"{config.title}: cannot start {config.command[0]!r} ({error.strerror}): install"
                f" it, or give its path; PATH and {_GAMES_FOLDER} were searched"
            ) from None
        self._process = process
        try:
            self._client = engine_protocols.CLIENTS[config.protocol](process, self._game, config)
        except engine_protocols.EngineError as error:
            self._kill(error)
            raise
        except ValueError as error:
            self.close()
            raise ValueError(f"{config.title}: {error}") from None

    def _kill(self, error: engine_protocols.EngineError) -> None:
        assert self._process is not None
        self._process.stop(is_killed=True)
        self._process = None
        engine_protocols.logger.warning("%s\n%s", error, "\n".join(error.exchange))

    def _read(self, text: str, legal: Sequence[int]) -> int:
        assert self._process is not None
        if text.lower() == "resign":
            raise self._process.error("resigned")
        try:
            action = notation.parse_action(text, self._game.size)
        except ValueError:
            raise self._process.error(f"unreadable move {text[:20]!r}") from None
        if action not in legal:
            shown = notation.action_text(action, self._game.size)
            raise self._process.error(f"illegal move {shown}")
        return action


def _command(config: engine_protocols.ExternalEngineConfig) -> list[str]:
    """Returns program and arguments, the program by its full path where possible."""
    program, *arguments = (a.replace("{level}", str(config.level)) for a in config.command)
    if os.sep not in program:  # otherwise it is a path, relative to the folder it runs in
        places = os.pathsep.join([os.environ.get("PATH", os.defpath), _GAMES_FOLDER])
        program = shutil.which(program, path=places) or program
    return [program, *arguments]


def _check_game(config: engine_protocols.ExternalEngineConfig, game: variant.Variant) -> None:
    if game.start_discs != variant.Variant(game.size).start_discs:
        raise ValueError(f"{config.title}: external engines play only from the usual start")
    if game.is_reversed:
        raise ValueError(f"{config.title}: external engines do not play reversed Othello")
    if config.protocol == "nboard" and game.size != 8:
        raise ValueError(
            f"{config.title}: engines of NBoard play on 8x8, not on {game.size}x{game.size}"
        )
