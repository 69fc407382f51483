"""Runs of one phase or of several: the phases of a curriculum, one after the other."""

import functools
import json

import rich.console

from azo.networks import exported_network
from azo.process import distributed, interruption
from azo.storage import files
from azo.training import config, devices, metrics, trainer


def train(
    settings: config.Config,
    stop: interruption.StopRequest,
    make_matches: trainer.MakeMatches | None = None,
    on_event: metrics.OnEvent = lambda event: None,
) -> None:
    """Runs, or resumes, the run of the settings or the phases of their curriculum."""
    if not settings.curriculum:
        trainer.train(settings, stop, make_matches, on_event)
        return
    devices.prepare(config.of_phase(settings, 0))  # before the first use of JAX
    screen = rich.console.Console(highlight=False, quiet=not distributed.is_first())
    for index, phase in enumerate(settings.curriculum):
        phase_settings = config.of_phase(settings, index)
        files.check_place(phase_settings.run.folder, settings.run.folder)
        has_ended = functools.partial(_has_ended, phase_settings)
        if not distributed.from_first(has_ended):
            screen.print(f"phase {index + 1} of {len(settings.curriculum)}: {phase.name}")
            trainer.train(phase_settings, stop, make_matches, on_event)
        if not distributed.from_first(has_ended):
            return
        if distributed.is_first():
            reason = metrics.read(phase_settings.run.folder, "end")[-1]["reason"]
            screen.print(f"phase {phase.name} has ended: {reason}", soft_wrap=True)


def _has_ended(settings: config.Config) -> bool:
    """Returns whether a run with exactly these settings has ended."""
    path = settings.run.folder / exported_network.SETTINGS
    if not path.exists():
        return False
    saved = files.parse_json(files.read_text(path), path)
    expected = json.loads(config.to_json(settings)) | {"origin": None}
    is_same = isinstance(saved, dict) and saved | {"origin": None} == expected
    return is_same and bool(metrics.read(settings.run.folder, "end"))
