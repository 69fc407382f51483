"""Clients of external engines: a subprocess that exchanges lines, in GTP or NBoard's protocol.

GTP is version 2 of the Go Text Protocol (https://www.lysator.liu.se/~gunnar/gtp) with Othello's
squares. The engine answers a command by `= text` or `? complaint` and an empty line, and it plays
the move that it returns for `genmove`. NBoard's protocol (version 2, by Chris Welty) has answers to
`ping` and `go` only. The engine does not play its move for `go`; its other output may be ignored.

Every wait has a deadline. An engine that floods its output, or never reads its input, cannot block
its client or fill its memory. Control characters in what an engine writes are replaced. An engine
ends with this process, also if it is killed.
"""

import collections
import contextlib
import logging
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Annotated, Literal

import pydantic

from azo.formats import ggf
from azo.games import notation, variant
from azo.settings import setting_types
from azo.storage import files

logger = logging.getLogger("azo.engines")

_EXCHANGE_LINES = 40
_EXCHANGE_COLUMNS = 200
_MAX_LINE_BYTES = 1 << 16
_MAX_ANSWER = 1 << 16  # characters
_MAX_REFUSAL = 200  # characters of it in a message
_MAX_WAITING = 100  # lines; then the engine has to wait
_QUIT_SECONDS = 1.0
# A shell that kills an engine at the end of its input, which comes with the end of this process.
# Linux's PR_SET_PDEATHSIG would kill it at the end of the thread that has started it.
_KILL_AT_END = 'read -r line || kill -s KILL -- "-$0"'
# The time of each side in the game of the protocol's description; engines play at a fixed depth.
_NBOARD_CLOCK = "15:00"


class ExternalEngineConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How to start an external engine, and what it expects of its client."""

    name: str
    """Name in tables."""
    command: Annotated[tuple[str, ...], pydantic.Field(min_length=1)]
    """Program and arguments; `{level}` in an argument becomes the level."""
    folder: pathlib.Path | None = None
    """Working folder, relative to that of the engine's file; None for the current folder."""
    protocol: Literal["gtp", "nboard"]
    """Go Text Protocol 2 with Othello's squares, or NBoard's protocol 2."""
    level: setting_types.NonNegativeInt | None = None
    """Strength: `{level}` in the command, and the depth of NBoard, which needs one."""
    seconds_per_move: setting_types.PositiveFloat = 60.0
    """Time limit per move, including the transfer of the opponent's moves."""
    startup_seconds: setting_types.PositiveFloat = 30.0
    """GTP: time limit until the engine is ready. NBoard: additional time for its first move."""
    setup: tuple[str, ...] = ()
    """Commands of the protocol to send after each start, such as `komi 0`."""
    send_passes: bool = True
    """GTP: whether to send passes. Some engines refuse them and infer the side to move."""

    @pydantic.model_validator(mode="after")
    def _check_level_and_protocol(self) -> "ExternalEngineConfig":
        has_place = any("{level}" in argument for argument in self.command)
        if self.level is None and has_place:
            raise ValueError("command has {level}, but level is not set: set it")
        if self.level is None and self.protocol == "nboard":
            raise ValueError("protocol 'nboard' needs a level, the depth of the search")
        if self.level is not None and self.protocol == "gtp" and not has_place:
            raise ValueError(f"level is {self.level}, but command has no {{level}}: add it")
        if self.protocol == "nboard" and not self.send_passes:
            raise ValueError("send_passes is for protocol 'gtp': NBoard always sends passes")
        return self

    @property
    def title(self) -> str:
        """The name, and the level if there is one."""
        return self.name if self.level is None else f"{self.name} {self.level}"


class EngineError(Exception):
    """An engine failed, and should lose the game.

    Attributes:
      reason: its fault in a few words: "timed out after 5 s", "died (exit code 3)",
        "illegal move e4", "unreadable move 'x9'", "resigned", "refused 'play w F5': illegal move".
      exchange: the last lines sent (`>`), received (`<`) and written as errors (`!`).
    """

    def __init__(self, title: str, reason: str, exchange: tuple[str, ...]):
        super().__init__(f"{title}: {reason}")
        self.reason = reason
        self.exchange = exchange


