"""Searches for several pages: few at a time, in order, one a page, none without a reader."""

import concurrent.futures
import contextlib
import http.client
import json
import time

import pytest
from starlette.exceptions import HTTPException
from support.drivers import web_server
from support.drivers.web_server import (
    SlowEvaluator,
    ask,
    maker,
    makers,
    question,
    running,
    wait_until,
)
from support.fakes.hash_evaluator import HashEvaluator
from support.references import slow_board

from azo.engine import engine_settings
from azo.games import notation, othello
from azo.web import sessions


@pytest.fixture(scope="module")
def port():
    with running(makers()) as port:
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


@contextlib.contextmanager
def searching():
    """A slow server that searches for a page; yields its port, and a future of its answer."""
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with (
        concurrent.futures.ThreadPoolExecutor() as pool,
        running({game: maker(game, evaluator)}) as port,
    ):
        request = question(session="a" * 16, num_simulations=20_000, seconds=20.0)
        first = pool.submit(ask, port, "/api/think", request)
        assert wait_until(lambda: len(evaluator.batches) > 4)
        yield port, first


def test_a_new_request_of_a_page_ends_its_search():
    with searching() as (port, first):
        start = time.perf_counter()
        second = ask(port, "/api/think", question(session="a" * 16, num_simulations=8))
        assert second.lines[-1]["is_final"]
        last = first.result().lines[-1]
        assert time.perf_counter() - start < 5
        assert last["is_final"]
        assert last["report"]["num_simulations"] < 20_000


def test_a_search_ends_when_its_reader_disconnects():
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with running({game: maker(game, evaluator)}) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        body = json.dumps(question(num_simulations=20_000, seconds=30))
        client.request("POST", "/api/think", body, {"content-type": "application/json"})
        with contextlib.closing(client), client.getresponse() as response:
            response.readline()
        assert wait_until(lambda: _is_quiet(evaluator))


def _is_quiet(evaluator):
    before = len(evaluator.batches)
    time.sleep(10 * SlowEvaluator.seconds)
    return len(evaluator.batches) == before


def test_the_server_ends_soon_although_it_searches():
    with searching() as (_, first):
        start = time.perf_counter()
    assert time.perf_counter() - start < 5
    assert first.result().lines[-1]["is_final"]  # and was not cut off


def test_time_limits_are_kept():
    game = othello.Othello(6)
    with running({game: maker(game, SlowEvaluator(game))}) as port:
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
    with running({game: maker(game, BrokenEvaluator(game))}) as port:
        answer = ask(port, "/api/think", question())
        assert answer.lines == [{"error": "azo failed at this position; see its console"}]
        assert "no device" in caplog.text
        assert ask(port, "/api/read", {"game": game.name, "text": "c2"}).status == 200


def test_the_oldest_session_is_dropped_first(monkeypatch):
    async def refuse(*_):
        raise HTTPException(503, "busy")

    game = othello.Othello(6)
    made = []

    def make_engine():
        made.append(1)
        return maker(game)()

    with running({game: make_engine}, max_sessions=2) as port:
        for name in "abacab":
            ask(port, "/api/think", question(session=name * 16, num_simulations=1))
        assert len(made) == 4  # a, b, c in place of b, b in place of c
        monkeypatch.setattr(sessions.SessionPool, "_take_place", refuse)
        for name in "cd":
            assert ask(port, "/api/think", question(session=name * 16)).status == 503
        monkeypatch.undo()
        for name in "ba":
            ask(port, "/api/think", question(session=name * 16, num_simulations=1))
    assert len(made) == 4  # refused pages have taken no places


def test_a_position_is_solved_by_requests_that_go_on_where_the_last_one_ended(port):
    moves = notation.transcript(slow_board.random_game(6, seed=3)[1][:20], 6)
    scores = []
    while not scores or scores[-1] is None:
        request = question(moves=moves, session="c" * 16, role="solve", seconds=0.001)
        report = ask(port, "/api/think", request).lines[-1]["report"]
        scores.append(report["score"])
        assert len(scores) < 100
    assert report["source"] == "exact"
    assert report["moves"][0]["score"] == scores[-1]


def searches(port, names, pool):
    """Returns futures of the answers to long searches, which arrive one after another."""
    futures = []
    for name in names:
        request = question(session=name * 16, num_simulations=20_000, seconds=20.0)
        futures.append(pool.submit(ask, port, "/api/think", request))
        time.sleep(0.05)
    return futures


def test_a_search_ends_after_its_turn_while_others_wait_and_a_full_queue_refuses(monkeypatch):
    monkeypatch.setattr(sessions, "TURN_SECONDS", 0.3)
    monkeypatch.setattr(sessions, "MAX_WAITING", 2)
    game = othello.Othello(6)
    with (
        concurrent.futures.ThreadPoolExecutor() as pool,
        running({game: maker(game, SlowEvaluator(game))}, max_searches=1) as port,
    ):
        first, second, third, refused = searches(port, "abcd", pool)
        assert refused.result().status == 503
        for search, is_last in ((first, False), (second, False), (third, True)):
            if is_last:
                time.sleep(0.5)
                assert not search.done()  # nobody waits
                pool.submit(ask, port, "/api/think", question(session="e" * 16))
            last = search.result().lines[-1]
            assert last["is_final"]
            assert last["report"]["seconds"] < 5


def test_a_waiting_search_is_replaced_by_a_newer_one_of_its_page():
    game = othello.Othello(6)
    evaluator = SlowEvaluator(game)
    with (
        concurrent.futures.ThreadPoolExecutor() as pool,
        running({game: maker(game, evaluator)}, max_searches=1) as port,
    ):
        first, second, third = searches(port, "abb", pool)
        assert wait_until(lambda: len(evaluator.batches) > 4)
        assert second.result().status == 409
        assert first.result().lines[-1]["is_final"]
        assert not third.done()
