"""Display of a run: a progress bar with numbers in a terminal, plain lines elsewhere, warnings.

The names of metrics are those of `metrics.jsonl`; absent ones are not shown.
"""

import contextlib
import math
import pathlib
import time
from collections.abc import Iterable, Mapping
from typing import Any

import rich.console
import rich.progress
import rich.text

from azo.process import interruption

# Label, metric and format of each figure.
_SHOWN = (
    ("games", "selfplay/games", "{:,.0f}"),
    ("games/s", "selfplay/games_per_second", "{:,.1f}"),
    ("positions/s", "selfplay/positions_per_second", "{:,.0f}"),
    ("simulations/s", "selfplay/simulations_per_second", "{:,.0f}"),
    ("policy loss", "learner/policy_loss", "{:.3f}"),
    ("value loss", "learner/value_loss", "{:.3f}"),
)
# Far from healthy runs, where the entropy is at least 0.67 nats on 8x8 and the mean value at most
# 0.3: docs/reliability.md.
_COLLAPSED_ENTROPY = 0.02  # nats, of the network's policy, mean over plies
_STUCK_MEAN = 0.5  # of the network's value, for the side to move
_STUCK_RATIO = 2.0  # mean by standard deviation

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_OF_SPEED = 3600.0  # the time left is estimated from the iterations of the last hour


class ProgressBar(rich.progress.Progress):
    """A bar with the time left, and text below it; hidden outside terminals."""

    def __init__(self, console: rich.console.Console):
        """Prepares a bar."""
        self.text = ""
        self._clearing = contextlib.ExitStack()
        super().__init__(
            console=console,
            disable=not console.is_terminal,
            speed_estimate_period=_SECONDS_OF_SPEED,
        )

    def start(self) -> None:
        """Shows the bar."""
        if not self.disable and not self.live.is_started:
            self._clearing.enter_context(interruption.cleared_at_end(self.live))
        super().start()

    def stop(self) -> None:
        """Leaves the bar as it is."""
        super().stop()
        self._clearing.close()

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
        texts = [
            f"{label} {form.format(self._metrics[name])}"
            for label, name, form in _SHOWN
            if math.isfinite(self._metrics.get(name, math.nan))
        ]
        self._bar.text = "  ".join(texts)
        task = self._bar.tasks[self._task]
        head = f"iteration {count}"
        if self._console.is_terminal:
            if match:
                self.note(f"{head}  {match}")
        elif match or task.finished or time.monotonic() > self._line_seconds:
            self._line_seconds = time.monotonic() + _SECONDS_BETWEEN_LINES
            left = f"left {rich.progress.TimeRemainingColumn().render(task)}"
            self.note("  ".join([head, *texts, *([match] if match else []), left]))

    def working(self, text: str) -> None:
        """Shows below the bar what takes time now, until the next update; in a terminal only."""
        self._bar.text = text
        self._bar.start()
        self._bar.refresh()

    def note(self, text: str) -> None:
        """Prints a line that stays, above the bar."""
        self._console.print(text, soft_wrap=True, markup=False)


def warnings(fields: Mapping[str, Any]) -> dict[str, str]:
    """Returns what is wrong with the predictions of an iteration, by a short name.

    The `fields` are those of the iteration, by their names in `metrics.jsonl`.
    """
    messages = {}
    entropy = fields.get("selfplay/prior_entropy", math.nan)
    if entropy < _COLLAPSED_ENTROPY:
        messages["collapsed policy"] = (
            f"warning: the policy has collapsed: its mean entropy is {entropy:.4f} nats, less than"
            f" {_COLLAPSED_ENTROPY:g}"
        )
    mean = fields.get("selfplay/value_mean", math.nan)
    deviation = fields.get("selfplay/value_deviation", math.nan)
    if abs(mean) > max(_STUCK_MEAN, _STUCK_RATIO * deviation):
        messages["stuck value"] = (
            f"warning: the value is stuck at one sign: {mean:+.3f} on average, with a standard"
            f" deviation of {deviation:.3f}"
        )
    return messages
