"""Playing against the engine in a terminal, or through a pipe: one command or move a line.

Whatever is wrong gets one line, and the game goes on. Ctrl-C makes the engine move at once while it
thinks, and leaves at the prompt, as the end of the input does.
"""

import contextlib
import dataclasses
import difflib
import inspect
import os
import pathlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Literal

import rich.console

from azo.formats import game_files
from azo.games import notation
from azo.play import (
    analysis_text,
    board_drawing,
    engine_settings,
    formatting,
    game_analysis,
    live_engine,
)
from azo.play.search_report import SearchReport

Sides = Literal["black", "white", "both", "none"]
Reader = Callable[[str], str | None]  # shows a prompt, returns a line, None at the end

_SWAPPED: dict[Sides, Sides] = {"black": "white", "white": "black", "both": "none", "none": "both"}
_HINTS = 6
_HELP = """\
f5            play a move: column and row; a pass is played by itself
undo          take back your last move, and azo's answer to it
hint          the best moves: chance of winning, visits, expected continuation
analyse       what each side lost in this game so far, and where most
swap          change sides with azo
play SIDE     which side you play: black, white, both or none
level N       1 (beginner) to {levels} (full)
new           a new game
save FILE     the moves as a transcript, or with start position and names if FILE ends in .ggf
load FILE N   a transcript, GGF, or a game of a WTHOR file (.wtb, the Nth)
network FOLDER   play against another network
board         the board again
help          this list
quit          leave, as Ctrl-D does; while azo thinks, Ctrl-C makes it move at once"""


@dataclasses.dataclass
class _State:
    """What is not part of the game."""

    sides: Sides
    level: int
    last_thought: SearchReport | None = None  # behind the engine's last move
    saved: pathlib.Path | None = None  # may be written again
    is_paused: bool = False  # self-play that was interrupted
    is_left: bool = False


