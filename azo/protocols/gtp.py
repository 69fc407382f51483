"""The Go Text Protocol, version 2 (https://www.lysator.liu.se/~gunnar/gtp), with Othello's board.

Squares are as in the rest of azo, a1 in the upper left; `pass` is a move. As in gtp-rhino and
Quarry, passes may be left out: if the side to move can only pass, a command for the other colour
plays the pass first. `undo` takes back both.

A search ends when `quit` or the end of the input arrives while it runs.

Further commands: `set_game` and `list_games` (Quarry), and `level`. `json_server` has analyses.
"""

import functools
import re
import time
from collections.abc import Callable

from azo.engine import clock, engine_settings
from azo.engine.engine_settings import Limits
from azo.engine.live_engine import Engine
from azo.games import notation
from azo.protocols.line_reader import LineReader
from azo.settings import shipped_files
from azo.storage import files

_COLOURS = {"b": True, "black": True, "w": False, "white": False}
_GAMES = ("othello", "reversi")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MAX_MESSAGE = 200
_UNTIMED_SECONDS = 10.0  # a move, without a limit in the settings or on the clock


class GtpServer:
    """An engine behind the protocol."""

    def __init__(
        self,
        engine: Engine,
        lines: LineReader,
        write: Callable[[str], object],
        load: Callable[[int], Engine],
    ):
        """Prepares to `run`, from the engine's present game.

        `load` returns an engine for a board size, or raises ValueError.
        """
        self._engine, self._lines, self._write, self._load = engine, lines, write, load
        self._time_settings = (0, 0, 0)
        self._clock = clock.GameClock()
        self._komi = 0.0
        self._own: notation.Board | None = None  # the position after the engine's last move
        self._is_ending: Callable[[], bool] = lambda: False  # since the present command
        # Plies of each command: 2 with a pass before the move, 0 for a pass after the end.
        self._steps: list[int] = []
        # The function of each command, which returns its answer, and its arguments.
        self._commands: dict[str, tuple[Callable[..., str | None], str]] = {
            "protocol_version": (lambda: "2", ""),
            "name": (lambda: "azo", ""),
            "version": (shipped_files.version, ""),
            "known_command": (lambda name: str(name in self._commands).lower(), "COMMAND"),
            "list_commands": (lambda: "\n".join(sorted(self._commands)), ""),
            "quit": (lambda: None, ""),
            "boardsize": (self._set_board_size, "ROWS"),
            "clear_board": (self._clear_board, ""),
            "komi": (self._set_komi, "DISCS"),
            "play": (self._play, "COLOUR MOVE"),
            "genmove": (self._generate_move, "COLOUR"),
            "reg_genmove": (functools.partial(self._generate_move, is_played=False), "COLOUR"),
            "undo": (self._undo, ""),
            "showboard": (self._show_board, ""),
            "final_score": (self._final_score, ""),
            "time_settings": (self._set_time, "MAIN_SECONDS PERIOD_SECONDS PERIOD_MOVES"),
            "time_left": (self._set_time_left, "COLOUR SECONDS MOVES"),
            "level": (self._set_level, "LEVEL"),
            "set_game": (self._set_game, "GAME"),
            "list_games": (lambda: "Othello", ""),
        }

    def run(self) -> None:
        """Answers commands until `quit` or the end of the input."""
        for line in self._lines:
            if self.answer(line) == "quit":
                return
            if self._engine.play_config.ponder and self._engine.board == self._own:
                self._engine.ponder(self._lines.is_waiting)

    def answer(self, line: str) -> str:
        """Answers one line; returns the name of the command, "" without one or after an error."""
        number, words = _parse(line)
        if not (number or words):
            return ""
        name, *arguments = words or [""]
        self._is_ending = self._lines.watch_for_end(lambda later: _parse(later)[1][:1] == ["quit"])
        try:
            if name not in self._commands:
                raise ValueError("unknown command")
            run, usage = self._commands[name]
            names = usage.split()
            if len(arguments) != len(names):
                raise ValueError(f"syntax error: expected '{' '.join([name, *names])}'")
            result = run(*arguments) or ""
        except ValueError as error:
            self._write(f"?{number} {str(error)[:_MAX_MESSAGE]}\n\n")
            return ""
        space = " " if result and not result.startswith("\n") else ""
        self._write(f"={number}{space}{result}\n\n")
        return name

    def _set_board_size(self, rows: str) -> None:
        size = _integer(rows)
        if size != self._engine.game.size:
            with files.located("unacceptable size"):
                engine = self._load(size)
            engine.level = self._engine.level
            self._engine = engine
        self._clear_board()

    def _clear_board(self) -> None:
        self._engine.new_game()
        self._clock = clock.GameClock(*self._time_settings)
        self._steps.clear()

    def _set_komi(self, discs: str) -> None:
        if not re.fullmatch(r"[+-]?\d{1,3}(\.\d{1,3})?", discs, re.ASCII):
            raise ValueError(f"syntax error: komi {discs!r} is not a number of discs")
        self._komi = float(discs)

    def _play(self, colour: str, move: str) -> None:
        is_black, engine = _is_black(colour), self._engine
        with files.located("syntax error"):
            action = notation.parse_action(move, engine.game.size)
        if engine.is_over:
            if action != engine.game.pass_action:
                raise ValueError("illegal move: the game is over")
            self._steps.append(0)
            return
        num_passes = self._give_turn(is_black, "illegal move")
        try:
            engine.play(action)
        except ValueError:
            self._take_back(num_passes)
            raise
        self._steps.append(num_passes + 1)

    def _generate_move(self, colour: str, *, is_played: bool = True) -> str:
        is_black, engine = _is_black(colour), self._engine
        num_passes = 0 if engine.is_over else self._give_turn(is_black, "no move")
        if engine.is_over:
            if is_played:
                self._steps.append(0)
            return notation.PASS_TEXT
        limits = self._clock.limits(is_black, engine.num_empties, engine.play_config)
        if limits.seconds is None and limits.num_simulations is None:
            limits = Limits(seconds=_UNTIMED_SECONDS)
        start = time.monotonic()
        report = engine.think(limits, is_stopped=self._is_ending)
        if is_played:
            self._clock.use(is_black, time.monotonic() - start)
            engine.play(report.action)
            self._own = engine.board
            self._steps.append(num_passes + 1)
        else:
            self._take_back(num_passes)
        text = notation.action_text(report.action, engine.game.size)
        return text if text == notation.PASS_TEXT else text.upper()

    def _undo(self) -> None:
        if not self._steps:
            raise ValueError("cannot undo")
        self._take_back(self._steps.pop())

    def _show_board(self) -> str:
        board = self._engine.board
        discs = f"black {board.black.bit_count()}, white {board.white.bit_count()}"
        diagram = notation.diagram(board, self._engine.game.size)
        if self._engine.is_over:
            diagram = diagram.rpartition("\n")[0] + "\nthe game is over"
        return f"\n{diagram}\n{discs}"

    def _final_score(self) -> str:
        if not self._engine.is_over:
            raise ValueError("cannot score: the game is not over")
        lead = self._engine.utility(self._engine.final_score()) - self._komi
        if lead == 0:
            return "0"
        return f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"

    def _set_time(self, main: str, period: str, moves: str) -> None:
        self._time_settings = _integer(main), _integer(period), _integer(moves)
        self._clock = clock.GameClock(*self._time_settings)

    def _set_time_left(self, colour: str, seconds: str, moves: str) -> None:
        self._clock.set_left(_is_black(colour), _integer(seconds), _integer(moves))

    def _set_level(self, level: str) -> None:
        self._engine.level = engine_settings.parse_level(level)

    def _set_game(self, name: str) -> None:
        if name.lower() not in _GAMES:
            raise ValueError(f"unsupported game: azo plays Othello, not {name}")

    def _give_turn(self, is_black: bool, complaint: str) -> int:
        """Plays a forced pass, if needed, so that a colour is to move; returns the plies played."""
        engine = self._engine
        if engine.board.is_black_to_move == is_black:
            return 0
        if engine.legal_actions != (engine.game.pass_action,):
            raise ValueError(f"{complaint}: {'white' if is_black else 'black'} is to move")
        engine.play(engine.game.pass_action)
        return 1

    def _take_back(self, num_plies: int) -> None:
        for _ in range(num_plies):
            self._engine.undo()


def _parse(line: str) -> tuple[str, list[str]]:
    """Returns the number of a command, "" without one, and its words."""
    text = _CONTROL.sub("", line).partition("#")[0].replace("\t", " ")
    words = [word for word in text.split(" ") if word]
    number = words.pop(0) if words and re.fullmatch("[0-9]+", words[0]) else ""
    return number, words


def _is_black(colour: str) -> bool:
    if colour.lower() not in _COLOURS:
        raise ValueError(f"syntax error: colour {colour!r} is neither black nor white")
    return _COLOURS[colour.lower()]


def _integer(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ValueError(f"syntax error: {text!r} is not a number")
    return int(text)
