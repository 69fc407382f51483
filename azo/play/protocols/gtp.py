"""The Go Text Protocol, version 2 (https://www.lysator.liu.se/~gunnar/gtp), with Othello's board.

Squares are as in the rest of azo, a1 in the upper left; `pass` is a move. As in gtp-rhino and
Quarry, passes may be left out: if the side to move can only pass, a command for the other colour
plays the pass first. `undo` takes back both.

A search ends when `quit` or the end of the input arrives while it runs.

Further commands: `set_game` and `list_games` (Quarry), `level`, and four in the formats of Leela
Zero and KataGo (https://github.com/lightvector/KataGo/blob/master/docs/GTP_Extensions.md):
`lz-analyze` and `kata-analyze` run until the next line of input, `lz-genmove_analyze` and
`kata-genmove_analyze` as long as `genmove`.
"""

import functools
import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from azo.games import notation
from azo.play.engine import clock
from azo.play.engine.engine_settings import Limits
from azo.play.engine.live_engine import Engine
from azo.play.engine.search_report import MoveReport, SearchReport
from azo.play.protocols.line_reader import LineReader
from azo.storage import files
from azo.training import shipped_files

_COLOURS = {"b": True, "black": True, "w": False, "white": False}
_GAMES = ("othello", "reversi")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MAX_MESSAGE = 200
_UNTIMED_SECONDS = 10.0  # a move, without a limit in the settings or on the clock
_INTERVAL_CENTISECONDS = 100
_ANALYSIS = "[COLOUR] [CENTISECONDS] [KEY VALUE ...]"
# Keys of KataGo for what azo does not have; `minmoves` asks for moves without a value.
_IGNORED = (
    *("minmoves", "ownership", "ownershipstdev", "movesownership", "movesownershipstdev"),
    *("pvvisits", "pvedgevisits", "details", "rootinfo", "noresultvalue"),
)
_LCB_DEVIATIONS = 1.96  # standard deviations below the mean: the lower end of a 95 % interval


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
        self._number = ""  # of the present command
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
            "lz-analyze": (functools.partial(self._analyse, self._lz_values), _ANALYSIS),
            "kata-analyze": (functools.partial(self._analyse, self._kata_values), _ANALYSIS),
            "lz-genmove_analyze": (functools.partial(self._move, self._lz_values), _ANALYSIS),
            "kata-genmove_analyze": (functools.partial(self._move, self._kata_values), _ANALYSIS),
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
        self._number = number
        if not (number or words):
            return ""
        name, *arguments = words or [""]
        self._is_ending = self._lines.watch_for_end(lambda later: _parse(later)[1][:1] == ["quit"])
        try:
            self._run_command(name, arguments)
        except ValueError as error:
            self._write(f"?{number} {str(error)[:_MAX_MESSAGE]}\n\n")
            return ""
        return name

    def _run_command(self, name: str, arguments: list[str]) -> None:
        if name not in self._commands:
            raise ValueError("unknown command")
        run, usage = self._commands[name]
        names, is_analysis = usage.split(), usage == _ANALYSIS
        if len(arguments) != len(names) and not is_analysis:
            raise ValueError(f"syntax error: expected '{' '.join([name, *names])}'")
        result = run(*arguments) or ""
        if not is_analysis:  # which has written its answer
            space = " " if result and not result.startswith("\n") else ""
            self._write(f"={self._number}{space}{result}\n\n")

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
        is_black, action = _is_black(colour), self._action(move)
        engine = self._engine
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

    def _generate_move(
        self, colour: str, *, is_played: bool = True, head: str = "", **watch: Any
    ) -> str:
        """Returns a move; writes `head` before the search, whose reports `watch` takes."""
        is_black, engine = _is_black(colour), self._engine
        num_passes = 0 if engine.is_over else self._give_turn(is_black, "no move")
        self._write(head)
        if engine.is_over:
            if is_played:
                self._steps.append(0)
            return notation.PASS_TEXT
        limits = self._clock.limits(is_black, engine.num_empties, engine.play_config)
        if limits.seconds is None and limits.num_simulations is None:
            limits = Limits(seconds=_UNTIMED_SECONDS)
        start = time.monotonic()
        report = engine.think(limits, is_stopped=self._is_ending, **watch)
        if watch:
            watch["on_progress"](report)
        if is_played:
            self._clock.use(is_black, time.monotonic() - start)
            engine.play(report.action)
            self._own = engine.board
            self._steps.append(num_passes + 1)
        else:
            self._take_back(num_passes)
        return self._move_text(report.action)

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
        self._engine.level = _integer(level)

    def _set_game(self, name: str) -> None:
        if name.lower() not in _GAMES:
            raise ValueError(f"unsupported game: azo plays Othello, not {name}")

    def _analyse(self, values: Callable[[MoveReport], str], *arguments: str) -> None:
        """Writes reports of the moves with a value until there is input.

        `values` returns the numbers of a move in the format of an engine.
        """
        is_black, watch = self._watch(values, arguments)
        if self._engine.is_over:
            raise ValueError("nothing to analyze: the game is over")
        num_passes = self._give_turn(is_black, "nothing to analyze")
        self._write(f"={self._number}\n")
        limits, is_stopped = Limits(is_analysis=True), self._lines.is_waiting
        watch["on_progress"](self._engine.think(limits, is_stopped=is_stopped, **watch))
        self._lines.wait()
        self._write("\n")
        self._take_back(num_passes)

    def _move(self, values: Callable[[MoveReport], str], *arguments: str) -> None:
        """Plays a move as `genmove`, and writes reports of its search as `_analyse`."""
        is_black, watch = self._watch(values, arguments)
        colour = "black" if is_black else "white"
        move = self._generate_move(colour, head=f"={self._number}\n", **watch)
        self._write(f"play {move}\n\n")

    def _watch(
        self, values: Callable[[MoveReport], str], arguments: Sequence[str]
    ) -> tuple[bool, dict[str, Any]]:
        """Returns whether black is to move, and options of a search that writes its reports."""
        flags = _analysis_flags(arguments)
        is_black = bool(flags.get("colour", self._engine.board.is_black_to_move))
        write = functools.partial(self._write_report, values, flags.get("maxmoves"))
        seconds = max(flags.get("interval", _INTERVAL_CENTISECONDS), 1) / 100
        return is_black, {"on_progress": write, "progress_seconds": seconds}

    def _write_report(
        self, values: Callable[[MoveReport], str], most: int | None, report: SearchReport
    ) -> None:
        rated = [move for move in report.moves if move.value is not None]
        infos = [
            f"info move {self._move_text(move.action)} visits {move.visits} {values(move)}"
            f" order {order} pv {' '.join(map(self._move_text, move.line))}"
            for order, move in enumerate(rated[:most])
        ]
        if infos:
            self._write(" ".join(infos) + "\n")

    def _lz_values(self, move: MoveReport) -> str:
        """Returns the numbers of Leela Zero: 10,000 is 1."""
        rate, lower = _rates(move)
        return f"winrate {1e4 * rate:.0f} prior {1e4 * move.prior:.0f} lcb {1e4 * lower:.0f}"

    def _kata_values(self, move: MoveReport) -> str:
        """Returns numbers of KataGo; a lead is positive for the side that is ahead.

        Only analyses know it.
        """
        rate, lower = _rates(move)
        score = ""
        if move.discs is not None:  # from an analysis
            lead = self._engine.utility(1) * move.discs
            score = f"scoreMean {lead:.2f} scoreLead {lead:.2f} "
        return f"winrate {rate:.6f} {score}prior {move.prior:.6f} lcb {lower:.6f}"

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

    def _action(self, move: str) -> int:
        with files.located("syntax error"):
            return notation.parse_action(move, self._engine.game.size)

    def _move_text(self, action: int) -> str:
        text = notation.action_text(action, self._engine.game.size)
        return text if text == notation.PASS_TEXT else text.upper()


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


