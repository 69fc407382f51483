"""NBoard's protocol, version 2, by Chris Welty; its description comes with his program NTest.

Evaluations are scores in discs for the side to move, exact where a position is solved. A search for
a move (`go`) has none elsewhere. A depth is a number of simulations: 400 at depth 10, doubled every
two plies. `analyze` searches every position separately.

The protocol has no errors. Unknown lines are ignored, as it demands. An error in a command's line
becomes a `status`, which NBoard shows, and leaves the game unchanged. Only `set game` never leaves
the old game: after one that cannot be read there is no game, and commands that need one say why,
until the next `set game`. Times in an unknown notation count as 0. A search ends at `ping`, at
`quit`, and when the input ends while it runs.
"""

import dataclasses
import math
import re
from collections.abc import Callable

from azo.engine import clock, search_report
from azo.engine.engine_settings import Limits
from azo.engine.live_engine import Engine
from azo.engine.search_report import MoveReport, SearchReport
from azo.formats import game_files, ggf
from azo.games import notation
from azo.protocols.line_reader import LineReader

_SIMULATIONS_AT_DEPTH_0 = 12.5
_PLIES_TO_DOUBLE = 2
_USUAL_DEPTH = 10
_MAX_DEPTH = 30  # 400,000 simulations; larger depths count as this one
_MAX_STATUS = 200
_NEED_A_GAME = ("move", "hint", "go", "analyze", "learn")
_MAX_SECONDS = 1e9
_CLOCK = re.compile(r"(?:(?:(\d{1,9}):)?(\d{1,9}):)?(\d{1,9})", re.ASCII)


class NBoardServer:
    """An engine behind the protocol."""

    def __init__(self, engine: Engine, lines: LineReader, write: Callable[[str], object]):
        """Prepares to `run`; the engine's present game is continued until `set game`."""
        self._engine, self._lines, self._write_text = engine, lines, write
        self._depth: int | None = None
        self._fault = ""  # why there is no game
        self._choice: tuple[notation.Board, int] | None = None  # the last answer to `go`
        self._own: notation.Board | None = None  # the position after it, once it is played
        self._clock = clock.GameClock()
        self._is_ending: Callable[[], bool] = lambda: False  # since the present command
        self._commands: dict[str, Callable[[str], None]] = {
            "nboard": self._begin,
            "set": self._set,
            "move": self._move,
            "hint": self._hint,
            "go": self._go,
            "ping": lambda text: self._write(f"pong {_integer(text, 'ping')}"),
            "learn": lambda _: self._write("learned"),
            "analyze": self._analyse,
        }

    def run(self) -> None:
        """Answers lines until `quit` or the end of the input."""
        for line in self._lines:
            if line.split()[:1] == ["quit"]:
                return
            self.answer(line)
            if self._engine.play_config.ponder and self._engine.board == self._own:
                self._engine.ponder(self._lines.is_waiting)

    def answer(self, line: str) -> None:
        """Answers one line."""
        name, rest = [*line.strip().split(maxsplit=1), "", ""][:2]
        if name not in self._commands:
            return
        self._is_ending = self._lines.watch_for_end(lambda _: False)
        try:
            if self._fault and name in _NEED_A_GAME:
                raise ValueError(self._fault)
            self._commands[name](rest)
        except ValueError as error:
            self._write(f"status error: {' '.join(str(error).split())[:_MAX_STATUS]}")

    def _begin(self, version: str) -> None:
        if _integer(version, "nboard") < 2:
            raise ValueError(f"nboard {version}: azo needs version 2")
        self._write("set myname azo")

    def _set(self, rest: str) -> None:
        name, value = [*rest.split(maxsplit=1), "", ""][:2]
        if name == "depth":
            depth = _integer(value, "set depth")
            if depth < 1:
                raise ValueError(f"set depth {depth}: the least depth is 1")
            self._depth = min(depth, _MAX_DEPTH)
            self._write(f"set myname azo{depth}")
        elif name == "game":
            self._set_game(value)

    def _set_game(self, text: str) -> None:
        try:
            game = ggf.parse(text)
            actions = game_files.played(self._engine.game, game).actions.tolist()
            self._engine.new_game(game.board, actions)
        except ValueError as error:
            self._fault = f"no game: the last 'set game' cannot be read: {error}"
            self._engine.new_game()
            self._choice = self._own = None
            self._clock = clock.GameClock()
            raise
        self._fault = ""
        moves = [pair for pair in next(ggf.properties(text)) if pair[0] in ("B", "W")]
        times = [(colour == "B", _seconds(move)) for colour, move in moves]
        self._clock = _clock_of(game.time)
        for is_black, seconds in times:
            self._clock.use(is_black, seconds)

    def _move(self, text: str) -> None:
        seconds = _seconds(text)
        action = notation.parse_action(text.partition("/")[0], self._engine.game.size)
        board = self._engine.board
        is_black = board.is_black_to_move
        self._engine.play(action)
        if self._choice == (board, action):
            self._own = self._engine.board
        self._clock.use(is_black, seconds)

    def _hint(self, text: str) -> None:
        num_moves = _integer(text, "hint")
        if num_moves < 1:
            raise ValueError("hint 0: the least number of moves is 1")
        self._check_not_over("hint")
        self._write("status azo is analyzing")
        game, book = self._engine.game, self._engine.book
        rated = [*(book.lookup(self._engine.board) if book else {}).items()][:num_moves]
        for action, entry in rated:
            discs = search_report.likely_utility(entry.value, game.size)
            text = f"{ggf.move_text(action, game.size)} {discs:.2f}"
            self._write(f"book {text} 0 {_depth_of(entry.num_visits)}")
        num_left, done = num_moves - len(rated), {action for action, _ in rated}

        def show(report: SearchReport) -> None:
            depth = _depth_of(report.num_simulations)
            moves = [move for move in report.moves if move.action not in done][:num_left]
            if moves and moves[0].value is None and not rated:  # stopped early: write one line
                moves[0] = dataclasses.replace(moves[0], value=report.value, discs=report.discs)
            for move in moves:
                if move.value is not None:
                    self._write(self._search_line(move, depth))
            self._write_stats(report)

        if num_left:
            show(self._think(Limits(self._num_simulations(), is_analysis=True), show))
        self._write("status azo is waiting")

    def _go(self, rest: str) -> None:
        self._check_not_over("go")
        engine = self._engine
        is_black = engine.board.is_black_to_move
        limits = self._clock.limits(is_black, engine.num_empties, engine.play_config)
        limits = dataclasses.replace(limits, num_simulations=self._num_simulations())
        self._write("status azo is thinking")
        report = self._think(limits, self._write_stats)
        self._write_stats(report)
        self._choice = engine.board, report.action
        is_known = report.source != "forced" and report.discs is not None
        value = f"{self._discs(report):.2f}" if is_known else ""
        move = ggf.move_text(report.action, engine.game.size)
        self._write(f"=== {move}/{value}/{report.seconds:.2f}")
        self._write("status azo is waiting")

    def _analyse(self, rest: str) -> None:
        engine = self._engine
        start, actions = engine.start, engine.actions
        self._write("status azo is analyzing")
        try:
            for num_moves in range(len(actions), -1, -1):
                engine.new_game(start, actions[:num_moves])
                self._write(f"analysis {num_moves} {self._position_value():.2f}")
                if self._is_stopped():
                    break
        finally:
            engine.new_game(start, actions)
        self._write("status azo is waiting")

    def _position_value(self) -> float:
        engine = self._engine
        if engine.is_over:
            black = engine.utility(engine.final_score())
            return float(black if engine.board.is_black_to_move else -black)
        return self._discs(self._think(Limits(self._num_simulations(), is_analysis=True)))

    def _think(
        self, limits: Limits, on_progress: Callable[[SearchReport], None] | None = None
    ) -> SearchReport:
        return self._engine.think(limits, is_stopped=self._is_stopped, on_progress=on_progress)

    def _is_stopped(self) -> bool:
        is_told = self._lines.has(lambda line: line.split()[:1] in (["ping"], ["quit"]))
        return is_told or self._is_ending()

    def _num_simulations(self) -> int:
        if self._depth is not None:
            return _simulations_of(self._depth)
        return self._engine.play_config.num_simulations or _simulations_of(_USUAL_DEPTH)

    def _check_not_over(self, command: str) -> None:
        if self._engine.is_over:
            raise ValueError(f"{command}: the game is over")

    def _discs(self, report: SearchReport | MoveReport) -> float:
        """Returns the evaluation of a position or of a move, in discs for the side to move."""
        assert report.discs is not None
        return -report.discs if self._engine.game.is_reversed else report.discs

    def _search_line(self, move: MoveReport, depth: int) -> str:
        size = self._engine.game.size
        line = "".join(ggf.move_text(action, size) for action in move.line)
        depth_text = depth if move.score is None else "100%"
        more = f"visits {move.visits} prior {move.prior:.3f}"
        return f"search {line} {self._discs(move):.2f} 0 {depth_text} {more}"

    def _write_stats(self, report: SearchReport) -> None:
        self._write(f"nodestats {report.num_simulations} {report.seconds:.2f}")

    def _write(self, line: str) -> None:
        self._write_text(line + "\n")


