"""A front end without a process: an input to write to, and its output."""

import contextlib
import functools
import os
import queue
import threading
import time

from azo.engine import engine_settings, live_engine
from azo.games import notation, othello
from azo.protocols import gtp, line_reader, nboard
from support.fakes.hash_evaluator import HashEvaluator

# Two simulations, and nothing is solved: a move takes no time.
QUICK = engine_settings.EngineConfig(
    num_simulations=2, leaves_per_step=1, exact_empties=0, solve_empties=0
)


def quick_engine(size=8, *, is_reversed=False, config=QUICK):
    return live_engine.Engine(HashEvaluator(othello.Othello(size, is_reversed=is_reversed)), config)


class Input:
    """A pipe whose lines come by `send`; `end` ends it."""

    def __init__(self, text=""):
        read_end, self.write_end = os.pipe()
        self.lines = line_reader.LineReader(read_end)
        self.send(text)

    def send(self, text):
        os.write(self.write_end, text.encode(errors="surrogateescape"))

    def end(self):
        os.close(self.write_end)


class Output:
    """An output that can be read and waited for."""

    def __init__(self):
        self._parts = queue.Queue()

    def write(self, text):
        self._parts.put(text)

    def take(self):
        """Returns the text written since the last call."""
        parts = []
        while not self._parts.empty():
            parts.append(self._parts.get())
        return "".join(parts)

    def wait_for(self, mark):
        """Returns the text since the last call as soon as `mark` is in it."""
        text = ""
        while mark not in text:
            text += self._parts.get(timeout=20)
        return text


class GtpSession:
    """A front end and an engine, spoken to line by line."""

    def __init__(self, engine=None, source=None):
        self.engine = engine or quick_engine()
        self.output = Output()
        self.front_end = self._front_end(source.lines if source else ended_lines())

    def _front_end(self, lines):
        return gtp.GtpServer(self.engine, lines, self.output.write, load_small)

    def ask(self, line):
        self.front_end.answer(line)
        return self.output.take()

    def asks(self, *lines):
        return [self.ask(line) for line in lines]

    @contextlib.contextmanager
    def running(self):
        """Runs the front end in a thread, which must end soon after the block."""
        thread = threading.Thread(target=self.front_end.run, daemon=True)
        thread.start()
        yield
        thread.join(20)
        assert not thread.is_alive()

    @property
    def board(self):
        return self.front_end._engine.board


class NBoardSession(GtpSession):
    """NBoard's protocol before an engine; answers are lists of lines."""

    def _front_end(self, lines):
        return nboard.NBoardServer(self.engine, lines, self.output.write)

    def ask(self, line):
        return super().ask(line).splitlines()


@functools.cache
def ended_lines():
    source = Input()
    source.end()
    while not source.lines.is_waiting():
        time.sleep(0.001)
    return source.lines


def load_small(size):
    if size not in (4, 6):
        raise ValueError(f"no network for othello{size}")
    return quick_engine(size)


def squares(board, size=8):
    """Returns the board of an engine as `slow_board.text` writes it."""
    return notation.board_text(board, size).split()[0]


def plays(moves):
    """Returns the moves as commands, passes included."""
    return [
        f"play {'bw'[ply % 2]} {notation.action_text(action, 8)}"
        for ply, action in enumerate(moves)
    ]
