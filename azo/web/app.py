"""The page's application: static files, games, and searches with their progress.

The page knows the rules, so a move of its reader takes one request, for the reply. `GET /` is the
page, `GET /api/settings` lists games and levels. `POST /api/read` returns the game of a text or a
file, and lists the games there. `POST /api/reasons` says why a move is worse than another one.
`POST /api/think` answers with lines of JSON, `{"report": ...}`; the last one has `"is_final": true`
or is `{"error": ...}`. A search ends when its reader disconnects. All errors are `{"error": ...}`
with one line for the reader.
"""

import asyncio
import dataclasses
import json
import pathlib
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from azo.coach import reasons
from azo.engine import engine_settings
from azo.games import notation, variant
from azo.games.host import live_game
from azo.web import guard, messages
from azo.web.sessions import PageSearch, SessionPool

STATIC = pathlib.Path(__file__).parent / "static"


def make_app(
    sessions: SessionPool,
    network: str,
    *,
    level: int | str = engine_settings.NUM_LEVELS,
    names: Collection[str] = (),
    address: str | None = None,
) -> Starlette:
    """Returns the application.

    The first game of the `sessions` is the page's default, `level` its default level. `network` is
    the name to show. `names` are host names of this server, besides localhost and IP addresses.
    `address` is its URL for other machines, None if they cannot connect.
    """
    games = {game.name: game for game in sessions.makers}
    pages = _Pages(sessions, games, network, level, address)
    return Starlette(
        routes=[
            Route("/", lambda _: FileResponse(STATIC / "index.html"), methods=["GET"]),
            Route("/api/settings", pages.settings, methods=["GET"]),
            Route("/api/read", pages.read, methods=["POST"]),
            Route("/api/reasons", pages.reasons, methods=["POST"]),
            Route("/api/think", pages.think, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(guard.Guard, names=names)],
        exception_handlers={HTTPException: _error},
    )


@dataclasses.dataclass(frozen=True)
class _Pages:
    sessions: SessionPool
    games: Mapping[str, variant.Variant]  # by name
    network: str
    level: int | str
    address: str | None

    async def settings(self, _: Request) -> Response:
        return JSONResponse(
            {
                "games": [messages.offer_json(x, self.network) for x in self.games.values()],
                "levels": engine_settings.LEVEL_NAMES,
                "level": self.level,
                "people": list(engine_settings.PEOPLE_RATINGS),
                "max_simulations": messages.MAX_SIMULATIONS,
                "max_seconds": messages.MAX_SECONDS,
                "max_text": messages.MAX_TEXT,
                "max_file": messages.MAX_FILE,
                "address": self.address,
            }
        )

    async def read(self, request: Request) -> Response:
        body = await guard.read_json(request, messages.ReadRequest, messages.MAX_READ_BODY)
        chosen, offered = self._game(body.game), self.games.values()
        try:
            answer = await asyncio.to_thread(messages.read_json, body, chosen, offered)
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(answer)

    async def reasons(self, request: Request) -> Response:
        body = await guard.read_json(request, messages.ReasonsRequest)
        live = self._replay(body)
        try:
            refutation, better = (
                notation.parse_moves(line, live.game.size)
                for line in (body.refutation, body.better)
            )
            evaluator = await asyncio.to_thread(self.sessions.evaluator, live.game)
            facts = reasons.find(
                live.board,
                refutation,
                better,
                live.game,
                evaluator,
                leads=body.leads,
                is_exact=body.is_exact,
            )
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse([reason.text for reason in facts])

    async def think(self, request: Request) -> Response:
        body = await guard.read_json(request, messages.ThinkRequest)
        game = self._replay(body)
        if game.is_over:
            raise HTTPException(400, "the game is over: there is no move to search")
        try:
            engine_settings.check_level(body.level, game.game)
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        search = await self.sessions.search(game, body)
        return _Reports(search, game.game.size)

    def _game(self, name: str) -> variant.Variant:
        if name not in self.games:
            names = ", ".join(self.games)
            raise HTTPException(400, f"no network for {name!r}; there are networks for {names}")
        return self.games[name]

    def _replay(self, body: messages.GameRequest) -> live_game.LiveGame:
        game = self._game(body.game)
        try:
            start = None if body.start is None else notation.parse_board(body.start, game.size)
            live = live_game.LiveGame(game)
            live.new_game(start, notation.parse_moves(body.moves, game.size))
        except ValueError as error:
            raise HTTPException(400, str(error)) from None
        return live


class _Reports(StreamingResponse):
    """Lines of JSON during a search, which ends with the response at the latest."""

    def __init__(self, search: PageSearch, size: int):
        super().__init__(_lines(search, size), media_type="application/x-ndjson")
        self._search = search

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._search.stop.set()


async def _lines(search: PageSearch, size: int) -> AsyncIterator[str]:
    def line(answer: dict[str, Any]) -> str:
        return json.dumps(answer, separators=(",", ":")) + "\n"

    try:
        async for report, is_final in search.reports():
            yield line({"report": messages.report_json(report, size), "is_final": is_final})
    except HTTPException as error:
        yield line({"error": error.detail})


async def _error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
