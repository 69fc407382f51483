"""Programs of azo that keep something in a folder, and what each of them must never lose.

A program sets a mark when azo has acknowledged something: a call that stores it has returned. What
was marked is looked for by the functions with which azo reads its own files.
"""

import contextlib
import functools
import json
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import numpy as np
import pytest

from azo.cli import book as book_command
from azo.cli import command_line
from azo.coach import deck
from azo.engine import opening_book
from azo.formats import ggf
from azo.games import notation, variant
from azo.learning import sharding
from azo.matches import tournament_runner
from azo.networks import checkpoint_folder, network_files
from azo.storage import journal
from azo.terminal import saved_game
from azo.training import checkpoint, metrics
from support.builders import small_tournament, tiny_run
from support.drivers import commands
from support.faults.shim import control

Mark = list[Any]
EIGHT = variant.Variant(8)


class Program:
    """Commands in one folder; `marks` are those of the present run."""

    name = ""
    cost = 1  # of a run, compared with the quickest

    def __init__(self) -> None:
        self.marks: list[Mark] = []

    def prepare(self, folder: pathlib.Path) -> None:
        """Writes what is there before the program begins."""

    def steps(self, folder: pathlib.Path) -> list[Callable[[], int]]:
        """Returns the commands, each of which returns its exit code."""
        raise NotImplementedError

    def lost(self, folder: pathlib.Path, marks: list[Mark]) -> str:
        """Returns what a folder does not have of that which was marked, "" if it has all."""
        raise NotImplementedError

    def end(self, folder: pathlib.Path) -> Any:
        """Returns what the folder has at the end of all commands, however often they began."""
        raise NotImplementedError

    def patch(self, patch: pytest.MonkeyPatch) -> None:
        """Lets azo's functions set marks."""

    def mark(self, *parts: Any) -> None:
        """Notes that something has been acknowledged."""
        text = json.dumps(parts)
        self.marks.append(json.loads(text))
        control.mark(text)

    def run(self, folder: pathlib.Path) -> int:
        """Runs the commands up to the first that fails; returns its exit code, or 0."""
        self.marks = []
        with pytest.MonkeyPatch.context() as patch:
            self.patch(patch)
            for number, step in enumerate(self.steps(folder)):
                if code := step():
                    return code
                self.mark("done", number)
        return 0

    def marked_after(self, patch: pytest.MonkeyPatch, owner: Any, name: str, mark: Any) -> None:
        """Lets `mark` be called with the result and the arguments once a function has returned."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def call(*arguments: Any, **options: Any) -> Any:
            result = original(*arguments, **options)
            mark(result, *arguments, **options)
            return result

        patch.setattr(owner, name, call)


def _of(marks: list[Mark], kind: str) -> list[Mark]:
    return [mark[1:] for mark in marks if mark[0] == kind]


class Training(Program):
    """A run of one iteration, which is then continued to three; one checkpoint is kept."""

    name = "training"
    cost = 8
    settings: ClassVar[dict[str, Any]] = {
        "run": {"num_iterations": 1, "save_every": 1, "keep_checkpoints": 1},
        "evaluation": {"every": 2},
    }

    def __init__(self) -> None:
        super().__init__()
        self.saved: dict[int, Any] = {}  # states on the host by iteration, of the first run

    def prepare(self, folder):
        tiny_run.train(folder, **self.settings)  # writes the settings file

    def steps(self, folder):
        words = ["train", "--config", folder / "tiny.toml", "--run.folder", folder / "run"]
        return [
            lambda: commands.run(*words),
            lambda: commands.run(*words, "--run.num-iterations", 3),
        ]

    def patch(self, patch):
        def saved(result, checkpoints, step, state, settings, score=None):
            if step not in self.saved:
                self.saved[step] = jax.device_get(state)
            self.mark("checkpoint", step, score)

        def written(result, writer, event, iteration, fields):
            self.mark("event", event, iteration)

        self.marked_after(patch, checkpoint.Checkpoints, "save", saved)
        self.marked_after(patch, metrics.MetricsWriter, "write", written)

    def lost(self, folder, marks):
        run, saved = folder / "run", _of(marks, "checkpoint")
        newest = max((step for step, _ in saved), default=0)
        best = max((score for _, score in saved if score is not None), default=None)
        if not run.exists():
            return f"checkpoint {newest}: no folder" if newest else ""
        with checkpoint.Checkpoints(run, keep=1) as checkpoints:
            if checkpoints.latest_step < newest:
                return f"checkpoint {newest}: the latest is {checkpoints.latest_step}"
            if step := checkpoints.latest_step:
                tiny_run.assert_same_bits(checkpoints.restore(_first_state()), self.saved[step])
        if best is not None:
            step = checkpoint_folder.best_step(run)
            assert step is not None
            checkpoint_folder.verify(run, step)
            if checkpoint_folder.read_record(run, step).score < best:
                return f"the checkpoint with the score {best}"
        stored = [[one["event"], one["iteration"]] for one in metrics.read(run)]
        missing = [event for event in _of(marks, "event") if event not in stored]
        return f"events {missing}" if missing else ""

    def end(self, folder):
        state = tiny_run.restored(folder / "run", **self.settings)
        return tiny_run.iterations(folder / "run"), [np.asarray(x) for x in _bits(state)]


def _bits(state: Any) -> list[Any]:
    arrays = network_files.named(jax.device_get(checkpoint._with_bits(state)))
    return [arrays[name] for name in sorted(arrays)]


@functools.cache
def _first_state() -> Any:
    return tiny_run.begin(1, **Training.settings)


class Tournament(Program):
    """12 games of two players that need no search."""

    name = "tournament"
    cost = 2

    def prepare(self, folder):
        text = small_tournament.SMALL.replace("num_games = 6", "num_games = 12")
        small_tournament.write(folder, text.rpartition("[[players]]")[0])

    def steps(self, folder):
        words = ["tournament", folder / "cup.toml", "--folder", folder / "new" / "games"]
        return [lambda: commands.run(*words)]

    def patch(self, patch):
        def appended(result, path, line):
            self.mark("line", path.name, line)

        self.marked_after(patch, journal, "append", appended)

    def lost(self, folder, marks):
        for name in (tournament_runner.GAMES, tournament_runner.PLAYERS):
            stored = journal.read(folder / "new" / "games" / name, bytes.decode)
            lines = [line for one, line in _of(marks, "line") if one == name]
            if missing := [line for line in lines if line not in stored]:
                return f"{len(missing)} of {len(lines)} lines of {name}"
        return ""

    def end(self, folder):
        place = folder / "new" / "games"
        games = map(json.loads, (place / tournament_runner.GAMES).read_text().splitlines())
        return sorted(f"{game['opening']} {game['black']} {game['white']}" for game in games)


class Book(Program):
    """A book that is built, and then extended."""

    name = "book"
    cost = 6

    def steps(self, folder):
        words = ["book", "build", folder / "books" / "a.book", "--growth.num-positions", 3]
        return [functools.partial(commands.run, *words, "--engine.num-simulations", 16)] * 2

    def patch(self, patch):
        save = opening_book.Book.save

        def marked_save(book, path):
            content = _digest(book)
            self.mark("saving", content)
            save(book, path)
            self.mark("saved", content)

        patch.setattr(opening_book.Book, "save", marked_save)
        patch.setattr(book_command, "_SAVE_EVERY", 1)

    def lost(self, folder, marks):
        kinds = [kind for kind, *_ in marks]
        last = len(kinds) - 1 - kinds[::-1].index("saved") if "saved" in kinds else None
        path = folder / "books" / "a.book"
        if not path.exists():
            return "the book" if last is not None else ""
        content = _digest(opening_book.load(path, EIGHT))
        allowed = [mark[1] for mark in marks[last or 0 :] if mark[0] in ("saving", "saved")]
        return "" if content in allowed else "the book that was saved last"

    def end(self, folder):
        return len(opening_book.load(folder / "books" / "a.book", EIGHT).positions) >= 3


def _digest(book: opening_book.Book) -> list[Any]:
    """Returns the content of a book, as JSON has it."""
    return sorted(
        [*key, sorted([action, one.value, one.num_visits] for action, one in moves.items())]
        for key, moves in book.positions.items()
    )


class Deck(Program):
    """A deck of the positions of a book, reviewed and extended."""

    name = "deck"
    cost = 4

    def prepare(self, folder):
        shutil.copy(_drilled_book(), folder / "a.book")

    def steps(self, folder):
        path = folder / "decks" / "drill.json"

        def practise(words):
            kept = deck.Deck(path)
            for number, card in enumerate(kept.cards()[:3]):
                kept.review(card, 1e12 + number, is_solved=True)
            new = kept.cards()[0].model_copy(update={"moves": ("f5", "d6"), "memory": None})
            kept.add([new])

        drill = ["book", "drill", folder / "a.book", path]
        return [
            lambda: commands.run(*drill),
            lambda: command_line.run_main(practise, []),
        ]

    def patch(self, patch):
        def added(result, kept, cards):
            self.mark("cards", [card.name for card in cards])

        def reviewed(result, kept, card, now, *, is_solved):
            self.mark("review", card.name, now)

        self.marked_after(patch, deck.Deck, "add", added)
        self.marked_after(patch, deck.Deck, "review", reviewed)

    def lost(self, folder, marks):
        path = folder / "decks" / "drill.json"
        cards = {json.dumps(card.name): card for card in deck.Deck(path).cards()}
        names = {json.dumps(name) for (added,) in _of(marks, "cards") for name in added}
        if missing := names - cards.keys():
            return f"{len(missing)} of {len(names)} cards"
        times = {json.dumps(name): now for name, now in _of(marks, "review")}
        stored = {name: card.memory for name, card in cards.items() if card.memory}
        if missing := [x for x, now in times.items() if x not in stored or stored[x].last < now]:
            return f"{len(missing)} of {len(times)} reviews"
        return ""

    def end(self, folder):
        return sorted(card.name[2:] for card in deck.Deck(folder / "decks" / "drill.json").cards())


@functools.cache
def _drilled_book() -> pathlib.Path:
    """Returns a book whose black side has some positions to know."""
    folder = pathlib.Path(_scratch[0])
    words = ["book", "build", folder / "drilled.book", "--growth.num-positions", 12]
    assert commands.run(*words, "--engine.num-simulations", 16) == 0
    return folder / "drilled.book"


_scratch: list[pathlib.Path] = []


def use_scratch(folder: pathlib.Path) -> None:
    """Names a folder for files that programs share."""
    _scratch[:] = [folder]


class Export(Program):
    """The network of a run, exported."""

    name = "export"
    cost = 2

    def prepare(self, folder):
        shutil.copytree(_run_to_export(), folder / "run")

    def steps(self, folder):
        place = folder / "nets" / "one"
        # A network that was exported before the fault is complete, and is not replaced.
        is_done = False
        with contextlib.suppress(OSError):  # this look may be the call that fails
            is_done = place.exists()
        return [lambda: 0 if is_done else commands.run("export", folder / "run", place)]

    def lost(self, folder, marks):
        place = folder / "nets" / "one"
        if not place.exists():
            return "the network" if _of(marks, "done") else ""
        variables, _ = network_files.load(place)
        tiny_run.assert_same_bits(variables, network_files.load(_run_to_export())[0])
        return ""

    def end(self, folder):
        self.lost(folder, [["done", 0]])
        return sorted(path.name for path in (folder / "nets" / "one").iterdir())


@functools.cache
def _run_to_export() -> pathlib.Path:
    run = _scratch[0] / "exported"
    with checkpoint.Checkpoints(run, keep=1) as checkpoints:
        checkpoints.save(1, tiny_run.begin(1), tiny_run.settings())
    return run


class Game(Program):
    """An unfinished game in the terminal, which is stored after each move."""

    name = "game"

    def steps(self, folder):
        def play(words):
            kept = saved_game.SavedGame(folder / "games", EIGHT)
            with kept.lock:
                actions = tuple(notation.parse_moves("f5d6c3d3", 8))
                for number in range(1, 5):
                    kept.write(
                        ggf.GgfGame(8, ggf.usual_start(EIGHT), actions[:number], "you", "azo")
                    )

        return [lambda: command_line.run_main(play, [])]

    def patch(self, patch):
        def written(result, kept, game):
            self.mark("moves", len(game.moves))

        self.marked_after(patch, saved_game.SavedGame, "write", written)

    def lost(self, folder, marks):
        moves = _of(marks, "moves")
        kept = saved_game.SavedGame(folder / "games", EIGHT)
        with kept.lock:
            game = kept.read()
        found, wanted = len(game.moves) if game else 0, moves[-1][0] if moves else 0
        return "" if found >= wanted else f"the game of {wanted} moves: {found} are there"

    def end(self, folder):
        return self.lost(folder, [["moves", 4]])


class Careless(Program):
    """Stores three texts without a sync and takes each call to have done its work.

    Not a program of azo: what the others may not do.
    """

    name = "careless"

    def steps(self, folder):
        def store(words):
            for number in range(3):
                descriptor = os.open(folder / "new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.write(descriptor, b"0123456789" * 100)
                os.close(descriptor)
                os.replace(folder / "new", folder / f"text{number}")
                self.mark("text", number)

        return [lambda: command_line.run_main(store, [])]

    def lost(self, folder, marks):
        texts = {path.name for path in folder.iterdir() if path.stat().st_size == 1000}
        return str([number for (number,) in _of(marks, "text") if f"text{number}" not in texts])[
            1:-1
        ]

    def end(self, folder):
        return self.lost(folder, [["text", number] for number in range(3)])


AZO = {one.name: one for one in (Training, Tournament, Book, Deck, Export, Game)}
PROGRAMS = AZO | {Careless.name: Careless}


@contextlib.contextmanager
def states_are_shared() -> Iterator[None]:
    """Begins each run from a copy of one first state, which takes seconds to make."""
    begin, made = sharding.begin, {}

    def shared(game, config, mesh, *, seed, start=None, teacher=None):
        if seed not in made:
            made[seed] = begin(game, config, mesh, seed=seed, start=start, teacher=teacher)
        return jax.tree.map(lambda x: x.copy(), made[seed])  # a run donates its state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharding, "begin", shared)
        yield
