"""A search in a terminal: its progress on the last line, and Ctrl-C to end it."""

import contextlib
import signal
from collections.abc import Callable, Iterator

import rich.console

from azo.games import notation
from azo.play.analysis import formatting
from azo.play.engine.search_report import SearchReport
from azo.training import interruption


@contextlib.contextmanager
def waiting(
    console: rich.console.Console, size: int, what: str, *, ending: str = "move now"
) -> Iterator[tuple[Callable[[], bool], Callable[[SearchReport], None]]]:
    """Yields two functions: one returns whether Ctrl-C was pressed, one shows progress.

    `size` is that of the board. `what` names the search, `ending` says what Ctrl-C does.
    """
    interrupts: list[int] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            interruption.handled_by(lambda number, _: interrupts.append(number), [signal.SIGINT])
        )
        if not console.is_terminal:
            yield lambda: bool(interrupts), lambda _: None
            return
        status = stack.enter_context(console.status(what))

        def show(report: SearchReport) -> None:
            parts = [notation.action_text(report.action, size), formatting.worth(report)]
            if report.num_simulations:
                parts.append(f"{report.num_simulations} simulations")
            status.update(f"{what}: {', '.join(parts)} (Ctrl-C: {ending})")

        yield lambda: bool(interrupts), show
