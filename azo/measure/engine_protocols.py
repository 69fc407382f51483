"""How external engines are spoken to: a subprocess in lines of text, in GTP or NBoard's protocol.

GTP is version 2 of the Go Text Protocol (https://www.lysator.liu.se/~gunnar/gtp) with Othello's
squares: a command is answered by `= text` or `? complaint` and an empty line, and `genmove` plays
what it answers. NBoard's protocol (version 2, by Chris Welty) has no answers but to `ping` and
`go`, whose move the engine does not play; what else it says may be ignored.

Nothing here waits without a deadline. One thread reads and writes as the pipes allow, so an engine
that floods its output, or reads none of its input, cannot block it. POSIX alone: elsewhere pipes
cannot be waited for.
"""

import collections
import contextlib
import logging
import os
import pathlib
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import IO, cast

from azo.formats import ggf
from azo.games import notation, othello

logger = logging.getLogger("azo.engines")

_EXCHANGE_LINES = 40
_EXCHANGE_COLUMNS = 200
_CHUNK_BYTES = 1 << 16
_MAX_LINE_BYTES = 1 << 20
_QUIT_SECONDS = 1.0
# The time of each side in the game of the protocol's description; engines play at a fixed depth.
_NBOARD_CLOCK = "15:00"


class Failure(Exception):
    """What an engine did wrong, in a few words."""


class Refusal(Failure):
    """The engine refused a command."""


class Deadline:
    """A limit that begins to run when it is made."""

    def __init__(self, limit_seconds: float):
        self.limit_seconds = limit_seconds
        self._end = time.monotonic() + limit_seconds

    def left(self) -> float:
        """Returns the seconds left; raises Failure if there are none."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise Failure(f"timed out after {self.limit_seconds:g} s")
        return seconds


class Process:
    """A subprocess that reads and writes lines. Its owner must call `stop`."""

    def __init__(self, command: Sequence[str], folder: pathlib.Path | None, name: str):
        """Starts the program; raises OSError if that is impossible.

        Args:
          command: program and arguments.
          folder: where it runs; None for the current folder.
          name: what the log calls it.
        """
        # A session of its own, so that `stop` reaches the engine behind a script that starts it.
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._input, self._output, self._errors = (cast(IO[bytes], stream) for stream in streams)
        self._name = name
        self._selector = selectors.DefaultSelector()
        for stream in (self._input, self._output, self._errors):
            os.set_blocking(stream.fileno(), False)
        for stream in (self._output, self._errors):
            self._selector.register(stream, selectors.EVENT_READ)
        self._unsent = b""
        self._partial = {self._output: b"", self._errors: b""}
        self._lines: collections.deque[str] = collections.deque()
        self._has_ended = False
        self._exchange: collections.deque[str] = collections.deque(maxlen=_EXCHANGE_LINES)

    @property
    def exchange(self) -> tuple[str, ...]:
        """The last lines sent (`>`), received (`<`) and written as errors (`!`)."""
        return tuple(self._exchange)

    def send(self, line: str) -> None:
        """Sends a line as soon as the engine reads; `read_line` sees to it."""
        self._note(">", line)
        self._unsent += line.encode() + b"\n"
        self._write()

    def read_line(self, deadline: Deadline) -> str:
        """Returns the next line of the engine's output, without its end.

        Raises:
          Failure: at the deadline, or if the engine has died.
        """
        while not self._lines:
            if self._has_ended:
                raise Failure(self._how_it_ended())
            self._exchange_bytes(deadline.left())
        return self._lines.popleft()

    def stop(self, *, is_killed: bool = False) -> None:
        """Ends the subprocess: by `quit` and the end of its input, and if that fails by force."""
        if not is_killed:
            self.send("quit")
            self._close_input()
            with contextlib.suppress(Failure):
                deadline = Deadline(_QUIT_SECONDS)
                while not self._has_ended:
                    self._exchange_bytes(deadline.left())
                    self._lines.clear()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(deadline.left())
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._close_input()
        self._selector.close()
        self._output.close()
        self._errors.close()

    def _exchange_bytes(self, limit_seconds: float) -> None:
        """Waits until something can be read or written, and does it."""
        for key, _ in self._selector.select(limit_seconds):
            if key.fileobj is self._input:
                self._write()
            else:
                self._read(self._output if key.fileobj is self._output else self._errors)

    def _write(self) -> None:
        if self._input.closed:
            return
        try:
            count = self._input.write(self._unsent)  # None if the pipe is full
        except BrokenPipeError:  # the end of its output will tell why
            self._close_input()
            return
        self._unsent = self._unsent[count or 0 :]
        is_waiting = self._input in self._selector.get_map()
        if self._unsent and not is_waiting:
            self._selector.register(self._input, selectors.EVENT_WRITE)
        elif is_waiting and not self._unsent:
            self._selector.unregister(self._input)

    def _read(self, stream: IO[bytes]) -> None:
        try:
            chunk = os.read(stream.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        *lines, rest = (self._partial[stream] + chunk).split(b"\n")
        if not chunk:
            self._selector.unregister(stream)
            lines, rest = ([rest] if rest else []), b""
            self._has_ended |= stream is self._output
        if len(rest) > _MAX_LINE_BYTES:
            raise Failure(f"wrote a line of more than {_MAX_LINE_BYTES} bytes")
        self._partial[stream] = rest
        for line in lines:
            text = line.decode(errors="replace").rstrip()
            self._note("<" if stream is self._output else "!", text)
            if stream is self._output:
                self._lines.append(text)

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if self._errors in self._selector.get_map():
            self._read(self._errors)
        return f"died (exit code {code})" if code >= 0 else f"died (signal {-code})"

    def _close_input(self) -> None:
        if not self._input.closed:
            if self._input in self._selector.get_map():
                self._selector.unregister(self._input)
            self._input.close()

    def _note(self, direction: str, line: str) -> None:
        logger.debug("%s %s %s", self._name, direction, line)
        self._exchange.append(f"{direction} {line[:_EXCHANGE_COLUMNS]}")


class GtpClient:
    """An engine that speaks GTP."""

    def __init__(
        self,
        process: Process,
        game: othello.Othello,
        *,
        setup: Sequence[str],
        startup_seconds: float,
        seconds_per_move: float,
        send_passes: bool,
    ):
        """Prepares the engine for games; see `external_engines.ExternalEngineConfig`.

        Raises:
          ValueError: if the engine refuses the size of the board.
          Failure: if it fails otherwise.
        """
        self._process = process
        self._game = game
        self._seconds_per_move = seconds_per_move
        self._send_passes = send_passes
        self._told: list[int] = []
        deadline = Deadline(startup_seconds)
        for line in setup:
            self._command(line, deadline)
        try:
            self._command(f"boardsize {game.size}", deadline)
        except Refusal as error:
            raise ValueError(f"no {game.size}x{game.size} board: {error}") from None
        self._command("clear_board", deadline)

    def choose(self, moves: Sequence[int]) -> tuple[str, None]:
        """Returns the engine's move after `moves` as text; GTP does not tell what it searched."""
        deadline = Deadline(self._seconds_per_move)
        if not _extends(moves, self._told):
            self._command("clear_board", deadline)
            self._told = []
        for ply in range(len(self._told), len(moves)):
            if moves[ply] != self._game.pass_action or self._send_passes:
                text = notation.action_text(moves[ply], self._game.size)
                text = text if moves[ply] == self._game.pass_action else text.upper()
                self._command(f"play {_colour(ply)} {text}", deadline)
        answer = self._command(f"genmove {_colour(len(moves))}", deadline)
        self._told = list(moves)
        return answer, None

    def has_played(self, action: int) -> None:
        """Notes the move that `choose` returned: the engine has made it."""
        self._told.append(action)

    def _command(self, line: str, deadline: Deadline) -> str:
        """Returns the engine's answer; raises Refusal if it begins with `?`."""
        self._process.send(line)
        while not (first := self._process.read_line(deadline)).startswith(("=", "?")):
            pass  # a greeting, or thinking aloud
        lines = [re.sub(r"^[=?]\d*\s*", "", first)]
        while text := self._process.read_line(deadline):
            lines.append(text)
        answer = " ".join(lines).strip()
        if first.startswith("?"):
            raise Refusal(f"refused {line!r}: {answer}")
        return answer


