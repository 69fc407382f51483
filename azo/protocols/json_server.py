"""Answers the queries of `azo json`: several threads analyse positions at the same time.

Each thread has its own engine, with a tree and a solver; they share the network. Every position is
searched with an empty tree and an empty table: its answer is the same whatever was asked before,
and its number of visits is at most the one asked for. A thread goes on with the next turns of a
game as long as no query of higher priority waits.

Actions are answered when they arrive. Queries that would make too many unfinished ones wait as
lines in `_backlog`, where actions find them too.
"""

import contextlib
import dataclasses
import itertools
import json
import math
import queue
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from azo.coach import game_analysis
from azo.engine.engine_settings import Limits
from azo.engine.live_engine import Engine
from azo.engine.search_report import MoveReport, SearchReport
from azo.games import notation, variant
from azo.games.host import live_game
from azo.protocols import json_queries
from azo.settings import shipped_files, validation

_MAX_UNFINISHED = 10_000  # queries; further ones are kept as lines
_MAX_BACKLOG = 1 << 28  # characters of these lines; then no line is read
_MAX_TURNS = 8  # of a query for one thread; others may take the next ones
_DIGITS = 6  # of rates and scores


@dataclasses.dataclass(eq=False)
class _Task:
    """A query whose turns wait or are analysed."""

    query: json_queries.Query
    game: live_game.LiveGame
    plies: Mapping[int, int]  # by turn
    only: Mapping[int, frozenset[int]]  # actions to search, of the turns that have a restriction
    waiting: set[int]  # turns
    running: set[int] = dataclasses.field(default_factory=set)  # turns
    stopped: set[int] = dataclasses.field(default_factory=set)  # turns

    def head(self, turn: int, *, is_during_search: bool = False) -> dict[str, Any]:
        """Returns the fields that name an answer."""
        return _head(self.query.id, turn, is_during_search=is_during_search)


def _head(name: str, turn: int, *, is_during_search: bool = False) -> dict[str, Any]:
    return {"id": name, "turnNumber": turn, "isDuringSearch": is_during_search}


class _UnwrittenError(Exception):
    """An answer could not be written; `JsonServer._failure` says why."""


