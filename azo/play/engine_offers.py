"""Engines for all games of a server: those of a given network, or of all that come with azo."""

import functools
import itertools
import threading
from collections.abc import Callable, Iterator

from azo.games import othello
from azo.play import engine_factory, engine_settings, opening_book
from azo.play.evaluator import NetworkEvaluator
from azo.play.live_engine import Engine
from azo.run import shipped_files

_NUM_EMPTIES_TO_SOLVE = 6


def engines(play: engine_factory.PlayConfig) -> dict[othello.Othello, Callable[[], Engine]]:
    """Returns a factory of engines for each game; the network of the first is loaded."""
    evaluator = engine_factory.load_evaluator(play.network, play.size, is_reversed=play.reversed)
    book = None if play.book is None else opening_book.load(play.book, evaluator.game)
    loaders: dict[othello.Othello, Callable[[], NetworkEvaluator]] = {
        evaluator.game: lambda: evaluator
    }
    if play.network is None:
        for name in shipped_files.networks():
            size, _, kind = name.removeprefix("othello").partition("-")
            game = othello.Othello(int(size), kind == "reversed")
            load = functools.partial(
                engine_factory.load_evaluator, size=game.size, is_reversed=game.is_reversed
            )
            loaders.setdefault(game, load)
    seeds = itertools.count(play.seed)
    return {
        game: _factory(load, play.engine, book if game == evaluator.game else None, seeds)
        for game, load in loaders.items()
    }


def _factory(
    load: Callable[[], NetworkEvaluator],
    engine: engine_settings.EngineConfig,
    book: opening_book.Book | None,
    seeds: Iterator[int],
) -> Callable[[], Engine]:
    """Returns a factory of engines with one network, which is loaded for the first engine."""
    evaluator, lock = functools.cache(load), threading.Lock()

    def make() -> Engine:
        with lock:
            return Engine(evaluator(), engine, book=book, seed=next(seeds))

    return make


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
