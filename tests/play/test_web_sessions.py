"""Searches for several pages: few at a time, one a page, none without a reader."""

import contextlib
import http.client
import json
import threading
import time

import pytest
from starlette.exceptions import HTTPException
from support import web_server
from support.hash_evaluator import HashEvaluator
from support.web_server import SlowEvaluator, ask, offer, offers, question, running, wait_until

from azo.games import othello
from azo.play import engine_settings
from azo.play.web import sessions


@pytest.fixture(scope="module")
def port():
    with running(offers()) as port:
        yield port


def test_a_session_keeps_its_tree_and_a_low_level_does_not_profit_from_it(port):
    def visits(**request):
        report = ask(port, "/api/think", question(**request)).lines[-1]["report"]
        return report["move"], sum(move["visits"] for move in report["moves"])

    session = "a" * 16
    best, first = visits(session=session, num_simulations=100)
    assert first >= 99
    _, more = visits(session=session, num_simulations=1, moves=best)
    assert more > 10
    _, of_beginner = visits(session=session, role="play", level=1, moves=best)
    assert of_beginner <= engine_settings.at_level(web_server.QUICK, 1).num_simulations < more
    _, fresh = visits(session="b" * 16, num_simulations=1, moves=best)
    assert fresh <= 2


class _Pages:
    """Pages that ask a slow server in threads."""

    def __init__(self, port):
        self.port = port
        self.answers = {}
        self._threads = []

    def ask(self, session, **how):
        def run():
            request = question(session=session, **{"num_simulations": 20_000, **how})
            self.answers[session] = ask(self.port, "/api/think", request)

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def wait(self):
        for thread in self._threads:
            thread.join(20)


def test_too_many_searches_are_refused(monkeypatch):
    monkeypatch.setattr(sessions, "TURN_SECONDS", 60)
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with running({game.name: offer(game, evaluator)}, max_searches=2) as port:
        pages = _Pages(port)
        pages.ask("a" * 16, seconds=1.0)
        pages.ask("b" * 16, seconds=1.0)
        assert wait_until(lambda: len(evaluator.batches) > 4)
        refused = ask(port, "/api/think", question(session="c" * 16))
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        assert refused.json["error"] == ("azo is busy with 2 other searches: try again in a moment")
        pages.wait()
        assert [answer.lines[-1]["is_final"] for answer in pages.answers.values()] == [True, True]
        assert ask(port, "/api/think", question(session="c" * 16)).status == 200


def test_a_search_that_has_had_its_turn_ends_for_another_page(monkeypatch):
    monkeypatch.setattr(sessions, "TURN_SECONDS", 0.2)
    with searching() as (port, pages):
        time.sleep(0.2)
        pages.ask("b" * 16, seconds=20.0)
        start = time.monotonic()
        asked = question(session="c" * 16, num_simulations=8)
        assert wait_until(lambda: ask(port, "/api/think", asked).status == 200)
        assert time.monotonic() - start < 5
    pages.wait()
    assert all(answer.lines[-1]["is_final"] for answer in pages.answers.values())


@contextlib.contextmanager
def begin(port, address="127.0.0.1", **how):
    """Asks for a search from an address; yields the open answer."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10, source_address=(address, 0))
    body = json.dumps(question(**how))
    client.request("POST", "/api/think", body, {"content-type": "application/json"})
    with contextlib.closing(client), client.getresponse() as response:
        yield response


def test_an_address_with_all_places_gives_one_to_another_address(monkeypatch):
    monkeypatch.setattr(sessions, "TURN_SECONDS", 60)
    with searching() as (port, pages):
        long = {"num_simulations": 20_000, "seconds": 20.0}
        with begin(port, session="b" * 16, **long) as second:
            assert second.status == 200
            assert ask(port, "/api/think", question(session="c" * 16)).status == 503
            other = {"address": "127.0.0.2", "session": "d" * 16}
            with begin(port, num_simulations=8, **other) as response:
                assert response.status == 200
                assert json.loads(response.read().splitlines()[-1])["is_final"]
            assert wait_until(lambda: pages.answers)  # the oldest, which has its final report
            assert pages.answers["a" * 16].lines[-1]["is_final"]


@contextlib.contextmanager
def searching():
    """A slow server that has begun a long search for a page; yields its port, and the pages."""
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with running({game.name: offer(game, evaluator)}) as port:
        pages = _Pages(port)
        pages.ask("a" * 16, seconds=20.0)
        assert wait_until(lambda: len(evaluator.batches) > 4)
        yield port, pages


def test_a_new_request_of_a_page_ends_its_search():
    with searching() as (port, pages):
        start = time.perf_counter()
        second = ask(port, "/api/think", question(session="a" * 16, num_simulations=8))
        assert second.lines[-1]["is_final"]
        pages.wait()
        assert time.perf_counter() - start < 5
        first = pages.answers["a" * 16].lines[-1]
        assert first["is_final"]
        assert first["report"]["num_simulations"] < 20_000


def test_a_search_ends_when_its_reader_disconnects():
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with running({game.name: offer(game, evaluator)}) as port:
        with begin(port, num_simulations=20_000, seconds=30) as response:
            response.readline()
        assert wait_until(lambda: _is_quiet(evaluator))


def _is_quiet(evaluator):
    before = len(evaluator.batches)
    time.sleep(10 * SlowEvaluator.seconds)
    return len(evaluator.batches) == before


def test_the_server_ends_soon_although_it_searches():
    with searching() as (_, pages):
        start = time.perf_counter()
    assert time.perf_counter() - start < 5
    pages.wait()
    assert pages.answers["a" * 16].lines[-1]["is_final"]  # and was not cut off


def test_time_limits_are_kept():
    game = othello.Othello(6)
    with running({game.name: offer(game, SlowEvaluator(game))}) as port:
        start = time.perf_counter()
        request = question(num_simulations=20_000, seconds=0.3)
        report = ask(port, "/api/think", request).lines[-1]["report"]
    assert 0.3 <= report["seconds"] < 1
    assert time.perf_counter() - start < 3


def test_a_failing_engine_is_an_error_on_the_page_and_a_traceback_on_the_console(caplog):
    class BrokenEvaluator(HashEvaluator):
        def request(self, *args, **kwargs):
            raise RuntimeError("no device")

    game = othello.Othello(6)
    with running({game.name: offer(game, BrokenEvaluator(game))}) as port:
        answer = ask(port, "/api/think", question())
        assert answer.lines == [{"error": "azo failed at this position; see its console"}]
        assert "no device" in caplog.text
        assert ask(port, "/api/game", {"game": game.name}).status == 200


def test_the_oldest_session_is_dropped_first(monkeypatch):
    def refuse(*_):
        raise HTTPException(503, "busy")

    game = othello.Othello(6)
    made = []

    def make_engine():
        made.append(1)
        return offer(game).make_engine()

    offered = {game.name: sessions.Offer(game, "a fake", make_engine)}
    with running(offered, max_sessions=2) as port:
        for name in "abacab":
            ask(port, "/api/think", question(session=name * 16, num_simulations=1))
        assert len(made) == 4  # a, b, c in place of b, b in place of c
        monkeypatch.setattr(sessions.SessionPool, "_make_room", refuse)
        for name in "cd":
            assert ask(port, "/api/think", question(session=name * 16)).status == 503
        monkeypatch.undo()
        for name in "ba":
            ask(port, "/api/think", question(session=name * 16, num_simulations=1))
    assert len(made) == 4  # refused pages have taken no places
