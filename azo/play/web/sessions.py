"""Searches for open pages: each in a thread, few at a time, each page with its own trees.

The server stores no game: a page sends its whole game with every request, so nothing is lost when a
page reloads or the server restarts. A session holds two engines, whose trees are reused: one plays
at a level, one advises at full strength. Separate trees keep a low level weak.
"""

import asyncio
import collections
import dataclasses
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable

from starlette.exceptions import HTTPException

from azo.games import variant
from azo.play import engine_settings, live_engine, live_game
from azo.play.search_report import SearchReport
from azo.play.web import messages

PROGRESS_SECONDS = 0.15
TURN_SECONDS = 2.0  # that a search may take while another one waits for its place
_BUSY_SECONDS = 1

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Offer:
    """A game that this server offers."""

    game: variant.Variant
    network: str  # name to show
    make_engine: Callable[[], live_engine.Engine]  # at full strength; the first may take seconds


class PageSession:
    """The engines of one page, which has one search at a time."""

    def __init__(self) -> None:
        """Starts without engines."""
        self.turn = asyncio.Lock()
        self.stop = threading.Event()  # of the current search
        self.num_requests = 0
        self._engines: dict[messages.Role, live_engine.Engine] = {}
        self._full: dict[messages.Role, engine_settings.EngineConfig] = {}

    def think(
        self,
        offer: Offer,
        game: live_game.LiveGame,
        request: messages.ThinkRequest,
        is_stopped: Callable[[], bool],
        on_progress: Callable[[SearchReport], None],
    ) -> SearchReport:
        """Searches in the caller's thread; the caller holds `turn`."""
        role = request.role
        engine = self._engines.get(role)
        if engine is None or engine.game != offer.game:
            engine = self._engines[role] = offer.make_engine()
            self._full[role] = engine.config
        config = self._full[role]
        if role == "play":
            config = engine_settings.at_level(config, request.level)
            seconds = min(config.seconds or request.seconds, request.seconds)
            limits = engine_settings.Limits(config.num_simulations, seconds)
        else:
            limits = engine_settings.Limits(
                request.num_simulations, request.seconds, is_analysis=True
            )
        engine.config = config
        engine.new_game(game.start, game.actions)
        return engine.think(
            limits,
            is_stopped=is_stopped,
            on_progress=on_progress,
            progress_seconds=PROGRESS_SECONDS,
        )


class SearchTask:
    """A search in a thread: its reports, and a way to stop it."""

    def __init__(
        self,
        session: PageSession,
        offer: Offer,
        game: live_game.LiveGame,
        request: messages.ThinkRequest,
        address: str,
    ):
        """Starts the search in a thread of the running event loop."""
        self.address, self.start = address, time.monotonic()
        loop = asyncio.get_running_loop()
        self._reports: asyncio.Queue[SearchReport | None] = asyncio.Queue()
        self.stop = session.stop = threading.Event()  # ends the search soon

        def publish(report: SearchReport) -> None:
            loop.call_soon_threadsafe(self._reports.put_nowait, report)

        self.future = loop.run_in_executor(
            None, session.think, offer, game, request, self.stop.is_set, publish
        )
        self.future.add_done_callback(lambda _: self._reports.put_nowait(None))

    async def reports(self) -> AsyncIterator[tuple[SearchReport, bool]]:
        """Yields the reports so far, each with False, and the final one with True.

        Raises:
          HTTPException: the engine failed.
        """
        while (report := await self._reports.get()) is not None:
            yield report, False
        try:
            final = self.future.result()
        except Exception:
            _log.exception("a search failed")
            message = "azo failed at this position; see its console"
            raise HTTPException(500, message) from None
        yield final, True


class SessionPool:
    """The sessions of all pages: the latest ones keep engines, and few searches run at a time.

    A search that finds all places taken gets that of an address with two more, or that of a search
    that has had its turn.
    """

    def __init__(self, *, max_searches: int = 2, max_sessions: int = 4):
        """Starts empty, with the largest number of running searches and of kept sessions."""
        self._max_searches, self._max_sessions = max_searches, max_sessions
        self._sessions: collections.OrderedDict[str, PageSession] = collections.OrderedDict()
        self._running: set[SearchTask] = set()

    async def search(
        self, offer: Offer, game: live_game.LiveGame, request: messages.ThinkRequest, address: str
    ) -> SearchTask:
        """Starts a search for a page at an address, after stopping the page's current one.

        Raises:
          HTTPException: too many searches run for other pages, or the page has sent a newer
            request meanwhile.
        """
        session = self._sessions.get(request.session) or PageSession()
        session.stop.set()
        session.num_requests += 1
        number = session.num_requests
        await session.turn.acquire()
        try:
            if session.num_requests != number:
                raise HTTPException(409, "replaced by a newer request")
            self._make_room(address)
            self._keep(request.session, session)
            task = SearchTask(session, offer, game, request, address)
        except BaseException:
            session.turn.release()
            raise
        self._running.add(task)

        def release(_: object) -> None:
            self._running.discard(task)
            session.turn.release()

        task.future.add_done_callback(release)
        return task

    def stop_all(self) -> None:
        """Stops all searches; returns at once."""
        for task in self._running:
            task.stop.set()

    def _make_room(self, address: str) -> None:
        """Stops a search if all places are taken: one of the address with most, the oldest first.

        Raises:
          HTTPException: the search began less than `TURN_SECONDS` ago, and an equal share of the
            places would not change.
        """
        running = [task for task in self._running if not task.stop.is_set()]
        if len(running) < self._max_searches:
            return
        number = collections.Counter(task.address for task in running)
        oldest = max(running, key=lambda task: (number[task.address], -task.start))
        is_unequal = number[oldest.address] - number[address] >= 2
        if not is_unequal and time.monotonic() - oldest.start < TURN_SECONDS:
            raise HTTPException(
                503,
                f"azo is busy with {len(running)} other searches: try again in a moment",
                {"retry-after": str(_BUSY_SECONDS)},
            )
        oldest.stop.set()  # its page gets the report so far as the final one

    def _keep(self, name: str, session: PageSession) -> None:
        self._sessions[name] = session
        self._sessions.move_to_end(name)
        idle = [name for name, kept in self._sessions.items() if not kept.turn.locked()]
        if len(self._sessions) > self._max_sessions and idle:
            del self._sessions[idle[0]]
