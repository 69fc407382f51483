"""A game against the engine in a terminal or through a pipe: one command or move per line.

An error prints one line, and the game continues. During a search Ctrl-C makes the engine move at
once; at the prompt it asks whether to leave the game. An unfinished game is on disk after every
move, and is offered at the next start.
"""

import difflib
import functools
import inspect
import os
import pathlib
import textwrap
from collections.abc import Callable, Sequence

import rich.console

from azo.coach import deck, formatting, game_analysis
from azo.engine import engine_settings, live_engine
from azo.engine.search_report import SearchReport
from azo.formats import game_files, ggf
from azo.games import notation, plurals
from azo.process import interruption
from azo.storage import files
from azo.terminal import analysis_text, board_drawing, interruptible, practice, saved_game

Sides = saved_game.Sides
Reader = Callable[[str], str | None]  # shows a prompt; returns a line, None at the end

_SWAPPED: dict[Sides, Sides] = {"black": "white", "white": "black", "both": "none", "none": "both"}
_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
_HINTS = 6
_HELP = f"""\
f5            play a move: column and row; a pass is played automatically
undo          take back your last move, and azo's answer to it
hint          show the best moves: chance of winning, visits, expected continuation
solve         find the exact score of the position, with any number of empty squares
analyse       show the discs that each side has lost so far, and the largest losses
keep          save the analysed mistakes for practice: yours, or those of both sides
practise      find the best moves in saved positions; practise FILE first adds those of a deck
swap          change sides with azo
play SIDE     choose your side: black, white, both or none
level N       set the level: {engine_settings.LEVELS}
new           start a new game
save FILE     save the moves; a .ggf file also has the start position and the names
load FILE N   load the game, or game N, of a file in any format; or moves: load f5d6c3
board         show the board again
help          show this list
quit          quit, as Ctrl-D does; an unfinished game is offered at the next start
Ctrl-C        while azo thinks: make it move at once; at the prompt: quit, after a question"""


