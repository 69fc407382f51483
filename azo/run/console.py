"""What a run shows while it learns: a live panel in a terminal, plain lines elsewhere.

The names of metrics are those of `metrics.jsonl`; one that is absent is not shown. Time left is
estimated from the iterations of this session, so it is right after a resumption too.
"""

import math
import time
from collections.abc import Mapping

import rich.console
import rich.live
import rich.panel
import rich.progress
import rich.progress_bar
import rich.table
import rich.text

# Label, metric and format of each figure: two columns of the panel, and the parts of a plain line.
_SPEED = (
    ("games", "selfplay/games", "{:,.0f}"),
    ("games/s", "selfplay/games_per_second", "{:,.1f}"),
    ("positions/s", "selfplay/positions_per_second", "{:,.0f}"),
    ("simulations/s", "selfplay/simulations_per_second", "{:,.0f}"),
)
_LEARNING = (
    ("policy loss", "learner/policy_loss", "{:.3f}"),
    ("value loss", "learner/value_loss", "{:.3f}"),
    ("learning rate", "learner/learning_rate", "{:.2g}"),
    ("replay", "replay/size", "{:,.0f}"),
)
_SECONDS_BETWEEN_LINES = 10.0


def counting(console: rich.console.Console) -> rich.progress.Progress:
    """Returns a bar that counts what is done, time left included; hidden where nobody looks on."""
    return rich.progress.Progress(
        *rich.progress.Progress.get_default_columns(),
        rich.progress.MofNCompleteColumn(),
        console=console,
        disable=not console.is_terminal,
    )


class Console:
    """The display of one session of training; use it as a context manager."""

    def __init__(
        self,
        total_iterations: int,
        title: str,
        *,
        first_iteration: int = 0,
        console: rich.console.Console | None = None,
    ):
        """Prepares the display.

        Args:
          total_iterations: Of the whole run.
          title: What is trained, such as the run's folder.
          first_iteration: Iterations done before this session.
          console: Where to draw; standard output by default.
        """
        self._total = total_iterations
        self._title = title
        self._first = first_iteration
        self._done = first_iteration
        self._metrics: dict[str, float] = {}
        self._match = ""
        self._console = console or rich.console.Console(highlight=False, emoji=False)
        self._start_seconds = time.monotonic()
        self._line_seconds = -math.inf
        self._live: rich.live.Live | None = None

    def __enter__(self) -> "Console":
        self.start_clock()
        if self._console.is_terminal:
            self._live = rich.live.Live(self._panel(), console=self._console, refresh_per_second=4)
            self._live.start()
        else:
            self._console.print(self._title, soft_wrap=True, markup=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.update(self._panel(), refresh=True)
            self._live.stop()

    def start_clock(self) -> None:
        """Begins the time from which the time left is estimated; without it, entering does."""
        self._start_seconds = time.monotonic()

    def update(self, metrics: Mapping[str, float], match: str | None = None) -> None:
        """Shows the state after an iteration.

        Args:
          metrics: By name; "iteration" counts those done. What is missing keeps its last value.
          match: The latest evaluation in words, if there is a new one.
        """
        self._metrics.update(metrics)
        self._done = int(self._metrics.get("iteration", self._done))
        if match:
            self._match = match
        if self._live is not None:
            self._live.update(self._panel())
            return
        is_last = self._done >= self._total
        if match or is_last or time.monotonic() - self._line_seconds > _SECONDS_BETWEEN_LINES:
            self._line_seconds = time.monotonic()
            self._console.print(self._line(match), soft_wrap=True, markup=False)

    def note(self, text: str) -> None:
        """Prints a line that stays, above the panel."""
        self._console.print(text, soft_wrap=True, markup=False)

    def seconds_left(self) -> float | None:
        """Returns an estimate from this session's iterations, None before the first."""
        done = self._done - self._first
        if done <= 0:
            return None
        return (time.monotonic() - self._start_seconds) / done * (self._total - self._done)

    def _line(self, match: str | None) -> str:
        figures = [
            f"{label} {_shown(self._metrics[name], form)}"
            for label, name, form in (*_SPEED, *_LEARNING[:2])
            if name in self._metrics
        ]
        parts = [f"iteration {self._done}/{self._total}", *figures, *([match] if match else [])]
        return "  ".join([*parts, f"left {_duration(self.seconds_left())}"])

    def _panel(self) -> rich.panel.Panel:
        progress = rich.table.Table.grid(padding=(0, 2), expand=True)
        progress.add_column(no_wrap=True)
        progress.add_column(ratio=1)
        progress.add_column(no_wrap=True, justify="right")
        progress.add_row(
            f"iteration {self._done}/{self._total}",
            rich.progress_bar.ProgressBar(total=self._total, completed=self._done),
            f"left {_duration(self.seconds_left())}",
        )
        figures = rich.table.Table.grid(padding=(0, 2), expand=True)
        for justify in ("left", "right", "left", "right"):
            figures.add_column(no_wrap=True, justify=justify, ratio=1)  # type: ignore[arg-type]
        for left, right in zip(_SPEED, _LEARNING, strict=True):
            figures.add_row(*self._cells(left), *self._cells(right))
        body: list[rich.console.RenderableType] = [progress, figures]
        if self._match:
            body.append(rich.text.Text(self._match, overflow="ellipsis", no_wrap=True))
        group = rich.console.Group(*body)
        return rich.panel.Panel(group, title=rich.text.Text(self._title), title_align="left")

    def _cells(self, figure: tuple[str, str, str]) -> tuple[rich.text.Text, str]:
        label, name, form = figure
        value = _shown(self._metrics[name], form) if name in self._metrics else "-"
        return rich.text.Text(label, style="dim"), value


def _shown(value: float, form: str) -> str:
    return form.format(value) if math.isfinite(value) else "-"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
