"""Named arrays in Orbax's format.

Plain Orbax reads them too: docs/compat.md. Of several processes of a run each writes and reads what
its devices have, so all call these functions.
"""

import contextlib
import copy
import errno
import functools
import logging
import os
import pathlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import jax
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts

from azo.networks import exported_network
from azo.process import distributed
from azo.storage import files

Result = TypeVar("Result")
_MAX_REASON = 300  # characters of a message of another library
_MAX_TRIES = 5  # of a write or read that signals interrupt


def write(folder: pathlib.Path, arrays: Mapping[str, np.ndarray | jax.Array]) -> None:
    """Writes arrays, none of them empty, into a new folder; OSError if it cannot be written.

    Those of several processes are JAX's, and the first process completes the folder.

    Tensorstore gives up where a signal interrupts a call, as network file systems let it. The
    arrays are then written again, into a folder of another name: tensorstore remembers the files
    of the first one, and its threads may still write there. Several processes write once, since
    they wait for one another within Orbax.
    """
    is_alone = distributed.num_processes() == 1
    args = ocp.args.StandardSave(dict(arrays))
    for number in range(_MAX_TRIES):
        place = folder.with_name(f"{folder.name}-{number}") if number else folder
        try:
            _save(place, args)
            break
        except OSError as error:
            if error.errno != errno.EINTR or number == _MAX_TRIES - 1 or not is_alone:
                raise
    if place != folder:
        # Orbax fills a folder with a longer name first.
        for partial in folder.parent.glob(f"{folder.name}*"):
            if partial != place:
                files.remove_folder(partial, folder.parent)
        files.rename(place, folder, folder.parent)


def _save(folder: pathlib.Path, args: ocp.args.StandardSave) -> None:
    with _open() as checkpointer:
        _call(lambda: checkpointer.save(folder.absolute(), args))


def read(
    folder: pathlib.Path,
    expected: exported_network.Expected | None = None,
    where: Mapping[str, jax.sharding.Sharding] | None = None,
) -> dict[str, Any]:
    """Returns the arrays of a folder; ValueError, one line, if it is damaged.

    If others than those `expected` are in it, that is an error, and they are not read. They are on
    the host. With `where`, shardings by name, arrays that are split over devices stay there.
    """
    place = folder.absolute()
    try:
        with _open() as checkpointer:
            saved = _uninterrupted(lambda: _metadata(checkpointer, place))
            found = {name: (leaf.shape, leaf.dtype) for name, leaf in saved.items()}
            if expected is not None and (fault := exported_network.difference(found, expected)):
                raise ValueError(f"{folder}: {fault}")
            like: dict[str, Any] = {name: np.empty(*one) for name, one in found.items()}
            for name, sharding in (where or {}).items():
                like[name] = jax.ShapeDtypeStruct(*found[name], sharding=sharding)
            args = ocp.args.StandardRestore(like)
            arrays = _uninterrupted(lambda: checkpointer.restore(place, args))
            return {
                name: np.asarray(x) if getattr(x, "is_fully_replicated", True) else x
                for name, x in arrays.items()
            }
    except OSError as error:
        raise ValueError(f"{folder}: cannot be read ({error.strerror})") from None


def _open() -> ocp.Checkpointer:
    # Warnings about intended omissions, such as items that are not restored.
    logging.getLogger("absl").setLevel(logging.CRITICAL)
    return ocp.Checkpointer(ocp.StandardCheckpointHandler())


def _metadata(checkpointer: ocp.Checkpointer, place: pathlib.Path) -> Any:
    """Returns shapes and types by name; Orbax has None for them after an error, which it hides."""
    metadata = checkpointer.metadata(place).item_metadata
    if metadata is None:
        raise InterruptedError(errno.EINTR, "Orbax finds no list of arrays")
    return metadata.tree


def _uninterrupted(action: Callable[[], Result]) -> Result:
    """Returns the result of a function of Orbax, which is repeated while signals interrupt it."""
    for _ in range(_MAX_TRIES - 1):
        with contextlib.suppress(InterruptedError):
            return _call(action)
    return _call(action)


def _call(action: Callable[[], Result]) -> Result:
    """Returns the result of a function of Orbax; any error of it becomes an OSError."""
    report = sys.unraisablehook
    sys.unraisablehook = functools.partial(_report_unless_closed, report)
    with _without_leaks():
        try:
            result = action()
        except Exception as error:  # each library of Orbax has its own
            number, reason = _cause(error)
        else:
            sys.unraisablehook = report
            return result
    # Tasks and threads of Orbax that failed with it would print their tracebacks later.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    raise OSError(number, reason)


def _report_unless_closed(report: Callable[[Any], object], error: Any) -> None:
    """Reports an exception of a thread, unless it finds the event loop closed.

    After the first write that fails Orbax closes its loop, while threads of tensorstore go on.
    """
    if str(error.exc_value) != "Event loop is closed":
        report(error)


@contextlib.contextmanager
def _without_leaks() -> Iterator[None]:
    """Replaces two functions of tensorstore whose results are never freed.

    Orbax calls one for each array and the other for its telemetry: 75 kB for each save of a small
    run (tensorstore 0.1.71 to 0.1.86). Here the first is called once a folder, the second never.
    """
    convert = vars(ts.KvStore.Spec)["to_json"]  # put back as an attribute, it would lose `self`
    collect = ts.experimental_collect_matching_metrics
    converted: dict[str, Any] = {}

    def convert_once(spec: ts.KvStore.Spec, include_defaults: bool = False) -> Any:
        key = f"{spec!r} {include_defaults}"
        if key not in converted:
            converted[key] = convert(spec, include_defaults)
        return copy.deepcopy(converted[key])

    ts.KvStore.Spec.to_json = convert_once  # type: ignore[assignment, method-assign]
    ts.experimental_collect_matching_metrics = lambda *_, **__: []
    try:
        yield
    finally:
        ts.KvStore.Spec.to_json = convert  # type: ignore[method-assign]
        ts.experimental_collect_matching_metrics = collect


def _cause(error: Exception) -> tuple[int, str]:
    """Returns number and reason of an error of a library, the reason on one line."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    if code:
        return int(code[1]), os.strerror(int(code[1]))
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return getattr(error, "errno", None) or errno.EIO, files.one_line(text, _MAX_REASON)
