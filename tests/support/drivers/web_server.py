"""The page's server on a free local port in a thread, and a client."""

import asyncio
import contextlib
import dataclasses
import http.client
import json
import signal
import threading
import time

from azo.engine import engine_settings, live_engine
from azo.games import othello
from azo.web import app, server, sessions
from support.fakes.hash_evaluator import HashEvaluator

QUICK = engine_settings.EngineConfig(num_simulations=40, leaves_per_step=8)
SESSION = "0123456789abcdef"


class SlowEvaluator(HashEvaluator):
    """An evaluator that takes some time."""

    seconds = 0.02

    def request(self, *args, **kwargs):
        time.sleep(self.seconds)
        return super().request(*args, **kwargs)


def maker(game, evaluator=None, config=QUICK):
    evaluator = evaluator or HashEvaluator(game)
    return lambda: live_engine.Engine(evaluator, config)


def makers(*games):
    return {game: maker(game) for game in games or (othello.Othello(6),)}


@contextlib.contextmanager
def running(offered, *, max_searches=2, max_sessions=4, port=0, **kwargs):
    """Runs the page's server; see `serving`."""
    pages = sessions.SessionPool(offered, max_searches=max_searches, max_sessions=max_sessions)
    application = app.make_app(pages, "a fake", **kwargs)
    with serving(application, pages.stop_all, port=port) as port:
        yield port


@contextlib.contextmanager
def serving(application, stop_answers=lambda: None, *, port=0, **options):
    """Serves an application until it gets Ctrl-C in the end; yields the port, 0: a free one."""
    with server.listen("127.0.0.1", port) as listener:
        running_server = server.Server(application, stop_answers, **options)
        thread = threading.Thread(
            target=lambda: asyncio.run(running_server.serve(sockets=[listener]))
        )
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            running_server.handle_exit(signal.SIGINT, None)
            thread.join(10)
        assert not thread.is_alive()


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]


def ask(port, path, body=None, *, method=None, headers=None):
    """Sends one request, a JSON one if there is a body, and returns the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    if isinstance(body, dict):
        body = json.dumps(body)
    sent = {"content-type": "application/json"} if body is not None else {}
    method = method or ("GET" if body is None else "POST")
    # The path is sent unchanged: browsers and other clients would tidy it up.
    connection.request(method, path, body, sent | (headers or {}))
    response = connection.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    connection.close()
    return answer


def question(game="othello6", moves="", *, session=SESSION, **how):
    return {"game": game, "moves": moves, "session": session, "role": "advise", **how}


def wait_until(is_so, seconds=5.0):
    """Waits until something is so; returns whether it is."""
    end = time.monotonic() + seconds
    while not (state := is_so()) and time.monotonic() < end:
        time.sleep(0.01)
    return state