class NBoardClient:
    """An engine that speaks NBoard's protocol.

    `ping` comes before each change of the board. What was said before its `pong` is about an
    earlier position; engines that never `pong` are believed as well.
    """

    def __init__(
        self,
        process: Process,
        game: othello.Othello,
        *,
        depth: int,
        setup: Sequence[str],
        startup_seconds: float,
        seconds_per_move: float,
    ):
        """Prepares the engine for games; see `external_engines.ExternalEngineConfig`."""
        self._process = process
        self._game = game
        self._seconds_per_move = seconds_per_move
        # Nothing need be answered before the first move, so that one may take this much longer.
        self._startup_seconds = startup_seconds
        self._told: list[int] | None = None
        self._num_pings = 0
        for line in ("nboard 2", f"set depth {depth}", *setup):
            process.send(line)

    def choose(self, moves: Sequence[int]) -> tuple[str, int | None]:
        """Returns the engine's move after `moves` as text, and how many positions it searched."""
        deadline = Deadline(self._seconds_per_move + self._startup_seconds)
        self._num_pings += 1
        self._process.send(f"ping {self._num_pings}")
        if self._told is None or not _extends(moves, self._told):
            board = notation.board_of(self._game.start(), is_black_to_move=True)
            game = ggf.GgfGame(self._game.size, board, tuple(moves), time=_NBOARD_CLOCK)
            self._process.send(f"set game {ggf.to_text(game)}")
        else:
            for action in moves[len(self._told) :]:
                self._process.send(f"move {ggf.move_text(action, self._game.size)}")
        self._told = list(moves)
        self._process.send("go")
        positions = None
        while not (line := self._process.read_line(deadline).strip()).startswith("==="):
            word, *rest = line.split() or [""]
            if (word, rest) == ("pong", [str(self._num_pings)]):
                positions = None
            elif word == "nodestats" and rest:
                with contextlib.suppress(ValueError, OverflowError):
                    positions = int(float(rest[0]))
        self._startup_seconds = 0.0
        return re.split(r"[/\s]", line[3:].strip())[0], positions

    def has_played(self, action: int) -> None:
        """Does nothing: the engine waits to be told its own move."""


def _extends(moves: Sequence[int], told: Sequence[int]) -> bool:
    return list(moves[: len(told)]) == list(told)


def _colour(ply: int) -> str:
    return "b" if ply % 2 == 0 else "w"
