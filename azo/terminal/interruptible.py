"""A search in a terminal: its progress on the last line, and Ctrl-C to end it."""

import contextlib
import signal
from collections.abc import Callable, Iterator

import rich.console
import rich.live
import rich.spinner

from azo.coach import formatting
from azo.engine.search_report import SearchReport
from azo.games import notation, plurals
from azo.process import interruption


@contextlib.contextmanager
def waiting(
    console: rich.console.Console, size: int, what: str, *, ending: str = "move now"
) -> Iterator[tuple[Callable[[], bool], Callable[[SearchReport], None]]]:
    """Yields two functions: one returns whether Ctrl-C was pressed, one shows progress.

    `size` is that of the board. `what` names the search, `ending` says what Ctrl-C does.
    """
    interrupts: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        del frame
        interruption.acknowledge()
        interrupts.append(number)

    with contextlib.ExitStack() as stack:
        stack.enter_context(interruption.handled_by(interrupt, [signal.SIGINT]))
        if not console.is_terminal:
            yield lambda: bool(interrupts), lambda _: None
            return
        spinner = rich.spinner.Spinner("dots", what, style="status.spinner")
        live = rich.live.Live(spinner, console=console, refresh_per_second=12.5, transient=True)
        stack.enter_context(interruption.cleared_at_end(live))
        stack.enter_context(live)

        def show(report: SearchReport) -> None:
            parts = [notation.action_text(report.action, size), formatting.worth(report)]
            if report.num_simulations:
                parts.append(plurals.counted(report.num_simulations, "simulation"))
            spinner.update(text=f"{what}: {', '.join(parts)} (Ctrl-C: {ending})")

        yield lambda: bool(interrupts), show