def _clock_of(text: str) -> clock.GameClock:
    """Returns the clock of a GGF game: 15:00, or 5:00/0:10 with an increment for each move."""
    main, _, rest = text.partition("/")
    increment = _clock_seconds(rest.partition("/")[0])
    return clock.GameClock(_clock_seconds(main), increment=increment)


def _clock_seconds(text: str) -> float:
    """Returns the seconds of `hours:minutes:seconds` or a shorter form; 0 for any other text."""
    match = _CLOCK.fullmatch(text.strip())
    hours, minutes, seconds = match.groups(default="0") if match else ("0", "0", "0")
    return 3600.0 * int(hours) + 60 * int(minutes) + int(seconds)


def _simulations_of(depth: int) -> int:
    return math.ceil(_SIMULATIONS_AT_DEPTH_0 * 2 ** (depth / _PLIES_TO_DOUBLE))


def _depth_of(num_simulations: int) -> int:
    doublings = math.log2(max(num_simulations, 1) / _SIMULATIONS_AT_DEPTH_0)
    return max(math.floor(_PLIES_TO_DOUBLE * doublings), 1)


def _integer(text: str, command: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ValueError(f"{command} {text!r}: expected a number")
    return int(text)


def _seconds(move: str) -> float:
    """Returns the time in `move/evaluation/seconds`, 0 if there is none or it cannot be read.

    A time is no reason to refuse a move, whose loss would leave another position.
    """
    text = [*move.split("/"), "", ""][2].strip().replace(",", ".")
    try:
        seconds = float(text)
    except ValueError:
        return _clock_seconds(text)
    return seconds if 0 <= seconds <= _MAX_SECONDS else 0.0
