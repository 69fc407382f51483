"""A game in the terminal with typed lines, scripted evaluations and no real terminal."""

import io
import os
import pathlib

import rich.console

from azo.coach import deck
from azo.games import notation, othello
from azo.games.host import live_game
from azo.terminal import saved_game, terminal
from support.fakes import scripted_engine

_GAME = othello.Othello()


def played(
    lines, *, game=_GAME, evaluations=None, moves="", board=None, width=80, level=20, **options
):
    """Returns what was shown for some typed lines, and the engine as they left it."""
    engine = scripted_engine.ScriptedEngine(game, evaluations)
    engine.level = level
    engine.new_game(board, live_game.replay(moves, game).actions)
    console = rich.console.Console(file=io.StringIO(), width=width, color_system=None)
    typed = iter(lines)

    def read(prompt):
        console.print(prompt, markup=False)
        line = next(typed, None)
        if isinstance(line, BaseException):
            raise line
        return line

    options.setdefault("positions", deck.Deck(pathlib.Path(os.devnull, "deck.json")))
    terminal.Terminal(engine, console, read, **options).run()
    return console.file.getvalue(), engine


def session(folder, lines, **options):
    """Returns what `played` does, with the unfinished game in a folder as in a new process."""
    kept = saved_game.SavedGame(folder, _GAME)
    with kept.lock:
        return played(lines, kept=kept, **options)


def moves_of(engine):
    return notation.transcript(engine.actions, engine.game.size, has_passes=True)