class Refusal(EngineError):
    """The engine refused a command."""


class EngineProcess:
    """A subprocess that exchanges lines; each pipe has a thread. Its owner must call `stop`."""

    def __init__(self, command: Sequence[str], folder: pathlib.Path | None, title: str):
        """Starts the program, by `title` in messages; raises OSError if that is impossible."""
        self._title = title
        self._exchange: collections.deque[str] = collections.deque(maxlen=_EXCHANGE_LINES)
        self._to_send: queue.SimpleQueue[bytes] = queue.SimpleQueue()  # b"" after the last
        self._received: queue.Queue[bytes] = queue.Queue(_MAX_WAITING)  # b"" after the last
        # A session of its own, so that `stop` reaches the engine behind a script that starts it.
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._killer = subprocess.Popen(
            ["/bin/sh", "-c", _KILL_AT_END, str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._start(self._write_input, self._process.stdin)
        self._start(self._read_output, self._process.stdout)
        self._errors = self._start(self._read_errors, self._process.stderr)

    def error(self, reason: str, kind: type[EngineError] = EngineError) -> EngineError:
        """Returns the error to raise for a fault of the engine."""
        return kind(self._title, reason, tuple(self._exchange.copy()))

    def allow(self, limit_seconds: float) -> None:
        """Starts the clock: sets the deadline of all lines to read."""
        self._limit_seconds = limit_seconds
        self._deadline = time.monotonic() + limit_seconds

    def send(self, line: str) -> None:
        """Sends a line, as soon as the engine reads it; returns at once."""
        self._note(">", line)
        self._to_send.put(line.encode() + b"\n")

    def read_line(self) -> str:
        """Returns the next line, without its end; raises EngineError for none or an endless one."""
        try:
            line = self._received.get(timeout=max(self._deadline - time.monotonic(), 0))
        except queue.Empty:
            raise self.error(f"timed out after {self._limit_seconds:g} s") from None
        if not line:
            self._received.put(line)
            raise self.error(self._end())
        if len(line) > _MAX_LINE_BYTES:
            raise self.error(f"wrote a line of more than {_MAX_LINE_BYTES} bytes")
        text = _text(line)
        self._note("<", text)
        return text

    def stop(self, *, is_killed: bool = False) -> None:
        """Ends the subprocess: by `quit` and the end of its input, and if that fails by force."""
        if not is_killed:
            self.send("quit")
        self._to_send.put(b"")
        if not is_killed:
            self._discard_output()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._discard_output()
        self._killer.communicate(b"\n")

    def _discard_output(self) -> None:
        """Waits a limited time for the end of the process."""
        self.allow(_QUIT_SECONDS)
        with contextlib.suppress(EngineError):
            while True:
                self.read_line()

    def _end(self) -> str:
        """Returns how the engine ended its output."""
        try:
            code = self._process.wait(_QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        self._errors.join(_QUIT_SECONDS)
        return f"died (exit code {code})" if code >= 0 else f"died (signal {-code})"

    @staticmethod
    def _start(work: Callable[[IO[bytes]], None], pipe: IO[bytes] | None) -> threading.Thread:
        thread = threading.Thread(target=work, args=[pipe], daemon=True)
        thread.start()
        return thread

    def _write_input(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:
            while line := self._to_send.get():
                pipe.write(line)
                pipe.flush()

    def _read_output(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(_MAX_LINE_BYTES + 1):
                self._received.put(line)
                if len(line) > _MAX_LINE_BYTES:
                    break
        self._received.put(b"")

    def _read_errors(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(_MAX_LINE_BYTES):
                self._note("!", _text(line))

    def _note(self, direction: str, line: str) -> None:
        logger.debug("%s %s %s", self._title, direction, line)
        self._exchange.append(f"{direction} {line[:_EXCHANGE_COLUMNS]}")


class GtpClient:
    """A client of an engine that speaks GTP."""

    def __init__(self, process: EngineProcess, game: variant.Variant, config: ExternalEngineConfig):
        """Prepares the engine; raises ValueError if it refuses the size of the board."""
        self._process = process
        self._game = game
        self._config = config
        self._sent: list[int] = []
        process.allow(config.startup_seconds)
        for line in config.setup:
            self._command(line)
        try:
            self._command(f"boardsize {game.size}")
        except Refusal as error:
            raise ValueError(f"no {game.size}x{game.size} board: {error.reason}") from None
        self._command("clear_board")

    def choose(self, moves: Sequence[int]) -> tuple[str, None]:
        """Returns the engine's move after `moves` as text; GTP reports no number of positions."""
        self._process.allow(self._config.seconds_per_move)
        if list(moves[: len(self._sent)]) != self._sent:
            self._command("clear_board")
            self._sent = []
        for ply in range(len(self._sent), len(moves)):
            if moves[ply] != self._game.pass_action or self._config.send_passes:
                text = notation.action_text(moves[ply], self._game.size)
                text = text if moves[ply] == self._game.pass_action else text.upper()
                self._command(f"play {'bw'[ply % 2]} {text}")
        answer = self._command(f"genmove {'bw'[len(moves) % 2]}")
        self._sent = list(moves)
        with contextlib.suppress(ValueError):
            self._sent.append(notation.parse_action(answer, self._game.size))
        return answer, None

    def _command(self, line: str) -> str:
        """Returns the engine's answer; raises Refusal if it begins with `?`."""
        self._process.send(line)
        while not (first := self._process.read_line()).startswith(("=", "?")):
            pass  # a greeting, or thinking aloud
        answer = re.sub(r"^[=?]\d*\s*", "", first)
        while text := self._process.read_line():
            answer += " " + text
            if len(answer) > _MAX_ANSWER:
                raise self._process.error(f"wrote an answer of more than {_MAX_ANSWER} characters")
        answer = answer.strip()
        if first.startswith("?"):
            reason = f"refused {line!r}: {files.one_line(answer, _MAX_REFUSAL)}"
            raise self._process.error(reason, Refusal)
        return answer


class NBoardClient:
    """A client of an engine that speaks NBoard's protocol.

    `ping` comes before each change of the board. Output before its `pong` belongs to an earlier
    position. Output of engines that never send `pong` counts for the current one.
    """

    def __init__(self, process: EngineProcess, game: variant.Variant, config: ExternalEngineConfig):
        """Prepares the engine for games."""
        self._process = process
        self._game = game
        self._config = config
        # The engine need not answer before its first move, which has this much time in addition.
        self._startup_seconds = config.startup_seconds
        self._sent: list[int] | None = None
        self._num_pings = 0
        for line in ("nboard 2", f"set depth {config.level}", *config.setup):
            process.send(line)

    def choose(self, moves: Sequence[int]) -> tuple[str, int | None]:
        """Returns the engine's move after `moves` as text, and how many positions it searched."""
        self._process.allow(self._config.seconds_per_move + self._startup_seconds)
        self._num_pings += 1
        self._process.send(f"ping {self._num_pings}")
        if self._sent is None or list(moves[: len(self._sent)]) != self._sent:
            start = ggf.usual_start(self._game)
            game = ggf.GgfGame(self._game.size, start, tuple(moves), time=_NBOARD_CLOCK)
            self._process.send(f"set game {ggf.to_text(game)}")
        else:
            for action in moves[len(self._sent) :]:
                self._process.send(f"move {ggf.move_text(action, self._game.size)}")
        self._sent = list(moves)
        self._process.send("go")
        positions = None
        while not (line := self._process.read_line().strip()).startswith("==="):
            word, *rest = line.split() or [""]
            if (word, rest) == ("pong", [str(self._num_pings)]):
                positions = None
            elif word == "nodestats" and rest:
                with contextlib.suppress(ValueError, OverflowError):
                    positions = int(float(rest[0]))
        self._startup_seconds = 0.0
        return re.split(r"[/\s]", line[3:].strip())[0], positions


CLIENTS: dict[str, type[GtpClient] | type[NBoardClient]]
CLIENTS = {"gtp": GtpClient, "nboard": NBoardClient}


def _text(line: bytes) -> str:
    return files.printable(line.decode(errors="replace").rstrip())