class Terminal:
    """One person, one engine, one game after another."""

    def __init__(
        self,
        engine: live_engine.Engine,
        console: rich.console.Console,
        read: Reader,
        *,
        sides: Sides = "black",
        kept: saved_game.SavedGame | None = None,
        positions: deck.Deck,
    ):
        """Prepares a session, which continues the engine's present game.

        `sides` are the person's. An unfinished game is read from `kept`, and written to it.
        `positions` are those to practise.
        """
        self._engine, self._console, self._read, self._sides = engine, console, read, sides
        self._last_report: SearchReport | None = None  # of the engine's last move
        self._saved: pathlib.Path | None = None  # the file of this game, which may be overwritten
        self._kept = kept
        self._practice = practice.Practice(positions, engine, console, read)
        self._analysis: game_analysis.GameAnalysis | None = None  # the last one
        self._waiting = functools.partial(interruptible.waiting, console, engine.game.size)
        self._is_paused = False  # the engine is to move, but waits
        self._has_quit = False
        self._commands: dict[str, Callable[..., None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "solve": self._solve,
            "analyse": self._analyse,
            "keep": self._keep_mistakes,
            "practise": self._practise,
            "swap": lambda: self._play(_SWAPPED[self._sides]),
            "play": self._play,
            "level": self._set_level,
            "new": self._new,
            "save": self._save,
            "load": self._load,
            "board": self._show,
            "help": self._help,
            "quit": self._quit,
        }

    def run(self) -> None:
        """Plays until the person quits."""
        self._offer()
        if not self._has_quit:
            self._show()
        while not self._has_quit:
            try:
                self._keep()
                if not (self._engine.is_over or self._is_persons_turn() or self._is_paused):
                    self._engine_moves()
                elif (line := self._read(self._prompt())) is not None:
                    self._run_command(line.split())
                else:
                    self._console.print()
                    self._has_quit = True
            except ValueError as error:
                self._say(str(error))
                self._is_paused = not self._is_persons_turn()
            except KeyboardInterrupt:
                interruption.acknowledge()
                self._console.print()
                question = "leave this game?"
                self._has_quit = self._unfinished() is None or self._agrees(question) is not False
        self._keep()
        if self._kept is not None and self._unfinished() is not None:
            self._say("the game is saved: 'azo play' offers it at the next start")

    def _offer(self) -> None:
        """Continues the game of an earlier session, if there is one and the person agrees."""
        if self._kept is None:
            return
        try:
            record = self._kept.read()
            if record is None:
                return
            names = f"{record.black} (black) against {record.white} (white)"
            self._say(f"an unfinished game: {names}, {_plies(record.moves)}")
            agrees = self._agrees("continue it?")
            self._has_quit = agrees is None
            if not agrees:
                return
            self._engine.new_game(record.board, record.moves)
            self._sides, level = saved_game.players(record)
            if level:
                self._set_level(level)
        except files.Unreadable as error:
            self._kept = None  # the next game would replace it
            self._say(f"{error}; this game is not saved")
        except ValueError as error:
            self._say(f"{error}; the unfinished game is damaged: moved to {self._kept.set_aside()}")

    def _agrees(self, question: str) -> bool | None:
        """Returns the answer to a question; None at the end of the input and after Ctrl-C."""
        while True:
            try:
                line = self._read(f"{question} (y/n)> ")
            except KeyboardInterrupt:
                line = None
            if line is None:
                self._console.print()
                return None
            if (word := line.strip().lower()) in _ANSWERS:
                return _ANSWERS[word]

    def _unfinished(self) -> ggf.GgfGame | None:
        """Returns the game if it has begun and is not over."""
        engine = self._engine
        return None if engine.is_over or not engine.actions else self._record()

    def _keep(self) -> None:
        """Keeps the game on disk; says so and stops if it cannot be written."""
        try:
            if self._kept is not None:
                self._kept.write(self._unfinished())
        except ValueError as error:
            self._kept = None
            self._say(f"{error}: the game is not saved")

    def _is_persons_turn(self) -> bool:
        mover = formatting.colour(self._engine.board)
        return self._sides in (mover, "both")

    def _prompt(self) -> str:
        if self._engine.is_over:
            return "game over (new, undo, save, quit)> "
        if not self._is_persons_turn():
            return "paused, press Enter to continue> "
        return "black> " if self._engine.board.is_black_to_move else "white> "

    def _run_command(self, words: list[str]) -> None:
        if not words:
            self._is_paused = False
            return
        name, *arguments = words
        command = self._commands.get(name.lower())
        if command is None:
            self._move(name, arguments)
            return
        try:
            inspect.signature(command).bind(*arguments)
        except TypeError:
            usage = next(line for line in _HELP.splitlines() if line.startswith(name.lower()))
            raise ValueError(f"usage: {usage.partition('  ')[0].strip()}") from None
        command(*arguments)

    def _move(self, text: str, rest: list[str]) -> None:
        size = self._engine.game.size
        try:
            action = notation.parse_action(text, size)
        except ValueError as error:
            if len(text) == 2 and text[1].isdigit():
                raise
            near = difflib.get_close_matches(text.lower(), self._commands, n=1)
            ending = f"did you mean {near[0]!r}?" if near else "enter a move such as f5, or 'help'"
            raise ValueError(f"unknown command {text!r}: {ending}") from error
        if rest:
            raise ValueError(f"{rest[0]!r} follows the move {text!r}: enter one move per line")
        if not self._engine.is_over and not self._is_persons_turn():
            raise ValueError(
                "it is azo's turn: press Enter, or use 'swap' or 'play both' to move yourself"
            )
        self._engine.play(action)
        self._is_paused = False
        self._after_a_move()

    def _after_a_move(self) -> None:
        engine = self._engine
        passing = engine.game.pass_action
        while engine.legal_actions == (passing,):
            mover = formatting.colour(engine.board)
            engine.play(passing)
            self._say(f"{mover} has no move and passes")
        self._show()

    def _engine_moves(self) -> None:
        size = self._engine.game.size
        mover = formatting.colour(self._engine.board)
        with self._waiting("azo thinks") as (is_stopped, show):
            report = self._engine.think(is_stopped=is_stopped, on_progress=show)
            was_stopped = is_stopped()
        self._engine.play(report.action)
        self._last_report = report
        self._is_paused = was_stopped and self._sides == "none"
        self._say(f"azo ({mover}) plays {notation.action_text(report.action, size)}")
        self._after_a_move()

    def _show(self) -> None:
        engine = self._engine
        legal = engine.legal_actions if self._is_persons_turn() else ()
        last = engine.actions[-1] if engine.actions else None
        signs = board_drawing.symbols(self._console)
        lines = board_drawing.board(engine.board, engine.game.size, legal, last, signs)
        notes = ["", *self._notes(signs)]
        self._console.print()
        self._console.print(board_drawing.beside(lines, notes, signs, self._console.width), end="")

    def _notes(self, signs: board_drawing.Symbols) -> list[str]:
        engine = self._engine
        size, board = engine.game.size, engine.board
        black, white = saved_game.names(self._sides, self._engine.level)
        notes = [
            f"{signs.black} black {board.black.bit_count():2}  {black}",
            f"{signs.white} white {board.white.bit_count():2}  {white}",
            "",
        ]
        if engine.is_over:
            score, num_empties = engine.final_score(), engine.num_empties
            outcome = formatting.outcome(score, engine.game, num_empties=num_empties)
            notes += [self._own_result(score) or "the game is over:", outcome]
        else:
            mover = formatting.colour(board)
            fewer = ", fewer discs win" if engine.game.is_reversed else ""
            notes.append(f"ply {len(engine.actions) + 1}: {mover} to move{fewer}")
        if engine.actions:
            notes.append(f"last move: {notation.action_text(engine.actions[-1], size)}")
        report = self._last_report
        if report is not None and report.board in engine.boards[-3:] and not engine.is_over:
            reasons = formatting.reason(report, "azo", engine.game)
            # The line that azo expects begins with the best reply.
            notes += reasons if self._sides == "none" else reasons[:1]
        legend = f"{signs.black} black  {signs.white} white  {signs.legal} legal  [ ] last move"
        return [*notes, "", legend] if len(notes) < 7 else [*notes, legend]

    def _own_result(self, score: int) -> str:
        """Returns what black's final score is for the person; "" with both sides or none."""
        if self._sides not in ("black", "white"):
            return ""
        own = self._engine.utility(score if self._sides == "black" else -score)
        if own == 0:
            return "the game is over:"
        return f"you {'win' if own > 0 else 'lose'} by {abs(own)}:"

    def _record(self) -> ggf.GgfGame:
        engine, rules = self._engine, self._engine.game
        black, white = saved_game.names(self._sides, self._engine.level)
        return ggf.GgfGame(
            rules.size, engine.start, engine.actions, black, white, is_reversed=rules.is_reversed
        )

    def _undo(self) -> None:
        engine = self._engine
        engine.undo()
        # Go back to a position where the person is to move and has a choice.
        while engine.actions and not (
            self._is_persons_turn() and engine.legal_actions != (engine.game.pass_action,)
        ):
            if self._sides == "none":
                break
            engine.undo()
        self._is_paused = not self._is_persons_turn()
        self._show()

    def _hint(self) -> None:
        with self._waiting("looking") as (is_stopped, show):
            limits = self._engine.config.limits(is_analysis=True)
            report = self._engine.think(limits, is_stopped=is_stopped, on_progress=show)
        self._show_moves(report)
        if report.score is not None:
            self._say_outlook(report)

    def _solve(self) -> None:
        with self._waiting("solving", ending="stop") as (is_stopped, show):
            report = self._engine.solve(is_stopped=is_stopped, on_progress=show)
        if report.score is not None:
            self._show_moves(report)
        else:
            self._say("stopped; the score is an estimate, not proven")
        self._say_outlook(report)

    def _show_moves(self, report: SearchReport) -> None:
        is_ascii = self._console.options.ascii_only
        game = self._engine.game
        table = formatting.move_table(report, game, is_ascii=is_ascii, max_moves=_HINTS)
        self._console.print(table)

    def _say_outlook(self, report: SearchReport) -> None:
        mover = formatting.colour(report.board)
        self._say(formatting.outlook(report, mover, self._engine.game))

    def _analyse(self) -> None:
        if not self._engine.actions:
            raise ValueError("no move was played yet")
        with self._waiting("analysing") as (is_stopped, _):
            self._analysis = game_analysis.analyse(self._engine, is_stopped=is_stopped)
        if (number := len(self._analysis.positions)) <= len(self._engine.actions):
            self._say(f"stopped after ply {number}")
        for line in analysis_text.summary(self._analysis):
            self._say(line)

    def _keep_mistakes(self) -> None:
        if self._analysis is None:
            raise ValueError("no game is analysed: enter 'analyse' first")
        self._practice.keep(self._analysis, self._sides)

    def _practise(self, name: str = "") -> None:
        if name:
            self._practice.load(pathlib.Path(os.path.expanduser(name)))
        self._practice.run()
        self._show()

    def _play(self, sides: str) -> None:
        if sides not in _SWAPPED:
            raise ValueError(f"play {sides!r}: choose black, white, both or none")
        self._sides = sides  # type: ignore[assignment]
        self._is_paused = False
        self._show()

    def _set_level(self, text: str = "") -> None:
        engine, levels = self._engine, engine_settings.LEVELS
        if not text:
            self._say(f"azo plays at level {engine.level}; {levels}")
            return
        engine.level = engine_settings.parse_level(text)
        self._say(f"azo plays at level {engine_settings.level_name(engine.level)}")

    def _new(self) -> None:
        self._engine.new_game()
        self._saved, self._is_paused = None, False
        self._show()

    def _save(self, name: str) -> None:
        path, engine = pathlib.Path(os.path.expanduser(name)), self._engine
        is_ggf = path.suffix.lower() == game_files.GGF_SUFFIX
        text = game_files.to_text(self._record(), engine.game, is_ggf=is_ggf)
        if os.path.exists(path) and path != self._saved:
            raise ValueError(f"{path}: exists already, choose another name")
        files.write(path, f"{text}\n".encode())
        self._saved = path
        self._say(f"saved {_plies(engine.actions)} to {path}")

    def _load(self, name: str, *rest: str) -> None:
        record = self._loaded([name, *rest])
        self._engine.new_game(record.board, record.moves)
        if record.note:
            self._say(files.one_line(record.note))
        self._saved, self._is_paused = None, True
        self._after_a_move()

    def _loaded(self, words: Sequence[str]) -> ggf.GgfGame:
        """Returns the game of a file and a number, or of moves or a board as text."""
        rules = self._engine.game
        name, number = [*words, ""][:2]
        path = pathlib.Path(os.path.expanduser(name))
        if len(words) <= 2 and os.path.exists(path):
            if number and not number.isdecimal():
                raise ValueError(f"load: {number!r} is not a game number")
            return game_files.read(path, rules, number=int(number) if number else None)
        try:
            return game_files.parse(" ".join(words), rules)
        except ValueError as error:
            raise ValueError(f"{name}: there is no such file, and as text: {error}") from None

    def _quit(self) -> None:
        self._has_quit = True

    def _help(self) -> None:
        for line in _HELP.splitlines():
            indent = " " * _HELP.index("play a move")
            self._say(textwrap.fill(line, self._console.width, subsequent_indent=indent))

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)


def _plies(moves: Sequence[int]) -> str:
    return plurals.counted(len(moves), "ply", "plies")
