"""The folder `checkpoints/` of a run, read: complete, verified checkpoints by their iterations.

`ITERATION/` has the files of an exported network, the whole state in Orbax's format, a record, and
the checksums of all these files. The record holds the iteration, since a folder can be renamed.
`ITERATION.damaged` is a checkpoint that failed its checksums when the run was resumed; nothing
removes it.
"""

import errno
import pathlib
import re
import sys
from collections.abc import Sequence

import pydantic

from azo.networks import exported_network
from azo.settings import setting_types
from azo.storage import files

CHECKPOINTS = "checkpoints"
STATE = "state"
RECORD = "checkpoint.json"
NETWORK = (exported_network.ARRAYS, exported_network.SETTINGS)
"""Files of a checkpoint from which its network is loaded."""
_MAX_NOTE = 2000  # characters; paths are long, and files of others may have any


class CheckpointRecord(pydantic.BaseModel, frozen=True, strict=True):
    """What a checkpoint says of itself."""

    iteration: int
    num_devices: int
    """Devices whose rings are in the state."""
    score: setting_types.Finite | None
    """Result of an evaluation after the iteration."""
    versions: dict[str, str]


def folder_of(run: pathlib.Path, step: int) -> pathlib.Path:
    """Returns the folder of the checkpoint of an iteration."""
    return run / CHECKPOINTS / str(step)


def all_steps(run: pathlib.Path) -> list[int]:
    """Returns the iterations of all checkpoints, in order."""
    places = run / CHECKPOINTS
    names = [path.name for path in places.iterdir()] if places.is_dir() else []
    steps = (int(name) for name in names if re.fullmatch("0|[1-9][0-9]{0,9}", name))
    return sorted(step for step in steps if step < 2**31)


def verify(run: pathlib.Path, step: int, parts: Sequence[str] = (STATE, *NETWORK)) -> None:
    """Raises Damaged, one line, if a checkpoint is damaged, incomplete, or of another iteration.

    An error of the system, such as of the disk, is Unreadable or OSError, and no damage.

    `parts` are the parts to verify, besides its record; by default all.
    """
    place = folder_of(run, step)
    for part in parts:
        if not (place / part).exists():
            raise files.Damaged(f"{place}: damaged: {part} is missing")
    if not files.verify_checksums(place, parts):
        raise files.Damaged(f"{place}: damaged: no checksums")
    read_record(run, step)


def read_record(run: pathlib.Path, step: int) -> CheckpointRecord:
    """Returns the verified record of a checkpoint; errors as of `verify`."""
    place = folder_of(run, step)
    files.verify_checksums(place, [RECORD])
    try:
        content = files.read(place / RECORD)
    except files.Unreadable as error:
        if error.errno != errno.ENOENT:
            raise
        raise files.Damaged(f"{place}: damaged: {RECORD} is missing") from None
    try:
        record = CheckpointRecord.model_validate_json(content)
    except ValueError:
        raise files.Damaged(f"{place}: damaged: {RECORD} is not a record") from None
    if record.iteration != step:
        raise files.Damaged(
            f"{place}: damaged: it is the checkpoint of iteration {record.iteration}"
        )
    return record


def best_step(run: pathlib.Path) -> int | None:
    """Returns the iteration of the checkpoint with the highest score, None if none has one.

    A checkpoint with a damaged record is named on standard error and counts as one without.
    """
    rated = []
    for step in all_steps(run):
        try:
            score = read_record(run, step).score
        except files.Damaged as error:
            if folder_of(run, step).exists():  # else pruned by a run in progress
                note(str(error))
            continue
        if score is not None:
            rated.append((score, step))
    return max(rated)[1] if rated else None


def find_sound(
    run: pathlib.Path, parts: Sequence[str] = (STATE, *NETWORK), *, first: int | None = None
) -> tuple[int | None, list[int]]:
    """Returns the newest checkpoint that is not damaged, and the damaged ones on the way.

    The checkpoint of iteration `first` is preferred. `parts` are the parts to verify. Each damaged
    checkpoint is named in a line on standard error. ValueError if all are damaged, or one cannot be
    read, which may be sound; None without any checkpoint.
    """
    faults: dict[int, str] = {}  # by iteration
    for step in sorted(all_steps(run), key=lambda step: (step == first, step), reverse=True):
        try:
            verify(run, step, parts)
        except files.Damaged as error:
            if folder_of(run, step).exists():  # else pruned by a run in progress
                faults[step] = str(error)
            continue
        for reason in faults.values():
            note(f"{reason}; using checkpoint {step}")
        return step, list(faults)
    if faults:
        raise ValueError(f"no undamaged checkpoint: {'; '.join(faults.values())}")
    return None, []


def note(text: str) -> None:
    """Prints a line on standard error."""
    print(files.one_line(text, _MAX_NOTE), file=sys.stderr, flush=True)