class Terminal:
    """One person, one engine, one game after another."""

    def __init__(
        self,
        engine: live_engine.Engine,
        full: engine_settings.EngineConfig,
        console: rich.console.Console,
        read: Reader,
        *,
        level: int = engine_settings.NUM_LEVELS,
        sides: Sides = "black",
        load_engine: Callable[[pathlib.Path], live_engine.Engine] | None = None,
    ):
        """Prepares a session.

        Args:
          engine: at the start of a game, or within one.
          full: the engine's settings at full strength, which hints and analyses have at all levels.
          console: to write to.
          read: asks for a line.
          level: of the engine.
          sides: what the person plays.
          load_engine: makes an engine of a network, and raises ValueError if it cannot.
        """
        self._engine, self._full, self._console, self._read = engine, full, console, read
        self._load_engine = load_engine
        self._state = _State(sides, level)
        self._commands: dict[str, Callable[..., None]] = {
            "undo": self._undo,
            "hint": self._hint,
            "analyse": self._analyse,
            "swap": self._swap,
            "play": self._play,
            "level": self._level,
            "new": self._new,
            "save": self._save,
            "load": self._load,
            "network": self._network,
            "board": self._show,
            "help": self._help,
            "quit": self._quit,
        }

    def run(self) -> None:
        """Plays until the person leaves."""
        self._show()
        while not self._state.is_left:
            try:
                if self._engine.is_over or self._is_persons_turn() or self._state.is_paused:
                    self._ask()
                else:
                    self._engine_moves()
            except ValueError as error:
                self._say(str(error))
                self._state.is_paused = not self._is_persons_turn()

    def _is_persons_turn(self) -> bool:
        mover = "black" if self._engine.board.is_black_to_move else "white"
        return self._state.sides in (mover, "both")

    def _ask(self) -> None:
        try:
            line = self._read(self._prompt())
        except KeyboardInterrupt:
            line = None
        if line is None:
            self._console.print()
            self._state.is_left = True
            return
        self._obey(line.split())

    def _prompt(self) -> str:
        if self._engine.is_over:
            return "game over (new, undo, save, quit)> "
        if not self._is_persons_turn():
            return "paused, Enter goes on> "
        return "black> " if self._engine.board.is_black_to_move else "white> "

    def _obey(self, words_given: list[str]) -> None:
        if not words_given:
            self._state.is_paused = False
            return
        name, *arguments = words_given
        command = self._commands.get(name.lower())
        if command is None:
            self._move(name, arguments)
            return
        try:
            inspect.signature(command).bind(*arguments)
        except TypeError:
            lines = self._help_text().splitlines()
            usage = next(line for line in lines if line.startswith(name.lower()))
            raise ValueError(f"not so, but: {usage.partition('  ')[0].strip()}") from None
        command(*arguments)

    def _move(self, text: str, rest: list[str]) -> None:
        size = self._engine.game.size
        try:
            action = notation.parse_action(text, size)
        except ValueError as error:
            if len(text) == 2 and text[1].isdigit():
                raise
            near = difflib.get_close_matches(text.lower(), self._commands, n=1)
            ending = f"did you mean {near[0]!r}?" if near else "a move is like f5; try 'help'"
            raise ValueError(f"unknown command {text!r}: {ending}") from error
        if rest:
            raise ValueError("one move at a time")
        if not self._engine.is_over and not self._is_persons_turn():
            raise ValueError("it is azo's turn: Enter goes on, 'swap' or 'play both' lets you move")
        self._engine.play(action)
        self._state.is_paused = False
        self._after_a_move()

    def _after_a_move(self) -> None:
        engine = self._engine
        passing = engine.game.pass_action
        while engine.legal_actions == (passing,):
            mover = "black" if engine.board.is_black_to_move else "white"
            engine.play(passing)
            self._say(f"{mover} has no move and passes")
        self._show()

    def _engine_moves(self) -> None:
        size = self._engine.game.size
        mover = "black" if self._engine.board.is_black_to_move else "white"
        with self._interruptible("azo thinks") as (is_stopped, report):
            thought = self._engine.think(is_stopped=is_stopped, on_progress=report)
            was_stopped = is_stopped()
        self._engine.play(thought.action)
        self._state.last_thought = thought
        self._state.is_paused = was_stopped and self._state.sides == "none"
        self._say(f"azo ({mover}) plays {notation.action_text(thought.action, size)}")
        self._after_a_move()

    @contextlib.contextmanager
    def _interruptible(
        self, what: str
    ) -> Iterator[tuple[Callable[[], bool], Callable[[SearchReport], None]]]:
        """Gives what tells of Ctrl-C, which is no exception meanwhile, and what shows progress."""
        stop = threading.Event()
        size = self._engine.game.size
        with contextlib.ExitStack() as stack:
            if threading.current_thread() is threading.main_thread():
                before = signal.signal(signal.SIGINT, lambda *_: stop.set())
                stack.callback(signal.signal, signal.SIGINT, before)
            if not self._console.is_terminal:
                yield stop.is_set, lambda _: None
                return
            status = stack.enter_context(self._console.status(what))

            def report(thought: SearchReport) -> None:
                move = notation.action_text(thought.action, size)
                status.update(
                    f"{what}: {move}, {formatting.chance(thought.value)},"
                    f" {thought.num_simulations} simulations (Ctrl-C: at once)"
                )

            yield stop.is_set, report

    @contextlib.contextmanager
    def _full_strength(self) -> Iterator[None]:
        config = self._engine.config
        if config == self._full:
            yield
            return
        self._engine.config = self._full
        try:
            yield
        finally:
            self._engine.config = config

    # Commands.

    def _show(self) -> None:
        engine = self._engine
        legal = engine.legal_actions if self._is_persons_turn() else ()
        last = engine.actions[-1] if engine.actions else None
        signs = board_drawing.symbols(self._console)
        lines = board_drawing.board(engine.board, engine.game.size, legal, last, signs)
        notes = ["", *self._notes(signs)]
        self._console.print()
        width = max(self._console.width, 40)
        self._console.print(
            board_drawing.beside(lines, notes, width, signs), end="", soft_wrap=True
        )

    def _notes(self, signs: board_drawing.Symbols) -> list[str]:
        engine, state = self._engine, self._state
        size, board = engine.game.size, engine.board
        named = f"azo, level {state.level} ({engine_settings.level_name(state.level)})"
        who = {
            colour: "you" if state.sides in (colour, "both") else named
            for colour in ("black", "white")
        }
        notes = [
            f"{signs.black} black {board.black.bit_count():2}  {who['black']}",
            f"{signs.white} white {board.white.bit_count():2}  {who['white']}",
            "",
        ]
        if engine.is_over:
            score = engine.final_score()
            ended = formatting.outcome(score, size, is_reversed=engine.game.is_reversed)
            notes += ["the game is over:", ended]
        else:
            mover = "black" if board.is_black_to_move else "white"
            fewer = ", fewer discs win" if engine.game.is_reversed else ""
            notes.append(f"ply {len(engine.actions) + 1}: {mover} to move{fewer}")
        if engine.actions:
            notes.append(f"last move: {notation.action_text(engine.actions[-1], size)}")
        thought = state.last_thought
        if thought is not None and thought.board in engine.boards[-3:] and not engine.is_over:
            notes += formatting.reason(thought, "azo", size, is_reversed=engine.game.is_reversed)
        return [*notes, "", signs.legend()] if len(notes) < 7 else [*notes, signs.legend()]

    def _undo(self) -> None:
        engine = self._engine
        engine.undo()
        # Back to a position where the person moves, and has a choice.
        while engine.actions and not (
            self._is_persons_turn() and engine.legal_actions != (engine.game.pass_action,)
        ):
            if self._state.sides == "none":
                break
            engine.undo()
        self._state.is_paused = not self._is_persons_turn()
        self._show()

    def _hint(self) -> None:
        if self._engine.is_over:
            raise ValueError("the game is over")
        with self._full_strength(), self._interruptible("looking") as (is_stopped, report):
            thought = self._engine.think(is_stopped=is_stopped, on_progress=report)
        is_reversed = self._engine.game.is_reversed
        self._console.print(
            formatting.hint(thought, self._engine.game.size, most=_HINTS, is_reversed=is_reversed)
        )
        if thought.score is not None:
            mover = "black" if thought.board.is_black_to_move else "white"
            self._say(formatting.outlook(thought, mover, is_reversed=is_reversed))

    def _analyse(self) -> None:
        if not self._engine.actions:
            raise ValueError("no move was played yet")
        with self._full_strength(), self._interruptible("analysing") as (is_stopped, _):
            found = game_analysis.analyse(
                self._engine, game_analysis.AnalysisConfig(), is_stopped=is_stopped
            )
        if len(found.positions) <= len(self._engine.actions):
            self._say(f"stopped after ply {len(found.positions)}")
        self._say(analysis_text.totals(found))
        for position in found.drops:
            self._say("  " + analysis_text.drop(position, found.game.size))

    def _swap(self) -> None:
        self._play(_SWAPPED[self._state.sides])

    def _play(self, sides: str) -> None:
        if sides not in _SWAPPED:
            raise ValueError(f"play {sides!r}: choose black, white, both or none")
        self._state.sides = sides  # type: ignore[assignment]
        self._state.is_paused = False
        self._show()

    def _level(self, text: str = "") -> None:
        if not text:
            every = range(1, engine_settings.NUM_LEVELS + 1)
            names = ", ".join(f"{level} {engine_settings.level_name(level)}" for level in every)
            self._say(f"azo plays at level {self._state.level} of {names}")
            return
        if not text.isdecimal():
            raise ValueError(
                f"level {text!r}: levels are 1 (beginner) to {engine_settings.NUM_LEVELS}"
            )
        level = int(text)
        self._engine.config = engine_settings.at_level(self._full, level)
        self._state.level = level
        self._say(f"azo plays at level {level} ({engine_settings.level_name(level)})")

    def _new(self) -> None:
        self._engine.new_game()
        self._state.saved, self._state.is_paused = None, False
        self._show()

    def _save(self, name: str) -> None:
        path, engine = _path(name), self._engine
        who = {
            colour: "you" if self._state.sides in (colour, "both") else "azo"
            for colour in ("black", "white")
        }
        record = game_files.GameRecord(engine.start, engine.actions, who["black"], who["white"])
        is_ggf = path.suffix.lower() == game_files.GGF_SUFFIX
        text = game_files.to_text(record, engine.game, is_ggf=is_ggf)
        try:
            if path.exists() and path != self._state.saved:
                raise ValueError(f"{path}: exists already, choose another name")
            path.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise ValueError(f"{path}: cannot write here ({error.strerror})") from None
        self._state.saved = path
        self._say(f"saved {len(engine.actions)} plies to {path}")

    def _load(self, name: str, number: str = "") -> None:
        if number and not number.isdecimal():
            raise ValueError(f"load: {number!r} is not the number of a game")
        path = _path(name)
        record = game_files.read(path, self._engine.game, number=int(number) if number else None)
        self._engine.new_game(record.board, record.actions)
        self._state.saved, self._state.is_paused = None, True
        self._after_a_move()

    def _network(self, name: str) -> None:
        if self._load_engine is None:
            raise ValueError("no networks can be read here")
        new, old = self._load_engine(_path(name)), self._engine
        if new.game != old.game:
            raise ValueError(
                f"{name}: a network for {new.game.name}, but this game is {old.game.name}"
            )
        new.config = old.config
        new.new_game(old.start, old.actions)
        self._engine = new
        self._say(f"azo now plays with {name}")

    def _help(self) -> None:
        self._say(self._help_text())

    def _quit(self) -> None:
        self._state.is_left = True

    def _help_text(self) -> str:
        return _HELP.format(levels=engine_settings.NUM_LEVELS)

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)


def _path(name: str) -> pathlib.Path:
    # Not `Path.expanduser`, which raises where there is no such user.
    return pathlib.Path(os.path.expanduser(name))
