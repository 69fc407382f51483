"""Searches for open pages: each in a thread and a place of `Places`, each page with its own trees.

The server stores no game: a page sends its whole game with every request, so nothing is lost when a
page reloads or the server restarts. A session holds an engine, whose trees are reused.

Few searches run at a time, the others wait in their order. While one waits, the running ones end
after a turn.
"""

import asyncio
import contextlib
import dataclasses
import functools
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException

from azo.engine import live_engine
from azo.engine.engine_settings import Limits
from azo.engine.search_report import SearchReport
from azo.games import variant
from azo.games.host import live_game
from azo.web import messages

PROGRESS_SECONDS = 0.15
TURN_SECONDS = 2.0  # that a search may take while another one waits
MAX_WAITING = 16  # searches
_RETRY_SECONDS = 1

_log = logging.getLogger(__name__)


Makers = Mapping[variant.Variant, Callable[[], live_engine.Engine]]
"""For each offered game a function that makes an engine at full strength; it may take seconds."""


class PageSession:
    """The engine of one page, which has one search at a time."""

    def __init__(self, makers: Makers) -> None:
        self.turn = asyncio.Lock()
        self._makers = makers
        self._engine: live_engine.Engine | None = None

    def think(
        self,
        game: live_game.LiveGame,
        request: messages.ThinkRequest,
        is_stopped: Callable[[], bool],
        on_progress: Callable[[SearchReport], None],
    ) -> SearchReport:
        """Searches in the caller's thread; the caller holds `turn`."""
        if self._engine is None or self._engine.game != game.game:
            self._engine = self._makers[game.game]()
        engine = self._engine
        engine.new_game(game.start, game.actions)
        watch: dict[str, Any] = {"on_progress": on_progress, "progress_seconds": PROGRESS_SECONDS}
        seconds = request.seconds
        if request.role == "solve":
            deadline = time.monotonic() + seconds
            return engine.solve(
                is_stopped=lambda: is_stopped() or time.monotonic() >= deadline, **watch
            )
        limits = Limits(request.num_simulations, seconds, is_analysis=True)
        if request.is_deep:
            limits = dataclasses.replace(engine.deep_limits(limits), seconds=seconds)
        if request.role == "play":
            if engine.level != request.level:
                engine.level = request.level
            config = engine.play_config
            limits = Limits(config.num_simulations, min(config.seconds or seconds, seconds))
        report = engine.think(limits, is_stopped=is_stopped, **watch)
        return engine.with_people(report) if request.role == "advise" else report


class PageSearch:
    """A search: it waits for a place, runs in a thread, and has reports."""

    def __init__(self) -> None:
        """Prepares a search in the running event loop."""
        self.start = 0.0  # when it got its place, by the monotonic clock
        self.stop = threading.Event()  # ends it soon
        self._loop = asyncio.get_running_loop()
        # The last item is the result.
        self._reports: asyncio.Queue[SearchReport | asyncio.Future[SearchReport]] = asyncio.Queue()

    def begin(
        self,
        think: Callable[[Callable[[SearchReport], None]], SearchReport],
        on_end: Callable[[], None],
    ) -> None:
        """Starts `think` in a thread, with a function that takes its reports."""
        self.start = time.monotonic()

        def publish(report: SearchReport) -> None:
            self._loop.call_soon_threadsafe(self._reports.put_nowait, report)

        result = self._loop.run_in_executor(None, think, publish)
        result.add_done_callback(self._reports.put_nowait)
        result.add_done_callback(lambda _: on_end())

    async def reports(self) -> AsyncIterator[tuple[SearchReport, bool]]:
        """Yields reports with False, the final one with True; HTTPException after a failure."""
        while isinstance(report := await self._reports.get(), SearchReport):
            yield report, False
        if report.exception() is not None:
            _log.error("a search failed", exc_info=report.exception())
            raise HTTPException(500, "azo failed at this position; see its console")
        yield report.result(), True


class SessionPool:
    """The sessions of all pages: the latest ones keep engines, and few searches run at a time."""

    def __init__(self, makers: Makers, *, max_searches: int = 2, max_sessions: int = 4):
        """Starts empty, with the largest number of running searches and of kept sessions."""
        self.makers, self._max_sessions = makers, max_sessions
        self.evaluator = functools.cache(lambda game: makers[game]().evaluator)  # by its game
        self._sessions: dict[str, PageSession] = {}  # the latest one last
        self._places, self._num_waiting = asyncio.Semaphore(max_searches), 0
        self._latest: dict[str, PageSearch] = {}  # of each page with a search, waiting or running
        self._is_closed = False

    def stop_all(self) -> None:
        """Stops all searches, and later ones as soon as they begin; any thread may call it."""
        self._is_closed = True

    async def search(self, game: live_game.LiveGame, request: messages.ThinkRequest) -> PageSearch:
        """Ends a page's current search, waits for a place, and starts the next search.

        HTTPException if too many searches wait, or the page has sent a newer request meanwhile.
        """
        name, search = request.session, PageSearch()
        earlier, self._latest[name] = self._latest.get(name), search
        with contextlib.ExitStack() as stack:
            stack.callback(self._forget, name, search)
            if earlier is not None:
                earlier.stop.set()
            await self._take_place()
            stack.callback(self._places.release)
            if search.stop.is_set():
                raise HTTPException(409, "replaced by a newer request")
            session = self._sessions.get(name) or PageSession(self.makers)
            await session.turn.acquire()
            stack.callback(session.turn.release)
            self._keep(name, session)
            must_end = functools.partial(self._must_end, search)
            think = functools.partial(session.think, game, request, must_end)
            search.begin(think, stack.pop_all().close)
        return search

    async def _take_place(self) -> None:
        if self._num_waiting == MAX_WAITING:
            message = f"azo is busy: {MAX_WAITING} searches are waiting; try again in a moment"
            raise HTTPException(503, message, {"retry-after": str(_RETRY_SECONDS)})
        self._num_waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._num_waiting -= 1

    def _must_end(self, search: PageSearch) -> bool:
        """Returns whether a running search has to end; its thread calls this often.

        Its page gets the report so far as the final one.
        """
        is_late = self._num_waiting > 0 and time.monotonic() >= search.start + TURN_SECONDS
        return self._is_closed or search.stop.is_set() or is_late

    def _forget(self, name: str, search: PageSearch) -> None:
        if self._latest.get(name) is search:
            del self._latest[name]

    def _keep(self, name: str, session: PageSession) -> None:
        self._sessions.pop(name, None)
        self._sessions[name] = session
        idle = [name for name, kept in self._sessions.items() if not kept.turn.locked()]
        if len(self._sessions) > self._max_sessions and idle:
            del self._sessions[idle[0]]
