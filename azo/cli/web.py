"""Serves a page for play and analysis in a browser.

    azo web --open

The page is served to this machine only, unless `--host` says otherwise. Without `--network` it
offers all networks that come with azo. Ctrl-C ends it.
"""

import functools
import itertools
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import pydantic
import tyro

from azo.cli import command_line
from azo.games import othello
from azo.measure import extras
from azo.play import engine_factory, engine_settings, opening_book
from azo.play.evaluator import NetworkEvaluator
from azo.play.live_engine import Engine
from azo.run import shipped_files

_NUM_EMPTIES_TO_SOLVE = 6


class WebConfig(engine_factory.PlayConfig, frozen=True, extra="forbid"):
    """A page to play against azo and to analyse games."""

    level: Annotated[int, pydantic.Field(ge=1, le=engine_settings.NUM_LEVELS)] = 3
    """The first level of the page, 1 for beginners; analysis is at full strength."""
    learn: Annotated[bool, tyro.conf.Suppress] = False  # the page replays a game again and again
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 or :: lets all machines that reach this one play."""
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 8000
    """Port to listen at; 0 takes a free one."""
    names: tuple[str, ...] = ()
    """Host names that the page may be opened by, besides localhost and addresses."""
    open: bool = False
    """Open the page in a browser."""
    max_searches: pydantic.PositiveInt = 2
    """Pages that are searched for at the same time."""
    max_simulations: pydantic.PositiveInt = 20_000
    """Simulations of one position."""
    max_seconds: pydantic.PositiveFloat = 30.0
    """Time for one position."""


def main(argv: Sequence[str]) -> int:
    """Loads the network, serves the page until Ctrl-C, and returns the exit code."""
    web = command_line.parse(WebConfig, argv, prog="azo web", description=__doc__)
    with extras.needed("the page", "starlette", "uvicorn"):
        from azo.play.web import app, server, sessions
    with server.listen(web.host, web.port) as listener:
        start = time.perf_counter()
        network = "azo's own" if web.network is None else str(web.network)
        offers = {
            game.name: sessions.Offer(game, network, make_engine)
            for game, make_engine in engines(web).items()
        }
        _warm_up(next(iter(offers.values())).make_engine())
        pages = sessions.SessionPool(max_searches=web.max_searches)
        application = app.make_app(
            offers,
            pages,
            level=web.level,
            bounds=app.Bounds(web.max_simulations, web.max_seconds),
            names=web.names,
        )
        print(f"network ({network}) loaded in {time.perf_counter() - start:.1f} s")
        address = server.url(listener)
        print(f"azo plays at {address}; Ctrl-C ends", flush=True)
        if web.open:
            webbrowser.open(address)
        server.serve(application, listener, pages.stop_all)
    return 0


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


def _warm_up(engine: Engine) -> None:
    """Compiles the programs of a game, so that the first move does not wait for them."""
    full = engine.config
    for level in (1, engine_settings.NUM_LEVELS):
        engine.config = engine_settings.at_level(full, level)
        engine.think(engine_settings.Limits(num_simulations=2 * full.leaves_per_step))
    while engine.num_empties > _NUM_EMPTIES_TO_SOLVE and not engine.is_over:
        engine.play(engine.legal_actions[0])
    if not engine.is_over:
        engine.think(engine_settings.Limits(num_simulations=1, is_analysis=True))