class JsonServer:
    """Engines behind the protocol."""

    def __init__(
        self,
        makers: Mapping[variant.Variant, Callable[[], Engine]],
        write: Callable[[str], object],
        *,
        num_threads: int,
    ):
        """Prepares to `run`.

        `makers` have a function for each offered game, the usual one first, that makes an engine.
        `write` is called by any thread, but only by one at a time.
        """
        self._makers, self._write_text = makers, write
        self._games = {game.name: game for game in makers}
        self._num_threads = num_threads
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._tasks: dict[str, _Task] = {}  # unfinished ones, by id
        self._backlog: dict[str, str] = {}  # lines of later ones, by id, in their order
        self._backlog_size = 0  # characters
        self._shrinks = threading.Condition(self._lock)  # of the backlog
        self._admission = threading.Lock()  # of lines of the backlog, one at a time
        # Priority, number, task and turns in their order; None ends a thread.
        self._queue: queue.PriorityQueue[tuple[float, int, _Task | None, list[int]]]
        self._queue, self._numbers = queue.PriorityQueue(), itertools.count()
        self._failure: BaseException | None = None  # of the input or the output; ends everything

    def run(self, lines: Iterable[str]) -> None:
        """Answers queries until the end of the lines, and finishes those that wait.

        OSError if the output cannot be written. After a KeyboardInterrupt threads may still run.
        """
        threads = [threading.Thread(target=self._work) for _ in range(self._num_threads)]
        for thread in threads:
            thread.start()
        try:
            for line in lines:
                if self._failure is None and line.strip():
                    self._answer(line)
            with self._lock:
                self._shrinks.wait_for(lambda: not self._backlog or self._failure is not None)
        except KeyboardInterrupt:
            self._writing.acquire(timeout=0.2)  # a line that was begun is completed, and no other
            raise
        except _UnwrittenError:
            pass
        except BaseException as error:
            self._failure = error
        for _ in threads:
            self._queue.put((math.inf, next(self._numbers), None, []))
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure

    def _answer(self, line: str) -> None:
        """Answers a line, or lets a query wait for a thread."""
        try:
            query = json_queries.parse(line)
            for name in query.model_extra or {}:
                hint = validation.suggest(name, json_queries.FIELDS)
                warning = f"{name[:60]}: unknown, so ignored. {hint}"
                self._write({"warning": warning, "field": name, "id": query.id})
            if query.action is None:
                self._take(query, line)
                return
            answer = query.model_dump(by_alias=True, exclude_unset=True)
            if query.action == "query_version":
                answer["version"] = shipped_files.version()
            else:
                self._terminate(query)
            self._write(answer)
        except json_queries.QueryError as error:
            self._write(error.json)

    def _take(self, query: json_queries.Query, line: str) -> None:
        """Adds a query, or keeps its line until there is room."""
        with self._lock:
            if query.id in self._tasks or query.id in self._backlog:
                raise json_queries.QueryError("id: of an unfinished query", "id", query.id)
            has_room = len(self._tasks) < _MAX_UNFINISHED and not self._backlog
            if not has_room:
                self._shrinks.wait_for(
                    lambda: self._backlog_size < _MAX_BACKLOG or self._failure is not None
                )
                self._backlog[query.id] = line
                self._backlog_size += len(line)
        if has_room:
            self._add(query)

    def _add(self, query: json_queries.Query) -> None:
        game, plies, only = query.positions(self._games)
        task, turns = _Task(query, game, plies, only, set(plies)), sorted(plies)
        with self._lock:
            self._tasks[query.id] = task
        for first in range(0, len(turns), _MAX_TURNS):
            some = turns[first : first + _MAX_TURNS]
            self._queue.put((-query.priority, next(self._numbers), task, some))

    def _refill(self) -> None:
        """Adds queries of the backlog as long as there is room."""
        with self._admission:
            while self._backlog and len(self._tasks) < _MAX_UNFINISHED:
                self._admit(next(iter(self._backlog)))

    def _admit(self, name: str, *, is_terminated: bool = False) -> None:
        """Adds a query of the backlog, or answers that it has no results; holds `_admission`."""
        query = json_queries.parse(self._backlog[name])
        try:
            if is_terminated:
                for turn in sorted(query.positions(self._games).plies):
                    self._write(_head(name, turn) | {"noResults": True})
            else:
                self._add(query)
        except json_queries.QueryError as error:
            self._write(error.json)
        with self._lock:  # not before it is a task: the input may end in the meantime
            self._backlog_size -= len(self._backlog.pop(name))
            self._shrinks.notify_all()

    def _terminate(self, query: json_queries.Query) -> None:
        is_all = query.action == "terminate_all"
        with self._admission:
            for name in [x for x in self._backlog if is_all or x == query.terminate_id]:
                self._admit(name, is_terminated=query.turn_numbers is None)
        with self._lock:
            tasks = list(self._tasks.values())
            if not is_all:
                tasks = [task for task in tasks if task.query.id == query.terminate_id]
            dropped = []
            for task in tasks:
                task.stopped |= set(query.turn_numbers or task.plies)
                turns = task.waiting & task.stopped
                task.waiting -= turns
                dropped += [(task, turn) for turn in sorted(turns)]
                self._release(task)
        for task, turn in dropped:
            self._write(task.head(turn) | {"noResults": True})
        self._refill()

    def _release(self, task: _Task) -> None:
        """Forgets a task if all its turns are finished; the caller holds the lock."""
        if not (task.waiting or task.running):
            del self._tasks[task.query.id]

    def _work(self) -> None:
        """Analyses positions until no more will come; the code of a thread."""
        engines: dict[variant.Variant, Engine] = {}
        while True:
            rank, number, task, turns = self._queue.get()
            if task is None:
                return
            self._analyse(engines, task, turns.pop(0))
            if turns:  # for this thread again, unless a query of higher priority has come
                self._queue.put((rank, number, task, turns))

    def _analyse(self, engines: dict[variant.Variant, Engine], task: _Task, turn: int) -> None:
        """Analyses a turn, unless it was terminated, and writes the answer."""
        with self._lock:
            if turn not in task.waiting:
                return
            task.waiting.remove(turn)
            task.running.add(turn)
        try:
            answer = self._think(engines, task, turn) if self._failure is None else {}
        except _UnwrittenError:
            answer = {}
        except Exception:  # of azo itself: the other queries go on
            traceback.print_exc()
            engines.clear()
            answer = {"error": "azo failed at this position; see its standard error"}
        with self._lock:  # before the answer, after which the id may be used again
            task.running.remove(turn)
            self._release(task)
        with contextlib.suppress(_UnwrittenError):
            if self._failure is None:
                self._write(task.head(turn) | answer)
            self._refill()

    def _think(
        self, engines: dict[variant.Variant, Engine], task: _Task, turn: int
    ) -> dict[str, Any]:
        """Returns the answer for a turn, without its head; writes reports during the search."""
        query, game = task.query, task.game
        if game.game not in engines:
            engines[game.game] = self._makers[game.game]()
        engine = engines[game.game]
        engine.new_game(game.start, game.actions[: task.plies[turn]])
        engine.forget()
        if engine.is_over:
            return _report_json(query, engine, game_analysis.end_report(engine))
        limits = engine.config.limits(is_analysis=True)
        if query.max_visits is not None or query.max_time is not None:
            limits = Limits(query.max_visits, query.max_time, is_analysis=True)
        watch: dict[str, Any] = {}
        if query.report_during_search_every is not None:
            head = task.head(turn, is_during_search=True)
            watch["on_progress"] = lambda report: self._write(
                head | _report_json(query, engine, report)
            )
            watch["progress_seconds"] = query.report_during_search_every

        def is_stopped() -> bool:
            return turn in task.stopped or self._failure is not None

        report = engine.think(limits, only=task.only.get(turn), is_stopped=is_stopped, **watch)
        return _report_json(query, engine, report)

    def _write(self, answer: Mapping[str, Any]) -> None:
        text = json.dumps(answer, separators=(",", ":")) + "\n"
        with self._writing:
            try:
                self._write_text(text)
            except OSError as error:  # the reader has left, or the disk is full
                self._failure = error
                with self._lock:
                    self._shrinks.notify_all()
                raise _UnwrittenError from error


