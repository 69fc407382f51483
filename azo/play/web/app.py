"""The page's application: static files, games, and searches with their progress.

`GET /` is the page, `GET /api/settings` lists games and levels. `POST /api/read` and `/api/game`
take a text or a game and return it ply by ply. `POST /api/think` answers with lines of JSON,
`{"report": ...}`; the last one has `"is_final": true` or is `{"error": ...}`. A search ends when
its reader disconnects. All errors are `{"error": ...}` with one line for the reader.
"""

import contextlib
import json
import pathlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from azo.play import engine_settings, live_game
from azo.play.web import connections, game_reader, guard, messages
from azo.play.web.sessions import Offer, SearchTask, SessionPool

STATIC = pathlib.Path(__file__).parent / "static"
MAX_SIMULATIONS, MAX_SECONDS = 20_000, 30.0  # that a page may request for one search


def make_app(
    offers: Mapping[str, Offer],
    sessions: SessionPool,
    *,
    level: int = engine_settings.NUM_LEVELS,
    names: Collection[str] = (),
) -> Starlette:
    """Returns the application.

    The first of `offers` is the page's default game, `level` its default level. `names` are host
    names of this server, besides localhost and IP addresses.
    """
    pages = _Pages(offers, sessions, level)
    return Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Route("/api/settings", pages.settings, methods=["GET"]),
            Route("/api/read", pages.read, methods=["POST"]),
            Route("/api/game", pages.game, methods=["POST"]),
            Route("/api/think", pages.think, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(guard.Guard, names=names)],
        exception_handlers={HTTPException: _error},
    )


class _Pages:
    def __init__(self, offers: Mapping[str, Offer], sessions: SessionPool, level: int):
        self._offers, self._sessions, self._level = offers, sessions, level
        self._games = [offer.game for offer in offers.values()]

    async def settings(self, _: Request) -> Response:
        return JSONResponse(
            {
                "games": [
                    messages.offer_json(offer.game, offer.network)
                    for offer in self._offers.values()
                ],
                "levels": engine_settings.LEVEL_NAMES,
                "level": self._level,
                "max_simulations": MAX_SIMULATIONS,
                "max_seconds": MAX_SECONDS,
                "max_text": messages.MAX_TEXT,
            }
        )

    async def read(self, request: Request) -> Response:
        body = await guard.read_json(request, messages.ReadRequest)
        with _bad_request():
            game, note = game_reader.read(body.text, self._offer(body.game).game, self._games)
        return JSONResponse(messages.game_json(game, note))

    async def game(self, request: Request) -> Response:
        body = await guard.read_json(request, messages.GameRequest)
        return JSONResponse(messages.game_json(self._replay(body)))

    async def think(self, request: Request) -> Response:
        body = await guard.read_json(request, messages.ThinkRequest)
        game = self._replay(body)
        if game.is_over:
            raise HTTPException(400, "the game is over: there is no move to search")
        if body.num_simulations > MAX_SIMULATIONS:
            raise HTTPException(400, f"at most {MAX_SIMULATIONS} simulations at a time")
        if body.seconds > MAX_SECONDS:
            raise HTTPException(400, f"at most {MAX_SECONDS:g} seconds at a time")
        if body.level > engine_settings.NUM_LEVELS:
            message = f"level {body.level}: {engine_settings.LEVELS}"
            raise HTTPException(400, message)
        address = connections.network_of(request.client.host) if request.client else ""
        task = await self._sessions.search(self._offer(body.game), game, body, address)
        return _Reports(task, game.game.size)

    def _offer(self, name: str) -> Offer:
        if name not in self._offers:
            names = ", ".join(self._offers)
            raise HTTPException(400, f"no network for {name!r}; there are networks for {names}")
        return self._offers[name]

    def _replay(self, body: messages.GameRequest) -> live_game.LiveGame:
        offer = self._offer(body.game)
        with _bad_request():
            return game_reader.replay(offer.game, body.moves, body.start)


class _Reports(StreamingResponse):
    """Lines of JSON during a search, which ends with the response at the latest."""

    def __init__(self, task: SearchTask, size: int):
        super().__init__(self._lines(task, size), media_type="application/x-ndjson")
        self._task = task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._task.stop.set()

    @staticmethod
    async def _lines(task: SearchTask, size: int) -> AsyncIterator[str]:
        def line(answer: dict[str, Any]) -> str:
            return json.dumps(answer, separators=(",", ":")) + "\n"

        try:
            async for report, is_final in task.reports():
                yield line({"report": messages.report_json(report, size), "is_final": is_final})
        except HTTPException as error:
            yield line({"error": error.detail})


@contextlib.contextmanager
def _bad_request() -> Iterator[None]:
    """Turns wrong input into an answer for the reader."""
    try:
        yield
    except ValueError as error:
        raise HTTPException(400, str(error)) from None


async def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
