"""The page's server: files of the page, games replayed, and thoughts as they improve.

`GET /` is the page, `GET /api/settings` what can be played. `POST /api/read` and `/api/game` take a
text or a game and return it ply by ply. `POST /api/think` answers with one line of JSON for each
improvement, `{"thought": ...}`; the last has `"is_final": true`, or it is `{"error": ...}`. When
the reader goes away the search ends. All errors are `{"error": ...}`, one line for the reader.
"""

import contextlib
import dataclasses
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

from azo.play import engine_settings
from azo.play.web import guard, messages, web_game
from azo.play.web.guard import Refused
from azo.play.web.sessions import Offer, SearchTask, SessionPool, Task, by_name

STATIC = pathlib.Path(__file__).parent / "static"


@dataclasses.dataclass(frozen=True)
class Bounds:
    """How much thinking about one position may be asked for."""

    max_simulations: int = 20_000
    max_seconds: float = 30.0


def make_app(
    offers: Mapping[str, Offer],
    sessions: SessionPool,
    *,
    level: int = engine_settings.NUM_LEVELS,
    bounds: Bounds | None = None,
    names: Collection[str] = (),
) -> Starlette:
    """Returns the application.

    Args:
      offers: games by name; the page begins with the first.
      sessions: where it searches.
      level: at which the page begins.
      bounds: on what a page may ask for.
      names: host names to answer to besides localhost and addresses.
    """
    pages = _Pages(offers, sessions, level, bounds or Bounds())
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
        exception_handlers={Refused: _refuse, HTTPException: _refuse_http},
    )


class _Pages:
    def __init__(
        self, offers: Mapping[str, Offer], sessions: SessionPool, level: int, bounds: Bounds
    ):
        self._offers, self._sessions, self._level, self._bounds = offers, sessions, level, bounds
        self._games = [offer.game for offer in offers.values()]

    async def settings(self, _: Request) -> Response:
        """What the page begins with."""
        return JSONResponse(
            {
                "games": [
                    {
                        "name": name,
                        "size": offer.game.size,
                        "is_reversed": offer.game.is_reversed,
                        "network": offer.network,
                    }
                    for name, offer in self._offers.items()
                ],
                "levels": [
                    engine_settings.level_name(level)
                    for level in range(1, engine_settings.NUM_LEVELS + 1)
                ],
                "level": self._level,
                "max_simulations": self._bounds.max_simulations,
                "max_seconds": self._bounds.max_seconds,
                "max_text": messages.MAX_TEXT,
            }
        )

    async def read(self, request: Request) -> Response:
        """Reads a pasted text."""
        asked = await guard.read_json(request, messages.ReadRequest)
        chosen = by_name(self._offers, asked.game).game
        with _refusing():
            played, note = web_game.read(asked.text, chosen, self._games)
        return JSONResponse(messages.game_json(played, note))

    async def game(self, request: Request) -> Response:
        """Replays a game."""
        asked = await guard.read_json(request, messages.GameRequest)
        return JSONResponse(messages.game_json(self._replay(asked)))

    async def think(self, request: Request) -> Response:
        """Thinks about the last position of a game."""
        asked = await guard.read_json(request, messages.ThinkRequest)
        played = self._replay(asked)
        if played.is_over:
            raise Refused(400, "the game is over: there is nothing to think about")
        task = self._task(asked, played)
        return _Thoughts(await self._sessions.search(asked.session, task), played.game.size)

    def _replay(self, asked: messages.GameRequest) -> web_game.WebGame:
        offer = by_name(self._offers, asked.game)
        with _refusing():
            return web_game.replay(offer.game, asked.moves, asked.start)

    def _task(self, asked: messages.ThinkRequest, played: web_game.WebGame) -> Task:
        bounds = self._bounds
        if asked.num_simulations > bounds.max_simulations:
            raise Refused(400, f"at most {bounds.max_simulations} simulations at a time")
        if asked.seconds > bounds.max_seconds:
            raise Refused(400, f"at most {bounds.max_seconds:g} seconds at a time")
        if asked.level > engine_settings.NUM_LEVELS:
            raise Refused(400, f"levels are 1 to {engine_settings.NUM_LEVELS}, not {asked.level}")
        limits = None
        if asked.role == "advise":
            limits = engine_settings.Limits(asked.num_simulations, asked.seconds, is_analysis=True)
        return Task(
            offer=self._offers[asked.game],
            game=played,
            role=asked.role,
            limits=limits,
            level=asked.level,
            max_seconds=asked.seconds,
        )


class _Thoughts(StreamingResponse):
    """Lines of JSON while a search goes on, which ends with the response at the latest."""

    def __init__(self, search: SearchTask, size: int):
        super().__init__(self._lines(search, size), media_type="application/x-ndjson")
        self._search = search

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._search.stop()

    @staticmethod
    async def _lines(search: SearchTask, size: int) -> AsyncIterator[str]:
        def line(answer: dict[str, Any]) -> str:
            return json.dumps(answer, separators=(",", ":")) + "\n"

        try:
            async for thought, is_final in search.thoughts():
                answer = {"thought": messages.thought_json(thought, size), "is_final": is_final}
                yield line(answer)
        except Refused as refused:
            yield line({"error": refused.message})


@contextlib.contextmanager
def _refusing() -> Iterator[None]:
    """Makes wrong input an answer for the reader."""
    try:
        yield
    except ValueError as error:
        raise Refused(400, str(error)) from None


async def _page(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _refuse(_: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return refused.response()


async def _refuse_http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