def _analysis_flags(words: Sequence[str]) -> dict[str, int]:
    """Returns `colour`, `interval` and `maxmoves`; they come in any order, as in Leela Zero."""
    flags: dict[str, int] = {}
    rest = iter(words)
    for word in rest:
        name = word.lower()
        if name in _COLOURS:
            flags["colour"] = _COLOURS[name]
        elif name in ("interval", "maxmoves"):
            flags[name] = _integer(next(rest, ""))
        elif name in _IGNORED:
            next(rest, "")
        elif word[0].isdigit():
            flags["interval"] = _integer(word)
        else:
            raise ValueError(f"syntax error: {word!r} is not supported, expected '{_ANALYSIS}'")
    return flags


def _rates(move: MoveReport) -> tuple[float, float]:
    """Returns the winning rate of a move with a value, and the lower end of its 95 % interval.

    The interval assumes the largest variance that results from 0 to 1 of this mean can have.
    """
    assert move.value is not None
    rate = (move.value + 1) / 2
    if move.is_proven:
        return rate, rate
    deviation = math.sqrt(rate * (1 - rate) / max(move.visits, 1))
    return rate, max(rate - _LCB_DEVIATIONS * deviation, 0.0)


def _integer(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ValueError(f"syntax error: {text!r} is not a number")
    return int(text)
