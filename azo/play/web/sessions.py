"""Searches for open pages: each in a thread and a place of `Places`, each page with its own trees.

The server stores no game: a page sends its whole game with every request, so nothing is lost when a
page reloads or the server restarts. A session holds an engine, whose trees are reused.

Few searches run at a time, and addresses take turns (docs/reliability.md): in each round every
address that waits gets one place, for its earliest search. So an address waits at most one turn for
each other address, whatever their number of requests.
"""

import asyncio
import bisect
import collections
import contextlib
import functools
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException

from azo.games import variant
from azo.games.host import live_game
from azo.play.engine import live_engine
from azo.play.engine.engine_settings import Limits
from azo.play.engine.search_report import SearchReport
from azo.play.web import messages

PROGRESS_SECONDS = 0.15
TURN_SECONDS = 2.0  # that a search may take while another one waits
MAX_WAITING = 16  # searches of all addresses
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
        if request.role == "play":
            if engine.level != request.level:
                engine.level = request.level
            config = engine.play_config
            limits = Limits(config.num_simulations, min(config.seconds or seconds, seconds))
        return engine.think(limits, is_stopped=is_stopped, **watch)


class PageSearch:
    """A search: it waits for a place, runs in a thread, and has reports."""

    def __init__(self, address: str):
        """Describes a search for an address, in the running event loop."""
        self.address = address
        self.round = 0  # in which it gets a place
        self.start = 0.0  # when it got the place, by the monotonic clock
        self.stop = threading.Event()  # ends it soon
        self._loop = asyncio.get_running_loop()
        self.has_place: asyncio.Future[None] = self._loop.create_future()
        # The last item is the result.
        self._reports: asyncio.Queue[SearchReport | asyncio.Future[SearchReport]] = asyncio.Queue()

    def begin(
        self,
        think: Callable[[Callable[[SearchReport], None]], SearchReport],
        on_end: Callable[[], None],
    ) -> None:
        """Starts `think` in a thread, with a function that takes its reports."""

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


class Places:
    """All places, and the searches that wait for one."""

    def __init__(self, number: int):
        self._number = number
        self._round = 0  # of the last search that got a place
        self._running: list[PageSearch] = []
        self._waiting: list[PageSearch] = []  # the next one first
        self._is_closed = False

    async def take(self, search: PageSearch) -> None:
        """Waits until a place is free. The caller must `release` it, also after an error.

        HTTPException if the search was withdrawn, or the queue is full.
        """
        own = [other.round for other in self._waiting if other.address == search.address]
        search.round = max(own, default=self._round) + 1
        bisect.insort(self._waiting, search, key=lambda other: other.round)
        if len(self._waiting) > MAX_WAITING:
            number = collections.Counter(other.address for other in self._waiting)

            def cost(other: PageSearch) -> tuple[int, bool, int]:
                return number[other.address], other.address == search.address, other.round

            lost = max(self._waiting, key=cost)
            message = f"azo is busy: {MAX_WAITING} searches wait already; try again in a moment"
            self._refuse(lost, HTTPException(503, message, {"retry-after": str(_RETRY_SECONDS)}))
        self._assign()
        await search.has_place

    def withdraw(self, search: PageSearch) -> None:
        """Ends a search: a waiting one raises HTTPException, a running one is told to stop."""
        search.stop.set()
        self._refuse(search, HTTPException(409, "replaced by a newer request"))

    def release(self, search: PageSearch) -> None:
        """Ends the use of a place, or the wait for it."""
        for searches in (self._running, self._waiting):
            if search in searches:
                searches.remove(search)
        self._assign()

    def stop_all(self) -> None:
        """Stops all searches, and later ones as soon as they begin; any thread may call it."""
        self._is_closed = True

    def must_end(self, search: PageSearch) -> bool:
        """Returns whether a running search has to end; its thread calls this often.

        Its page gets the report so far as the final one.
        """
        if self._is_closed or search.stop.is_set():
            return True
        running, waiting = self._running.copy(), self._waiting.copy()  # the loop changes them
        if not (running and waiting):
            return False
        number = collections.Counter(other.address for other in running)
        oldest = max(running, key=lambda other: (number[other.address], -other.start))
        is_unequal = number[oldest.address] - number[waiting[0].address] >= 2
        return search is oldest and (is_unequal or time.monotonic() >= search.start + TURN_SECONDS)

    def _refuse(self, search: PageSearch, error: HTTPException) -> None:
        """Raises an error in a waiting search; does nothing to others."""
        if search in self._waiting:
            self._waiting.remove(search)
            if not search.has_place.done():
                search.has_place.set_exception(error)

    def _assign(self) -> None:
        while self._waiting and len(self._running) < self._number:
            search = self._waiting.pop(0)
            self._running.append(search)
            self._round, search.start = search.round, time.monotonic()
            if not search.has_place.done():  # cancelled
                search.has_place.set_result(None)


class SessionPool:
    """The sessions of all pages: the latest ones keep engines, and few searches run at a time."""

    def __init__(self, makers: Makers, *, max_searches: int = 2, max_sessions: int = 4):
        """Starts empty, with the largest number of running searches and of kept sessions."""
        self.makers, self._max_sessions = makers, max_sessions
        self._sessions: dict[str, PageSession] = {}  # the latest one last
        self._places = Places(max_searches)
        self._latest: dict[str, PageSearch] = {}  # of each page with a search, waiting or running
        self.stop_all = self._places.stop_all

    async def search(
        self, game: live_game.LiveGame, request: messages.ThinkRequest, address: str
    ) -> PageSearch:
        """Ends a page's current search, waits for a place, and starts the next search.

        HTTPException if too many searches wait, or the page has sent a newer request meanwhile.
        """
        name, search = request.session, PageSearch(address)
        earlier, self._latest[name] = self._latest.get(name), search
        with contextlib.ExitStack() as stack:
            stack.callback(self._end, name, search)
            if earlier is not None:
                self._places.withdraw(earlier)
            await self._places.take(search)
            session = self._sessions.get(name) or PageSession(self.makers)
            await session.turn.acquire()
            stack.callback(session.turn.release)
            self._keep(name, session)
            must_end = functools.partial(self._places.must_end, search)
            think = functools.partial(session.think, game, request, must_end)
            search.begin(think, stack.pop_all().close)
        return search

    def _end(self, name: str, search: PageSearch) -> None:
        self._places.release(search)
        if self._latest.get(name) is search:
            del self._latest[name]

    def _keep(self, name: str, session: PageSession) -> None:
        self._sessions.pop(name, None)
        self._sessions[name] = session
        idle = [name for name, kept in self._sessions.items() if not kept.turn.locked()]
        if len(self._sessions) > self._max_sessions and idle:
            del self._sessions[idle[0]]
