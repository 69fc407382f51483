"""Learns a game: `azo train --config configs/NAME.toml [--section.setting value]`.

The device does the work, one compiled call an iteration; the host prints, evaluates and saves.
With `--distributed` several processes do so together, and the first one speaks for all.
Ctrl-C and SIGTERM end the run after the iteration under way, saved; the same command resumes it.
"""

import contextlib
import pathlib
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any

import jax
import rich.console

from azo.cli import command_line
from azo.games import othello, protocol, registry
from azo.learning import loop, run_state
from azo.measure import players
from azo.run import checkpoint, config, console, deep_endings, devices, metrics, networks, trainer


def main(argv: Sequence[str]) -> int:
    """Trains until the last iteration or until told to stop; returns the exit code."""
    settings = command_line.load(argv)
    with StopRequest() as stop:
        if settings.curriculum:
            train_phases(settings, stop)
        else:
            train(settings, stop)
    return 0


class StopRequest:
    """Becomes true at the first SIGINT or SIGTERM; a second one interrupts at once."""

    def __init__(self) -> None:
        self.is_made = False
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.is_made:
            raise KeyboardInterrupt
        self.is_made = True


def train(settings: config.Config, stop: StopRequest | None = None) -> run_state.RunState:
    """Runs, or resumes, the run in `settings.run.folder`; returns its last state."""
    stop = stop or StopRequest()
    run = settings.run
    mesh = loop.make_mesh(devices.prepare(settings))
    game = registry.make(settings.game)
    load = networks.loader(game)
    opponent = players.parse(settings.evaluation.opponent, game, load)
    teacher = _loaded("selfplay.teacher", settings.selfplay.teacher, load)
    start = _loaded("run.start_from", run.start_from, load)
    if start and start.network_config != settings.network:
        raise ValueError(
            f"run.start_from {run.start_from} holds a network of another shape than [network]"
        )
    with checkpoint.Checkpoints(run.folder, keep=run.keep_checkpoints) as checkpoints:
        checkpoints.check_resumable(settings)
        now = loop.begin(
            game,
            settings,
            mesh,
            seed=run.seed,
            total_steps=run.num_iterations * settings.learner.num_steps,
            start=start.variables if start else None,
            teacher=teacher.variables if teacher else None,
        )
        (first,) = devices.broadcast_from_first([checkpoints.latest_step() or 0])
        if first:
            now = checkpoints.restore(now, first)
        with _writer(settings, first) as writer:
            if settings.endings.deep_positions and not first:
                assert isinstance(game, othello.Othello)
                if writer is None or jax.process_count() > 1:
                    raise ValueError("endings.deep_positions are solved by a run of one process")
                lines = deep_endings.prepare(settings, game, writer, lambda: stop.is_made)
                if lines is None:
                    return now
                now = loop.fill(settings, mesh, now, lines)
            with _screen(settings, game, first) as screen:
                player = teacher.network_config if teacher else settings.network
                one = trainer.Session(
                    settings, game, mesh, player, opponent, checkpoints, writer, screen
                )
                return one.go_on(now, first, lambda: stop.is_made)


def train_phases(settings: config.Config, stop: StopRequest) -> None:
    """Runs, or resumes, the phases of a curriculum one after the other."""
    screen = rich.console.Console(highlight=False, quiet=not devices.is_first())
    for index, phase in enumerate(settings.curriculum):
        chosen = config.of_phase(settings, index)
        if not _has_ended(chosen):
            screen.print(f"phase {index + 1} of {len(settings.curriculum)}: {phase.name}")
            train(chosen, stop)
        if not _has_ended(chosen):
            return
        reason = metrics.read(chosen.run.folder, "end")[-1]["reason"]
        screen.print(f"phase {phase.name} has ended: {reason}", soft_wrap=True)


def _has_ended(settings: config.Config) -> bool:
    """Returns whether a run has ended, by these very settings."""
    path = settings.run.folder / checkpoint.SETTINGS
    is_same = path.exists() and path.read_text(encoding="utf-8") == config.to_json(settings)
    return is_same and bool(metrics.read(settings.run.folder, "end"))


def _loaded(
    name: str, folder: str | pathlib.Path | None, load: players.Load
) -> players.TrainedNetwork | None:
    if folder is None:
        return None
    try:
        return load(str(folder))
    except OSError as error:
        raise ValueError(f"{name}: there is no network at {str(folder)!r} ({error})") from None


def _writer(
    settings: config.Config, first: int
) -> contextlib.AbstractContextManager[metrics.MetricsWriter | None]:
    if not devices.is_first():
        return contextlib.nullcontext()
    return metrics.MetricsWriter(settings.run.folder, last_iteration=first)


def _screen(settings: config.Config, game: protocol.Game, first: int) -> console.Console:
    return console.Console(
        settings.run.num_iterations,
        f"{game.name} in {settings.run.folder}",
        first_iteration=first,
        console=None if devices.is_first() else rich.console.Console(quiet=True),
    )


if __name__ == "__main__":
    sys.exit(command_line.run_main(main))
