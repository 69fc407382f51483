"""A server with the network that comes with azo, and a published game that was analysed there."""

import pathlib

import pytest
from support.drivers.web_server import maker, running
from support.drivers.web_visit import Visit

from azo.cli import web
from azo.engine import engine_factory
from azo.games import othello

_FILE = pathlib.Path(__file__).parents[1] / "data" / "olivaw_game08.txt"


@pytest.fixture(scope="module")
def port():
    """A server with the network that comes with azo, and a small board."""
    # On a loaded machine the first solved position takes more than the usual time.
    engine = web.WebConfig().engine.model_copy(update={"solve_seconds": 60.0})
    usual, make = next(iter(engine_factory.engines(web.WebConfig(engine=engine)).items()))
    engine_factory.warm_up(make())
    small = othello.Othello(4)
    with running({usual: make, small: maker(small)}, level=3) as port:
        yield port


@pytest.fixture(scope="module")
def analysed(browser, port):
    """What the browser stores of game 8 after its analysis."""
    visit = Visit(browser, port, size="notebook")
    visit.open_game(_FILE.read_text())
    visit.wait_for_moves(59)
    visit.wait_for_analysis()
    visit.page.reload()  # leaving the page stores the game
    visit.wait_for_moves(59)
    state = visit.context.storage_state()
    visit.end()
    return state


@pytest.fixture
def review(open_page, port, analysed, size):
    """The page with game 8, from the list of stored games."""
    visit = open_page(port, size=size, storage_state=analysed)
    visit.press("#games")
    visit.press("#games-list button")
    visit.wait_for_moves(59)
    return visit
