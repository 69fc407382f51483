"""Practice in a terminal: the positions of a deck that are due, one after the other."""

import math
import pathlib
import time
from collections.abc import Callable

import rich.console

from azo.games import notation, variant
from azo.games.host import live_game
from azo.play.analysis import game_analysis
from azo.play.protocols import board_drawing, deck
from azo.training import interruption

_STOP = "stop"


class Practice:
    """Asks for the best moves of the positions of one game."""

    def __init__(
        self,
        kept: deck.Deck,
        game: variant.Variant,
        console: rich.console.Console,
        read: Callable[[str], str | None],
    ):
        """`read` shows a prompt and returns a line, None at the end."""
        self._deck, self._game, self._console, self._read = kept, game, console, read

    def keep(self, analysis: game_analysis.GameAnalysis, sides: str) -> None:
        """Keeps the marked moves of one side, "black" or "white", or else of both."""
        is_black = {"black": (True,), "white": (False,)}.get(sides, (True, False))
        live, found = analysis.end, []
        for position in reversed(analysis.positions):
            if position.played is not None:
                live.undo()
            if position.mark and position.board.is_black_to_move in is_black:
                found.append(deck.card_of(live, position))
        number = self._deck.add(found)
        self._say(f"{number} of {len(found)} mistakes are new, and kept: enter 'practise'")

    def load(self, path: pathlib.Path) -> None:
        """Adds the positions of a file; raises ValueError if it is no deck."""
        cards = [card for card in deck.read(path) if card.game == self._game.name]
        for card in cards:
            self._position(card)
        self._say(f"{self._deck.add(cards)} of {len(cards)} positions are new")

    def run(self) -> None:
        """Asks until nothing is due, or the person stops."""
        while due := [card for card in self._cards() if card.due <= _now()]:
            if not self._ask(due[0], len(due)):
                return
        self._say(self._end())

    def _cards(self) -> list[deck.Card]:
        return [card for card in self._deck.cards() if card.game == self._game.name]

    def _position(self, card: deck.Card) -> live_game.LiveGame:
        start = notation.parse_board(card.start, self._game.size) if card.start else None
        return live_game.replay("".join(card.moves), self._game, start)

    def _ask(self, card: deck.Card, num_due: int) -> bool:
        """Asks for a move and keeps the result; returns whether to go on."""
        live = self._position(card)
        signs = board_drawing.symbols(self._console)
        last = live.actions[-1] if live.actions else None
        lines = board_drawing.board(live.board, self._game.size, live.legal_actions, last, signs)
        which = "the only winning move" if card.is_ending else "the best move"
        asked = ["", f"{card.mover}: find {which}", f"{num_due} due"]
        notes = [*asked, "", "Enter: show it", f"{_STOP}: back to the game"]
        self._console.print()
        self._console.print(board_drawing.beside(lines, notes, signs, self._console.width), end="")
        while (word := self._word()) != _STOP:
            try:
                if word:
                    live.play(word)
            except ValueError as error:
                self._say(str(error))
            else:
                self._judge(card, word)
                return True
        return False

    def _word(self) -> str:
        """Returns what is typed; at the end of the input, and after Ctrl-C, the word to stop."""
        try:
            line = self._read("best move> ")
        except KeyboardInterrupt:
            interruption.acknowledge()
            line = None
        return _STOP if line is None else line.strip().lower()

    def _judge(self, card: deck.Card, move: str) -> None:
        now, loss = _now(), card.losses.get(move)
        is_solved = loss is not None and loss <= deck.MOST_LOST
        days = round((self._deck.review(card, now, is_solved=is_solved) - now) / deck.DAY)
        again = f"again in {days} day{'s' * (days > 1)}" if is_solved else "again in ten minutes"
        cost = "is not among the best" if loss is None else f"loses {loss:.0f} discs"
        wrong = f"{move} {cost}: {card.best} is best" if move else f"{card.best} is best"
        self._say(f"{f'solved: {move}' if is_solved else wrong}; {again}")

    def _end(self) -> str:
        cards = self._cards()
        if not cards:
            return "no position is kept: 'analyse' a game, then 'keep'"
        days = math.ceil((cards[0].due - _now()) / deck.DAY)
        return f"well done: the next position is due within {days} day{'s' * (days > 1)}"

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)


def _now() -> float:
    return time.time() * 1000