def _report_json(
    query: json_queries.Query, live: live_game.LiveGame, report: SearchReport
) -> dict[str, Any]:
    """Returns a report with the names of KataGo; moves without a value are left out."""
    size = live.game.size

    def worth(item: SearchReport | MoveReport) -> dict[str, Any]:
        return {
            "winrate": round((1 + (item.value or 0.0)) / 2, _DIGITS),
            "scoreLead": round(live.utility(1) * (item.discs or 0.0), _DIGITS),
            "isExact": item.score is not None,
        }

    length = None if query.analysis_pv_len is None else 1 + query.analysis_pv_len
    priors = {move.action: round(move.prior, _DIGITS) for move in report.moves}
    rated = [move for move in report.moves if move.value is not None]
    answer: dict[str, Any] = {
        "moveInfos": [
            {
                "move": notation.action_text(move.action, size),
                "order": order,
                "visits": move.visits,
                "prior": priors[move.action],
                **worth(move),
                "pv": [notation.action_text(action, size) for action in move.line[:length]],
            }
            for order, move in enumerate(rated)
        ],
        "rootInfo": {
            "currentPlayer": "B" if report.board.is_black_to_move else "W",
            "board": notation.board_text(report.board, size),
            "visits": sum(move.visits for move in report.moves),
            **worth(report),
        },
    }
    if query.include_policy:
        answer["policy"] = [priors.get(action, -1) for action in range(size * size + 1)]
    return answer
