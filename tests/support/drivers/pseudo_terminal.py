"""A command in a pseudo-terminal, or piped: keys go in, and the screen is what a person sees."""

import contextlib
import os
import select
import socket
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl

import pyte

CTRL_C, CTRL_D = "\x03", "\x04"
_LINES = 24
LIMIT_SECONDS = 240  # much longer than anything takes on an idle machine
# Ctrl-C is a signal to the processes of the terminal that controls them.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class PseudoTerminal:
    """A command in a terminal of its own."""

    def __init__(self, words, *, columns, env, cwd, is_piped):
        if is_piped:
            ours, theirs = (end.detach() for end in socket.socketpair())
            start = []
        else:
            ours, theirs = os.openpty()
            ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, columns, 0, 0))
            start = [sys.executable, "-ISc", _TAKE_TERMINAL]
        self.output = b""
        self._terminal = ours
        self._screen = pyte.HistoryScreen(columns, _LINES, history=10_000)
        self._parser = pyte.ByteStream(self._screen)
        self._is_piped = is_piped
        self._has_answered = True  # the last keys
        self.process = subprocess.Popen(
            [*start, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=env,
            cwd=cwd,
        )
        os.close(theirs)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)

    def press(self, keys):
        """Types after the reaction time of a quick person."""
        time.sleep(0.1)
        self._has_answered = False
        os.write(self._terminal, keys.encode())

    def clear(self):
        """Forgets what was written so far."""
        self.output = b""
        self._screen.reset()
        if self._is_piped:
            self._screen.set_mode(pyte.modes.LNM)  # a line feed goes to the first column

    @property
    def lines(self):
        """The lines of the screen and those above it, without empty ones at the end."""
        rows = self._screen.history.top
        above = ["".join(row[x].data for x in range(self._screen.columns)) for row in rows]
        every = [line.rstrip() for line in [*above, *self._screen.display]]
        return "\n".join(every).rstrip().split("\n")

    def wait_for(self, text):
        """Waits until the last line of the screen ends with a text, such as the next prompt."""
        self._wait(lambda: self._has_answered and self.lines[-1].endswith(text), text)

    def wait_until_shown(self, text, *, before):
        """Waits until a text is anywhere in what was shown since `clear`, before a prompt.

        Spaces and line breaks, which depend on the width, do not count.
        """

        def is_so():
            lines = self.lines
            is_shown = "".join(text.split()) in "".join("".join(lines).split())
            assert is_shown or not (self._has_answered and lines[-1].endswith(before)), lines
            return is_shown

        self._wait(is_so, text)

    def read_for(self, seconds):
        """Reads what the command writes in some seconds, or until it ends."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._read():
            pass

    def read_to_end(self):
        """Reads until the command has ended."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.process.poll() is None:
            self._read()
            assert time.monotonic() < deadline, f"no end of the command:\n{self.lines}"
        while self._read_now():
            pass

    @property
    def is_cursor_hidden(self):
        """Whether a progress display has left the cursor hidden."""
        return self._screen.cursor.hidden

    def _wait(self, is_so, text):
        deadline = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            shown = "\n".join(self.lines)
            assert time.monotonic() < deadline, f"no {text!r} in:\n{shown}"
            assert self._read(), f"ended without {text!r}:\n{shown}"

    def _read(self):
        """Reads what the command has written; returns whether there may be more."""
        if select.select([self._terminal], [], [], 0.1)[0]:
            return self._read_now()
        return True

    def _read_now(self):
        """Reads what the command has written; returns whether there was something."""
        if select.select([self._terminal], [], [], 0)[0]:
            written = b""
            with contextlib.suppress(OSError):  # EIO: no process has the terminal any more
                written = os.read(self._terminal, 65536)
            self._has_answered |= bool(written)
            self.output += written
            self._parser.feed(written)
            return bool(written)
        return False
