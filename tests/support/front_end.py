"""A front end without a process: an input to write to, and its output."""

import queue

from azo.games import notation, othello
from azo.play import engine_settings, gtp, line_reader, live_engine, nboard
from support import scripted_engine
from support.hash_evaluator import HashEvaluator

# Two simulations, and nothing is solved: a move takes no time.
QUICK = engine_settings.EngineConfig(
    num_simulations=2, leaves_per_step=1, cache_positions=256, exact_empties=0, solve_empties=0
)


def quick_engine(size=8, *, is_reversed=False, config=QUICK):
    return live_engine.Engine(HashEvaluator(othello.Othello(size, is_reversed=is_reversed)), config)


class ScriptedEngine(scripted_engine.ScriptedEngine):
    """With written evaluations and, by default, no book."""

    book = None


class Input:
    """An input whose lines come by `send`; `end` ends it."""

    def __init__(self, text=""):
        self._chunks = queue.Queue()
        if text:
            self.send(text)
        self.lines = line_reader.LineReader(self._chunks.get)

    def send(self, text):
        self._chunks.put(text if isinstance(text, bytes) else text.encode())

    def end(self):
        self._chunks.put(b"")


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
        self.front_end = gtp.GtpServer(
            self.engine,
            (source or ended_input()).lines,
            self.output.write,
            full=self.engine.config,
            load=load_small,
        )

    def ask(self, line):
        self.front_end.answer(line)
        return self.output.take()

    def asks(self, *lines):
        return [self.ask(line) for line in lines]

    @property
    def board(self):
        return self.front_end._engine.board


def ended_input():
    source = Input()
    source.end()
    source.lines.wait()
    return source


def load_small(size):
    if size not in (4, 6):
        raise ValueError(f"no network for othello{size}")
    return quick_engine(size)


def squares(board, size=8):
    """Returns the board of an engine as `slow_board.text` writes it."""
    return notation.board_text(board, size).split()[0]


_NOISE = [*" \t\r#/-=?\x00\x07\x1b\x7f09é🙂\u2028\ufffd", "None", "  ", "99999999999"]


def mutated(rng, line):
    """Returns a line with something wrong in it, perhaps."""
    for _ in range(rng.randrange(1, 4)):
        place, other = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
        line = rng.choice(
            [
                line[:place] + line[other:],
                line[:place] + rng.choice(_NOISE) + line[place:],
                line[:place] + rng.choice(_NOISE) + line[other:],
                line[:place] + chr(rng.randrange(1, 0x250)) + line[place + 1 :],
                line + " " + line[place:other],
                line[place:other] * rng.randrange(1, 50),
                line.swapcase(),
            ]
        )
    return line.replace("\n", " ")


class NBoardSession:
    """NBoard's protocol before an engine, spoken to line by line."""

    def __init__(self, engine=None, source=None):
        self.engine = engine or quick_engine()
        self.output = Output()
        lines = (source or ended_input()).lines
        self.front_end = nboard.NBoardServer(self.engine, lines, self.output.write)

    def ask(self, line):
        self.front_end.answer(line)
        return self.output.take().splitlines()

    def asks(self, *lines):
        return [self.ask(line) for line in lines]

    @property
    def board(self):
        return self.engine.board
