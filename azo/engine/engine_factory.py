"""Makes engines from networks and settings on disk, for every command that plays."""

import functools
import itertools
import os
import pathlib
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any

import pydantic
import tyro

from azo.alphabeta import weights
from azo.engine import engine_settings, opening_book
from azo.engine.live_engine import Engine
from azo.engine.live_search import Evaluator
from azo.engine.pattern_evaluator import PatternEvaluator
from azo.games import game_config, variant
from azo.networks import exported_network, pattern_tables
from azo.process import threads
from azo.settings import import_paths, setting_types, shipped_files, typed_settings, validation


class NetworkChoice(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Network of an engine."""

    network: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder of a run, of a checkpoint or of an exported network, or the name of a network that
    comes with azo, such as zero-conv. By default the strongest network that comes with azo for the
    board. For a run, the checkpoint with the best score in a match is used, not the latest one."""
    size: Annotated[int, pydantic.Field(ge=4, le=8)] = 8
    """Without --network: rows and columns of the board."""
    reversed: bool = False
    """Without --network: the side with fewer discs wins."""

    def check_typed(self, typed: Collection[str]) -> list[str]:
        """Raises ValueError if a network was given beside the board of another one.

        Returns lines on typed settings, by full names, that hold only in part.
        """
        if self.network is None or not {"size", "reversed"} & set(typed):
            return []
        exported = exported_network.read_settings(shipped_files.find_network(self.network))
        if exported is None or exported.game.name != "othello":
            return []  # its loading says more
        game = game_config.variant_of(exported.game)
        for name, value, own in (
            ("size", self.size, game.size),
            ("reversed", self.reversed, game.is_reversed),
        ):
            if name in typed and value != own:
                flag = typed_settings.as_flag(name, value)
                raise ValueError(
                    f"{flag} has no effect with --network {self.network}, which plays {game.name}:"
                    " leave one of them out"
                )
        return []

    @property
    def network_name(self) -> str:
        """Name to show for the network."""
        return "azo's own" if self.network is None else self.network.resolve().name


class PlayConfig(NetworkChoice):
    """Network, level and settings of an engine."""

    level: engine_settings.Level = engine_settings.NUM_LEVELS
    """Playing strength: 1 (beginner) to 20 (the engine settings), in steps of about 100 Elo; or
    human:1400 to human:2400, which moves like human players with that rating."""
    engine: engine_settings.EngineConfig = engine_settings.EngineConfig(num_simulations=20_000)
    """How the engine searches for moves."""
    book: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Opening book (see `azo book`). The engine plays from it while the position is in the book."""
    seed: setting_types.Seed = 0
    """Seed of random choices: among the moves of the book, and at low levels."""

    def check_typed(self, typed: Collection[str]) -> list[str]:
        """See `NetworkChoice.check_typed`; also compares the level with settings of the search."""
        notes = super().check_typed(typed)
        if "engine.search" in typed and self.engine.search == "alphabeta":
            self._check_alphabeta()
        at_level = engine_settings.at_level(self.engine, self.level)
        for name in typed:
            section, _, own = name.partition(".")
            if section != "engine":
                continue
            value, used = getattr(self.engine, own), getattr(at_level, own)
            if value != used:
                flag = typed_settings.as_flag(name, value)
                used = typed_settings.text(used)
                notes.append(f"{flag} applies to analyses; level {self.level} plays with {used}")
        return notes

    def _check_alphabeta(self) -> None:
        """Raises ValueError if no move would be found by alpha-beta."""
        if self.level != engine_settings.NUM_LEVELS:
            raise ValueError(f"{_NO_ALPHABETA} at level {self.level}, which plays with puct")
        check_alphabeta(self)


_NO_ALPHABETA = "--engine.search alphabeta has no effect"


def check_alphabeta(choice: NetworkChoice) -> None:
    """Raises ValueError, one line, if a network has no evaluation for alpha-beta."""
    folder = _find_folder(choice)
    if not (folder / weights.FILE).exists():
        raise ValueError(f"{_NO_ALPHABETA} with {folder.name}, which has no {weights.FILE}")


def load_engine(
    network: str | os.PathLike[str] | None = None,
    *,
    size: int = 8,
    is_reversed: bool = False,
    level: int | str = engine_settings.NUM_LEVELS,
    book: str | os.PathLike[str] | None = None,
    seed: int = 0,
    allow_imports: Sequence[str] = (),
    **settings: Any,
) -> Engine:
    """Returns an engine at the start of a game of Othello.

        engine = azo.load_engine("zero-fast", num_simulations=800)
        engine.play("f5")
        report = engine.think()
        engine.play(report.action)

    Loading takes about a second. The first use after installation compiles for about a minute.
    Pattern networks, such as those that come with azo, do not load JAX. Values of a report are
    expected results in [-1, 1] for the side to move; `discs` is its expected final margin.

    Args:
      network: folder of a run or of an exported network, or the name of one that comes with azo; by
        default the strongest that comes with azo for the board.
      size: without a network, rows of the board.
      is_reversed: without a network, fewer discs win.
      level: playing strength from 1 (beginner) to 20 (the settings), or a human level such as
        "human:1800", which moves like human players with that rating.
      book: file of an opening book that `azo book` wrote.
      seed: of random choices, in the book and at low levels.
      allow_imports: import paths that the files of the network may name, see `azo.load_network`.
      **settings: of the search, see `EngineConfig`: `num_simulations` per move (20,000 by default),
        `seconds` per move, which replace that default, and others.

    Raises:
      ValueError: One line: there is no such network, level, book or setting.
    """
    import_paths.allow(allow_imports)
    choice = {"network": network and pathlib.Path(network), "size": size, "reversed": is_reversed}
    play = {"level": level, "book": book and pathlib.Path(book), "seed": seed}
    limits = typed_settings.replaced_limits(engine_settings.EngineConfig, settings)
    engine = PlayConfig().engine.model_dump() | dict.fromkeys(limits) | settings
    config = validation.validate(PlayConfig, {**choice, **play, "engine": engine}, "load_engine")
    own = engine_settings.EngineConfig.model_fields.keys() & settings
    typed_settings.check([config.engine], own, typed_settings.as_name)
    given = {"size": size != NetworkChoice().size, "reversed": is_reversed}
    typed = [name for name, is_given in given.items() if is_given]
    config.check_typed(typed + ["engine.search"] * ("search" in own))
    return make_engine(config)


def make_engine(play: PlayConfig) -> Engine:
    """Returns an engine at the start of a game.

    Raises:
      ValueError: One line: the network or the book is missing or does not fit the board.
    """
    evaluator = load_evaluator(play)
    book = None if play.book is None else opening_book.load(play.book, evaluator.game)
    return Engine(evaluator, play.engine, level=play.level, book=book, seed=play.seed)


def load_evaluator(choice: NetworkChoice) -> Evaluator:
    """Returns the network of a folder, or one that comes with azo.

    Raises:
      ValueError: One line: there is no such network, or it is not for Othello.
    """
    folder = _find_folder(choice)
    evaluator = _load_network(folder)
    evaluator.folder = folder
    return evaluator


def _find_folder(choice: NetworkChoice) -> pathlib.Path:
    network = choice.network
    if network is None:
        name = f"othello{choice.size}{'-reversed' if choice.reversed else ''}"
        if name not in shipped_files.STRONGEST:
            there = ", ".join(shipped_files.STRONGEST)
            raise ValueError(
                f"no network for {name} comes with azo (there are: {there}):"
                " train one and give its folder with --network"
            )
        network = shipped_files.NETWORKS / shipped_files.STRONGEST[name]
    return shipped_files.find_network(network)


def _load_network(folder: pathlib.Path) -> Evaluator:
    exported = exported_network.read_settings(folder)
    if exported and exported.game.name == "othello" and exported.network.kind == "patterns":
        game, config = game_config.variant_of(exported.game), exported.network.patterns
        shapes = pattern_tables.array_shapes(config, game.size, len(game.scores))
        params = exported_network.read_arrays(folder, shapes)["params"]
        return PatternEvaluator(game, config, params)
    threads.check()
    from azo.engine import network_evaluator  # imports JAX, which takes seconds

    return network_evaluator.load(folder)


def engines(play: PlayConfig) -> dict[variant.Variant, Callable[[], Engine]]:
    """Returns a function for each game that makes an engine at full strength.

    The games are that of the network, or of all that come with azo. The network of the first game
    is loaded at once, each other one for its first engine.
    """
    first = load_evaluator(play)
    book = None if play.book is None else opening_book.load(play.book, first.game)
    lock, seeds = threading.Lock(), itertools.count(play.seed)

    @functools.cache
    def evaluator(game: variant.Variant) -> Evaluator:
        choice = NetworkChoice(size=game.size, reversed=game.is_reversed)
        return first if game == first.game else load_evaluator(choice)

    def make(game: variant.Variant) -> Engine:
        with lock:
            used = book if game == first.game else None
            return Engine(evaluator(game), play.engine, book=used, seed=next(seeds))

    games = [first.game]
    if play.network is None:
        every = (variant.Variant(*rules) for rules in itertools.product((8, 6, 4), (False, True)))
        games += [game for game in every if game.name in shipped_files.STRONGEST]
    return {game: functools.partial(make, game) for game in games}


def warm_up(engine: Engine) -> None:
    """Compiles the programs of a game, so that the first move does not wait for them."""
    for level in (1, engine_settings.NUM_LEVELS):  # with batches of one leaf, and of several
        engine.level = level
        engine.think(engine_settings.Limits(num_simulations=1))
