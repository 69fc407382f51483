"""A search in a terminal: its progress on the last line, and Ctrl-C to end it."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

import rich.console

from azo.games import notation
from azo.play import formatting
from azo.play.search_report import SearchReport


@contextlib.contextmanager
def waiting(
    console: rich.console.Console, size: int, what: str
) -> Iterator[tuple[Callable[[], bool], Callable[[SearchReport], None]]]:
    """Yields two functions: one returns whether Ctrl-C was pressed, one shows progress.

    `size` is that of the board, `what` names the search.
    """
    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, lambda *_: stop.set())
            stack.callback(signal.signal, signal.SIGINT, before)
        if not console.is_terminal:
            yield stop.is_set, lambda _: None
            return
        status = stack.enter_context(console.status(what))

        def show(report: SearchReport) -> None:
            move = notation.action_text(report.action, size)
            status.update(
                f"{what}: {move}, {formatting.discs(report.discs, report.score)} discs,"
                f" wins {formatting.chance(report.value)},"
                f" {report.num_simulations} simulations (Ctrl-C: move now)"
            )

        yield stop.is_set, show
