"""Practice in a terminal: the positions of a deck that are due, one after the other.

A round asks what is due, and again what was not solved, until it is.
"""

import math
import pathlib
import time
from collections.abc import Callable

import rich.console

from azo.coach import deck, game_analysis, replies
from azo.engine import live_engine
from azo.games import plurals
from azo.games.host import live_game
from azo.process import interruption
from azo.terminal import board_drawing, interruptible

_MAX_NAMED = 5  # refused cards
_WELL_DONE = 0.8  # of the positions of a round, solved on the first try
_WORDS = "Enter: show it; stop or quit: back to the game; help: what can be entered"
_HELP = """\
f5            your move: column and row
Enter         show the best move
stop, quit    back to the game, as Ctrl-D and Ctrl-C do
help          show this list"""


class _Stop(Exception):
    """The person ends the round."""


class Practice:
    """Asks for the best moves of the positions of one game."""

    def __init__(
        self,
        kept: deck.Deck,
        engine: live_engine.Engine,
        console: rich.console.Console,
        read: Callable[[str], str | None],
    ):
        """`read` shows a prompt and returns a line, None at the end."""
        self._deck, self._engine, self._console, self._read = kept, engine, console, read
        self._game = engine.game
        kept.tell = self._say

    def keep(self, analysis: game_analysis.GameAnalysis, sides: str) -> None:
        """Keeps the marked moves of one side, "black" or "white", or else of both."""
        is_black = {"black": (True,), "white": (False,)}.get(sides, (True, False))
        live, found = analysis.end, []
        for position in reversed(analysis.positions):
            if position.played is not None:
                live.undo()
            if position.mark and position.board.is_black_to_move in is_black:
                found.append(deck.card_of(live, position))
        number = self._deck.add(found).num_new
        self._say(f"{_new(number, len(found), 'mistake')}, and saved: enter 'practise'")

    def load(self, path: pathlib.Path) -> None:
        """Adds the positions of a file; raises ValueError if none is sound."""
        contents = deck.read_foreign(path, _now())
        cards = [card for card in contents.cards if card.game == self._game.name]
        for reason in contents.refused[:_MAX_NAMED]:
            self._say(f"{path}: refused {reason}")
        if (others := len(contents.refused) - _MAX_NAMED) > 0:
            self._say(f"{path}: refused {others} more")
        if others := len(contents.cards) - len(cards):
            self._say(
                f"{path}: {others} for another board {'is' if others == 1 else 'are'} left out"
            )
        merged = self._deck.add(cards)
        later, left = (
            f", {number} {'has' if number == 1 else 'have'} {what}" * (number > 0)
            for number, what in ((merged.num_later, "a later review"), (merged.num_left, "no room"))
        )
        self._say(f"{_new(merged.num_new, len(cards), 'position')}{later}{left}")

    def run(self) -> None:
        """Asks until all that is due is solved, or the person stops.

        ValueError, one line, without the library that says when a position is asked again.
        """
        deck.scheduling()
        tries: dict[tuple[str | None, ...], bool] = {}  # of each card, whether the first was right
        failed: list[deck.Card] = []  # asked again after the others
        try:
            while card := self._next(failed):
                is_solved = self._ask(card, self._num_left(failed))
                tries.setdefault(card.name, is_solved)
                failed = [other for other in failed if other.name != card.name]
                if not is_solved:
                    failed.append(card)
        except _Stop:
            self._say_score(tries, failed)
            return
        self._say(self._end(tries))

    def _cards(self) -> list[deck.Card]:
        return [card for card in self._deck.cards() if card.game == self._game.name]

    def _due(self, failed: list[deck.Card]) -> list[deck.Card]:
        names, now = {card.name for card in failed}, _now()
        return [card for card in self._cards() if card.due <= now and card.name not in names]

    def _next(self, failed: list[deck.Card]) -> deck.Card | None:
        return next(iter([*self._due(failed), *failed]), None)

    def _num_left(self, failed: list[deck.Card]) -> int:
        return len(self._due(failed)) + len(failed)

    def _ask(self, card: deck.Card, num_left: int) -> bool:
        """Asks for a move and keeps the result; returns whether it solves the position."""
        live = card.position
        signs = board_drawing.symbols(self._console)
        last = live.actions[-1] if live.actions else None
        lines = board_drawing.board(live.board, self._game.size, live.legal_actions, last, signs)
        which = "the only winning move" if card.is_ending else "the best move"
        notes = ["", f"{card.mover}: find {which}", f"{num_left} due", "", *_WORDS.split("; ")]
        self._console.print()
        self._console.print(board_drawing.beside(lines, notes, signs, self._console.width), end="")
        while True:
            word = self._word()
            if word in ("stop", "quit"):
                raise _Stop
            if word == "help":
                self._say(_HELP)
                continue
            if not word:
                return self._judge(card, live, "")
            try:
                live.play(word)
            except ValueError as error:
                hint = "" if "illegal" in str(error) else "; try 'help'"
                self._say(f"{error}{hint}")
            else:
                live.undo()
                return self._judge(card, live, word)

    def _word(self) -> str:
        """Returns what is typed; at the end of the input, and after Ctrl-C, the word to stop."""
        try:
            line = self._read("best move> ")
        except KeyboardInterrupt:
            interruption.acknowledge()
            line = None
        return "stop" if line is None else line.strip().lower()

    def _judge(self, card: deck.Card, live: live_game.LiveGame, move: str) -> bool:
        loss = self._loss(card, live, move) if move else None
        is_solved = loss is not None and loss <= deck.MOST_LOST
        now = _now()
        due = self._deck.review(card, now, is_solved=is_solved)
        days = round((due - now) / deck.DAY)
        again = f"again in {plurals.counted(days, 'day')}" if is_solved else "again in this round"
        wrong = f"{card.best} is best"
        if loss is not None:
            wrong = f"{move} loses {plurals.counted(round(loss), 'disc')}: {wrong}"
        as_good = f", as good as {card.best}" if is_solved and move != card.best else ""
        self._say(f"{f'solved: {move}{as_good}' if is_solved else wrong}; {again}")
        return is_solved

    def _loss(self, card: deck.Card, live: live_game.LiveGame, move: str) -> float:
        """Returns the discs that a move loses; those of endings are exact in the deck."""
        if move == card.best:
            return 0.0
        if card.is_ending and move in card.losses:
            return card.losses[move]
        size = self._game.size
        with interruptible.waiting(self._console, size, f"looking at {move}") as (is_stopped, _):
            return replies.loss_of(self._engine, live, move, card.best, is_stopped=is_stopped)

    def _end(self, tries: dict[tuple[str | None, ...], bool]) -> str:
        cards = self._cards()
        if not cards:
            return "no positions are saved: 'analyse' a game, then 'keep'"
        days = math.ceil((cards[0].due - _now()) / deck.DAY)
        when = f"the next position is due within {plurals.counted(days, 'day')}"
        return f"{score(tries)}: {when}" if tries else f"nothing is due: {when}"

    def _say_score(
        self, tries: dict[tuple[str | None, ...], bool], failed: list[deck.Card]
    ) -> None:
        if tries:
            left = f", {len(failed)} to be asked again in ten minutes" if failed else ""
            self._say(f"{score(tries)}{left}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)


def score(tries: dict[tuple[str | None, ...], bool]) -> str:
    """Returns how many positions of a round were solved on the first try, as text."""
    right = sum(tries.values())
    praise = "well done: " if right >= _WELL_DONE * len(tries) else ""
    return f"{praise}{right} of {len(tries)} right on the first try"


def _new(number: int, total: int, noun: str) -> str:
    """Returns how many of a number of cards are new, as text."""
    are = "is" if 1 in (number, total) else "are"
    return f"{number} of {plurals.counted(total, noun)} {are} new"


def _now() -> float:
    return time.time() * 1000
