"""Calls of Orbax: its readers and writers, errors of one line, and bounded memory."""

import contextlib
import copy
import logging
import os
import pathlib
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
import orbax.checkpoint as ocp
import tensorstore as ts

from azo.formats import files

Result = TypeVar("Result")
_MAX_REASON = 300  # characters of a message of another library


def run_checkpointer() -> ocp.Checkpointer:
    """Returns a reader and writer of checkpoints; every process of a run has to use it."""
    return ocp.Checkpointer(ocp.CompositeCheckpointHandler())


def open_checkpointer() -> ocp.StandardCheckpointer:
    """Returns a reader and writer of networks that does not wait for other processes."""
    here = jax.process_index()
    alone = ocp.options.MultiprocessingOptions(here, {here}, f"process{here}")
    return ocp.StandardCheckpointer(multiprocessing_options=alone)


def metadata(folder: pathlib.Path) -> Any:
    """Returns the shapes and types of the arrays in a folder, without reading them."""
    with open_checkpointer() as checkpointer:
        return call_library(
            f"{folder}: cannot be read",
            lambda: checkpointer.metadata(folder.absolute()).item_metadata.tree,
        )


def restore(folder: pathlib.Path, saved: Any) -> Any:
    """Returns the arrays in a folder, on the default device.

    Args:
      folder: as `open_checkpointer` or `run_checkpointer` wrote it.
      saved: its `metadata`.
    """
    device = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    template = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), saved
    )
    with open_checkpointer() as checkpointer:
        return call_library(
            f"{folder}: cannot be read", lambda: checkpointer.restore(folder.absolute(), template)
        )


def call_library(message: str, action: Callable[[], Result]) -> Result:
    """Returns the result of a function of Orbax; any error of it becomes a ValueError of one line.

    Args:
      message: start of the line.
      action: the function.
    """
    with _quiet_library(), _without_leaks():
        try:
            return action()
        except Exception as error:  # each library of Orbax has its own
            reason = _reason(error)
    # Tasks and threads of Orbax that failed with it would print their tracebacks later.
    for name in ("asyncio", "absl"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    raise ValueError(f"{message} ({reason})")


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


@contextlib.contextmanager
def _quiet_library() -> Iterator[None]:
    """Mutes Orbax's warnings about intended omissions, such as items that are not restored."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: Exception) -> str:
    """Returns the reason of an error of a library, at most a line of it."""
    code = re.search(r"os_error_code='(\d+)'", str(error))
    text = os.strerror(int(code[1])) if code else getattr(error, "strerror", None) or str(error)
    return files.one_line(text, _MAX_REASON) or type(error).__name__
