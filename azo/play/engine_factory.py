"""Makes engines from networks and settings on disk, for every command that plays."""

import functools
import itertools
import pathlib
import sys
import threading
from collections.abc import Callable
from typing import Annotated

import pydantic
import tyro

from azo.formats import locks
from azo.games import game_config, setting_types, variant
from azo.learning import pattern_tables
from azo.play import engine_settings, live_game, opening_book
from azo.play.evaluator import Evaluator
from azo.play.live_engine import Engine
from azo.play.pattern_evaluator import PatternEvaluator
from azo.run import exported_network, shipped_files

_NUM_EMPTIES_TO_SOLVE = 6  # of the position by which `warm_up` compiles the solver


class NetworkChoice(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Network of an engine."""

    network: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder of a run or of an exported network, or the name of one that comes with azo, such as
    othello8; by default the strongest that comes with azo for the board."""
    size: Annotated[int, pydantic.Field(ge=4, le=8)] = 8
    """Without --network: rows and columns of the board."""
    reversed: bool = False
    """Without --network: the side with fewer discs wins."""

    @property
    def network_name(self) -> str:
        """Name to show for the network."""
        return "azo's own" if self.network is None else self.network.resolve().name


class PlayConfig(NetworkChoice):
    """Network, level and settings of an engine."""

    level: Annotated[int, pydantic.Field(ge=1, le=engine_settings.NUM_LEVELS)] = (
        engine_settings.NUM_LEVELS
    )
    """Playing strength in steps of about 100 Elo, from 1 (beginner) to 20, the engine settings."""
    engine: engine_settings.EngineConfig = engine_settings.EngineConfig(num_simulations=20_000)
    """Settings of the search."""
    book: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Opening book (see `azo book`); its moves are played while the position is in it."""
    learn: bool = False
    """Update the book after every finished game, and save it."""
    seed: setting_types.Seed = 0
    """Seed of random choices, in the book and at low levels."""

    @pydantic.model_validator(mode="after")
    def _check_book(self) -> "PlayConfig":
        if self.learn and self.book is None:
            raise ValueError("--learn needs a book: name its file with --book")
        return self


def load_engine(play: PlayConfig) -> Engine:
    """Returns an engine at the start of a game.

    Raises:
      ValueError: One line: the network or the book is missing or does not fit the board, or
        another process learns the same book.
    """
    evaluator = load_evaluator(play)
    lock = locks.lock_file(play.book) if play.book is not None and play.learn else None
    book = None if play.book is None else opening_book.load(play.book, evaluator.game)

    def learn(game: live_game.LiveGame) -> None:
        assert lock is not None  # held as long as the engine has this function
        assert book is not None
        assert play.book is not None
        score = game.utility(game.final_score())
        book.learn(game.actions, (score > 0) - (score < 0), game.start)
        try:
            book.save(play.book)
        except ValueError as error:  # the game itself is not affected
            print(error, file=sys.stderr)

    return Engine(
        evaluator,
        engine_settings.at_level(play.engine, play.level),
        book=book,
        on_end=learn if play.learn else None,
        seed=play.seed,
    )


def load_evaluator(choice: NetworkChoice) -> Evaluator:
    """Returns the network of a folder, or one that comes with azo.

    Raises:
      ValueError: One line: there is no such network, or it is not for Othello.
    """
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
    folder = shipped_files.find_network(network)
    exported = exported_network.read_settings(folder)
    if exported and exported.game.name == "othello" and exported.network.kind == "patterns":
        game, config = game_config.variant_of(exported.game), exported.network.patterns
        shapes = pattern_tables.array_shapes(config, game.size, len(game.scores))
        params = exported_network.read_arrays(folder, shapes)["params"]
        return PatternEvaluator(game, config, params)
    from azo.play import network_evaluator  # imports JAX, which takes seconds

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
    for name in shipped_files.STRONGEST if play.network is None else ():
        size, _, kind = name.removeprefix("othello").partition("-")
        games.append(variant.Variant(int(size), kind == "reversed"))
    return {game: functools.partial(make, game) for game in games}


def warm_up(engine: Engine) -> None:
    """Compiles the programs of a game, so that the first move does not wait for them."""
    full = engine.config
    for level in (1, engine_settings.NUM_LEVELS):
        engine.config = engine_settings.at_level(full, level)
        engine.think(engine_settings.Limits(num_simulations=2 * full.leaves_per_step))
    while engine.num_empties > _NUM_EMPTIES_TO_SOLVE and not engine.is_over:
        engine.play(engine.legal_actions[0])
    if not engine.is_over:
        engine.think(engine_settings.Limits(num_simulations=1, is_analysis=True))
