"""Display of a run: a progress bar with the latest figures in a terminal, plain lines elsewhere.

The names of metrics are those of `metrics.jsonl`; absent ones are not shown.
"""

import math
import pathlib
import time
from collections.abc import Iterable, Mapping

import rich.console
import rich.progress
import rich.text

# Label, metric and format of each figure.
_FIGURES = (
    ("games", "selfplay/games", "{:,.0f}"),
    ("games/s", "selfplay/games_per_second", "{:,.1f}"),
    ("positions/s", "selfplay/positions_per_second", "{:,.0f}"),
    ("simulations/s", "selfplay/simulations_per_second", "{:,.0f}"),
    ("policy loss", "learner/policy_loss", "{:.3f}"),
    ("value loss", "learner/value_loss", "{:.3f}"),
)
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_OF_SPEED = 3600.0  # the time left is estimated from the iterations of the last hour


class ProgressBar(rich.progress.Progress):
    """A bar with the time left, and text below it; hidden outside terminals."""

    def __init__(self, console: rich.console.Console):
        """Prepares a bar."""
        self.text = ""
        super().__init__(
            console=console,
            disable=not console.is_terminal,
            speed_estimate_period=_SECONDS_OF_SPEED,
        )

    def get_renderables(self) -> Iterable[rich.console.RenderableType]:
        """Yields the bar and the text."""
        yield self.make_tasks_table(self.tasks)
        if self.text:
            yield rich.text.Text(self.text)


class Console:
    """The display of a run in one process; a context manager."""

    def __init__(self, game: str, folder: pathlib.Path, console: rich.console.Console):
        """Prepares the display of a run."""
        self._console = console
        self._game, self._folder = game, folder
        self._metrics: dict[str, float] = {}
        self._line_seconds = -math.inf
        self._bar = ProgressBar(console)
        self._task = self._bar.add_task("iterations", total=1.0)

    def __enter__(self) -> "Console":
        self.note(f"{self._game} in {self._folder}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar.live.is_started:
            self._bar.stop()

    def update(self, metrics: Mapping[str, float], share: float, match: str | None = None) -> None:
        """Shows the state after an iteration; absent metrics keep their value.

        `share` of the run is done, by the limit that ends it; `match` is a new evaluation in words.
        """
        self._bar.start()
        self._metrics.update(metrics)
        iteration = int(self._metrics["iteration"])
        count = f"{iteration}/{round(iteration / share)}"
        self._bar.update(self._task, completed=share, description=f"iteration {count}")
        figures = [
            f"{label} {form.format(self._metrics[name])}"
            for label, name, form in _FIGURES
            if math.isfinite(self._metrics.get(name, math.nan))
        ]
        self._bar.text = "  ".join(figures)
        task = self._bar.tasks[self._task]
        head = f"iteration {count}"
        if self._console.is_terminal:
            if match:
                self.note(f"{head}  {match}")
        elif match or task.finished or time.monotonic() > self._line_seconds:
            self._line_seconds = time.monotonic() + _SECONDS_BETWEEN_LINES
            left = f"left {rich.progress.TimeRemainingColumn().render(task)}"
            self.note("  ".join([head, *figures, *([match] if match else []), left]))

    def working(self, text: str) -> None:
        """Shows below the bar what takes time now, until the next update; in a terminal only."""
        self._bar.text = text
        self._bar.start()
        self._bar.refresh()

    def note(self, text: str) -> None:
        """Prints a line that stays, above the bar."""
        self._console.print(text, soft_wrap=True, markup=False)
