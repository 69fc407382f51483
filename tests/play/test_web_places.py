"""Searches of several pages: they wait in their order, and the queue is bounded."""

import concurrent.futures
import time

from support.web_server import SlowEvaluator, ask, maker, question, running, wait_until

from azo.games import othello
from azo.play.web import sessions

GAME = othello.Othello(6)


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
    with (
        concurrent.futures.ThreadPoolExecutor() as pool,
        running({GAME: maker(GAME, SlowEvaluator(GAME))}, max_searches=1) as port,
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
    evaluator = SlowEvaluator(GAME)
    with (
        concurrent.futures.ThreadPoolExecutor() as pool,
        running({GAME: maker(GAME, evaluator)}, max_searches=1) as port,
    ):
        first, second, third = searches(port, "abb", pool)
        assert wait_until(lambda: len(evaluator.batches) > 4)
        assert second.result().status == 409
        assert first.result().lines[-1]["is_final"]
        assert not third.done()
