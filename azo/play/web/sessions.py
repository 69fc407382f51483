"""Searches for the pages that are open: each in a thread, few at a time, each page's own trees.

The server keeps no game: a page sends the whole of it with every question, so a page that was
reloaded, a server that was started anew, or a session that was dropped loses nothing. What a
session has is engines, whose trees go on with the game: one that plays at a level, and one that
advises at full strength, so that a beginner's level does not profit from an analysis.
"""

import asyncio
import collections
import dataclasses
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Literal

from azo.games import othello
from azo.play import engine_settings, live_engine
from azo.play.search_report import SearchReport
from azo.play.web import web_game
from azo.play.web.guard import Refused

PROGRESS_SECONDS = 0.15
_BUSY_SECONDS = 1

_log = logging.getLogger(__name__)

Role = Literal["play", "advise"]


@dataclasses.dataclass(frozen=True)
class Offer:
    """A game that can be played here."""

    game: othello.Othello
    network: str  # what to call it
    make_engine: Callable[[], live_engine.Engine]  # at full strength; the first may take seconds


@dataclasses.dataclass(frozen=True)
class Task:
    """What an engine is to do."""

    offer: Offer
    game: web_game.WebGame
    role: Role
    limits: engine_settings.Limits | None  # None: those of the level
    level: int = engine_settings.NUM_LEVELS
    max_seconds: float = 10.0


class PageSession:
    """The engines of one page, which thinks about one thing at a time."""

    def __init__(self) -> None:
        """Begins without engines."""
        self.turn = asyncio.Lock()
        self.stop = threading.Event()  # of the search under way
        self.num_asked = 0  # searches so far
        self._engines: dict[Role, tuple[live_engine.Engine, engine_settings.EngineConfig]] = {}

    def think(
        self,
        task: Task,
        is_stopped: Callable[[], bool],
        on_progress: Callable[[SearchReport], None],
    ) -> SearchReport:
        """Thinks, in the caller's thread; for the holder of `turn`."""
        engine, full = self._engine(task)
        config = full
        if task.role == "play":
            config = engine_settings.at_level(full, task.level)
        if engine.config != config:
            engine.config = config
        engine.new_game(task.game.boards[0], task.game.actions)
        limits = task.limits
        if limits is None:
            seconds = min(config.seconds or task.max_seconds, task.max_seconds)
            limits = engine_settings.Limits(config.num_simulations, seconds)
        return engine.think(
            limits,
            is_stopped=is_stopped,
            on_progress=on_progress,
            progress_seconds=PROGRESS_SECONDS,
        )

    def _engine(self, task: Task) -> tuple[live_engine.Engine, engine_settings.EngineConfig]:
        """Returns the engine for a task and its settings at full strength."""
        known = self._engines.get(task.role)
        if known is None or known[0].game != task.offer.game:
            engine = task.offer.make_engine()
            known = self._engines[task.role] = (engine, engine.config)
        return known


class SearchTask:
    """A search under way in a thread: what it finds out, and a way to end it."""

    def __init__(self, session: PageSession, task: Task):
        """Prepares it; `start` begins."""
        self._session, self._task = session, task
        self._found: asyncio.Queue[SearchReport | None] = asyncio.Queue()
        self._stop = session.stop = threading.Event()
        self.future: asyncio.Future[SearchReport]

    def start(self) -> None:
        """Begins, in a thread of the running loop."""
        loop = asyncio.get_running_loop()

        def tell(thought: SearchReport) -> None:
            loop.call_soon_threadsafe(self._found.put_nowait, thought)

        self.future = loop.run_in_executor(
            None, self._session.think, self._task, self._stop.is_set, tell
        )
        self.future.add_done_callback(lambda _: self._found.put_nowait(None))

    def stop(self) -> None:
        """Ends the search soon; nobody need wait for it."""
        self._stop.set()

    async def thoughts(self) -> AsyncIterator[tuple[SearchReport, bool]]:
        """Yields what is known so far, and at last what the search came to, with True.

        Raises:
          Refused: the engine failed.
        """
        while (thought := await self._found.get()) is not None:
            yield thought, False
        try:
            found = self.future.result()
        except Exception:
            _log.exception("a search failed")
            raise Refused(500, "azo failed at this position; its console says why") from None
        yield found, True


class SessionPool:
    """All pages: the latest ones keep their engines, and few searches run at a time."""

    def __init__(self, *, max_searches: int = 2, max_sessions: int = 4):
        """Begins without any; so many searches may run, so many pages keep their engines."""
        self._max_searches, self._max_sessions = max_searches, max_sessions
        self._sessions: collections.OrderedDict[str, PageSession] = collections.OrderedDict()
        self._running: set[SearchTask] = set()

    async def search(self, name: str, task: Task) -> SearchTask:
        """Begins a search for a page; the one that it has under way is ended first.

        Raises:
          Refused: as many searches as are allowed run for other pages, or the page has asked for
            yet another one meanwhile.
        """
        session = self._session(name)
        session.stop.set()
        session.num_asked += 1
        number = session.num_asked
        await session.turn.acquire()
        try:
            if session.num_asked != number:
                raise Refused(409, "replaced by a later question")
            if len(self._running) >= self._max_searches:
                raise Refused(
                    503,
                    f"azo is busy with {len(self._running)} other searches: try again in a moment",
                    {"retry-after": str(_BUSY_SECONDS)},
                )
        except Refused:
            session.turn.release()
            raise
        search = SearchTask(session, task)
        self._running.add(search)

        def release(_: object) -> None:
            self._running.discard(search)
            session.turn.release()

        search.start()
        search.future.add_done_callback(release)
        return search

    def stop_all(self) -> None:
        """Ends all searches soon."""
        for search in self._running:
            search.stop()

    def _session(self, name: str) -> PageSession:
        session = self._sessions.setdefault(name, PageSession())
        self._sessions.move_to_end(name)
        while len(self._sessions) > self._max_sessions:
            _, dropped = self._sessions.popitem(last=False)
            dropped.stop.set()
        return session


def by_name(offers: Mapping[str, Offer], name: str) -> Offer:
    """Returns the offer of a game; raises `Refused` if there is none."""
    if name not in offers:
        raise Refused(400, f"there is no network for {name!r}, but for {', '.join(offers)}")
    return offers[name]
