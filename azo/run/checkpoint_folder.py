"""The folder `checkpoints/` of a run: complete, verified checkpoints by their iterations.

`ITERATION/` has the state, the network, the settings, the score of the evaluation if there was one,
the versions of the libraries, and the checksums of all these files. A checkpoint is written under
another name, read back from the disk, and renamed; only then are older ones removed.
`ITERATION.damaged` is a checkpoint that failed its checksums when the run was resumed; nothing
removes it.
"""

import contextlib
import json
import pathlib
import platform
import re
import shutil
import sys
from collections.abc import Iterable

from azo.formats import checksums, files
from azo.run import shipped_files

CHECKPOINTS = "checkpoints"
STATE, NETWORK, SETTINGS = "state", "network", "settings"
_SETTINGS_FILE = "metadata"  # in the folder of the settings
_SCORE = pathlib.Path("metrics") / "metrics"
_VERSIONS = "versions.json"
# Other versions of these may change the bits of a run.
_PACKAGES = ("azo", "jax", "jaxlib", "flax", "optax", "mctx", "chex", "numpy", "scipy", "numba")
_PARTIAL = ".partial"
_LEFT_OVER = re.compile(r"\d+\.(partial|pruned|orbax-checkpoint-tmp).*")


class CheckpointFolder:
    """The checkpoints of a run on disk."""

    def __init__(self, run: pathlib.Path):
        """Prepares to read them; `run` is the run's folder."""
        self.path = run / CHECKPOINTS

    def checkpoint(self, step: int) -> pathlib.Path:
        """Returns the folder of the checkpoint of an iteration."""
        return self.path / str(step)

    def partial(self, step: int) -> pathlib.Path:
        """Returns the name under which the checkpoint of an iteration is written."""
        return self.path / f"{step}{_PARTIAL}"

    def steps(self) -> list[int]:
        """Returns the iterations of all checkpoints, in order."""
        names = [path.name for path in self.path.iterdir()] if self.path.is_dir() else []
        return sorted(int(name) for name in names if re.fullmatch("0|[1-9][0-9]{0,17}", name))

    def settings_text(self, step: int) -> str:
        """Returns the settings of a checkpoint as JSON; raises ValueError if unreadable."""
        return files.read_text(self.checkpoint(step) / SETTINGS / _SETTINGS_FILE)

    def score(self, step: int) -> float | None:
        """Returns the score of a checkpoint, None without an evaluation.

        Raises:
          ValueError: One line: the file is damaged.
        """
        place = self.checkpoint(step)
        checksums.verify(place, [_SCORE.parts[0]])
        if not (place / _SCORE).exists():
            return None
        try:
            return float(json.loads(files.read_text(place / _SCORE))["score"])
        except (KeyError, TypeError, ValueError, RecursionError):
            raise ValueError(f"{place}: damaged: no score in {_SCORE}") from None

    def note_versions(self, step: int) -> None:
        """Names the versions that differ from those of a checkpoint, on standard error."""
        try:
            saved = dict(json.loads(files.read_text(self.checkpoint(step) / _VERSIONS)))
        except (TypeError, ValueError):  # of an earlier version of azo, without this file
            return
        changes = [
            f"{name} {saved[name]}, now {version}"
            for name, version in _versions().items()
            if saved.get(name, version) != version
        ]
        if changes:
            _note(
                f"{self.checkpoint(step)}: saved with other versions ({'; '.join(changes)}): the"
                " run goes on, but not bit for bit as it would have with them"
            )

    def best_step(self) -> int | None:
        """Returns the iteration with the highest score, None if none has one.

        A checkpoint with a damaged score is named on standard error and counts as one without.
        """
        rated = []
        for step in self.steps():
            try:
                score = self.score(step)
            except ValueError as error:
                _note(str(error))
                continue
            if score is not None:
                rated.append((score, step))
        return max(rated)[1] if rated else None

    def find_sound(
        self, parts: Iterable[str] | None = None, *, first: int | None = None
    ) -> tuple[int | None, list[int]]:
        """Returns the newest checkpoint that is not damaged, and the damaged ones on the way.

        Each damaged one is named in a line on standard error, and so is a checkpoint of an earlier
        version, which has no checksums.

        Args:
          parts: parts of a checkpoint to verify; by default all.
          first: the iteration of a checkpoint that is preferred.

        Returns:
          Its iteration, None without any checkpoint, and the iterations of the damaged ones.

        Raises:
          ValueError: One line: there are checkpoints, but all are damaged.
        """
        steps, damaged, reasons = self.steps()[::-1], [], []
        if first in steps:
            steps.remove(first)
            steps.insert(0, first)
        for step in steps:
            try:
                if not checksums.verify(self.checkpoint(step), parts):
                    _note(f"{self.checkpoint(step)}: no checksums, so damage would stay unnoticed")
            except ValueError as error:
                if not self.checkpoint(step).exists():  # pruned by a run in progress
                    continue
                damaged.append(step)
                reasons.append(str(error))
                continue
            for reason in reasons:
                _note(f"{reason}; using checkpoint {step}")
            return step, damaged
        if damaged:
            raise ValueError(f"no undamaged checkpoint: {'; '.join(reasons)}")
        return None, []

    def clean(self) -> None:
        """Removes incomplete checkpoints, except what threads of Orbax still write."""
        for path in list(self.path.iterdir()):
            if _LEFT_OVER.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)

    def set_aside(self, step: int) -> None:
        """Renames a damaged checkpoint, so that its iteration can be saved again."""
        place = files.damaged_name(self.checkpoint(step))
        self.checkpoint(step).rename(place)
        _note(f"{self.checkpoint(step)}: kept as {place.name}")

    def complete(self, step: int, score: float | None) -> None:
        """Makes a checkpoint of `partial(step)` once its content has been read back.

        Raises:
          ValueError: One line: it cannot be written, or its content differs.
        """
        place = self.partial(step)
        if score is not None:
            with contextlib.suppress(OSError):  # `write` reports a missing folder
                (place / _SCORE).parent.mkdir()
            files.write(place / _SCORE, json.dumps({"score": score}).encode())
        files.write(place / _VERSIONS, json.dumps(_versions(), indent=1).encode())
        checksums.write(place)
        checksums.verify(place, is_cached=False)
        place.rename(self.checkpoint(step))
        files.sync_folder(self.path)

    def prune(self, keep: int) -> None:
        """Removes all but the latest checkpoints, `keep` of them, and the best one."""
        best = self.best_step()
        for step in self.steps()[:-keep]:
            if step == best:
                continue
            try:
                self.score(step)
            except ValueError:  # it may be the best one
                self.set_aside(step)
                continue
            place = self.path / f"{step}.pruned"  # a crash leaves no part of a checkpoint
            self.checkpoint(step).rename(place)
            shutil.rmtree(place)


def _versions() -> dict[str, str]:
    versions = {name: shipped_files.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **versions}


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
