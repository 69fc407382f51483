"""The memory of a device, and whether it is enough.

Each check raises ValueError with one line that names the settings and says what would work.
"""

import math
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import jax

_LIMITS = (  # of containers on Linux
    pathlib.Path("/sys/fs/cgroup/memory.max"),
    pathlib.Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def available_bytes() -> int:
    """Returns the memory of the default device, whether used or not."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "bytes_limit" in statistics:
        return statistics["bytes_limit"]
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _LIMITS:
        if path.is_file() and (text := path.read_text(encoding="ascii").strip()).isdigit():
            sizes.append(int(text))
    return min(sizes)


def num_bytes(shapes: Any) -> int:
    """Returns the size of the arrays of a pytree, which may be shapes."""
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(shapes))


def check_fits(what: str, parts: Mapping[str, int]) -> None:
    """Raises ValueError, one line, if a device lacks the memory that `what` needs.

    `parts` are bytes on one device, by the setting that they depend on most.
    """
    total, available = sum(parts.values()), available_bytes()
    if total > available:
        largest = max(parts, key=lambda name: parts[name])
        raise ValueError(
            f"{what} needs about {_text(total)} of memory, but only {_text(available)} are"
            f" available: lower {largest}, which accounts for {_text(parts[largest])}"
        )


def check_program(program: jax.stages.Compiled) -> None:
    """Raises ValueError, one line, if a device lacks the memory of a compiled iteration."""
    size = program.memory_analysis()
    if size is not None:
        used = size.temp_size_in_bytes + size.argument_size_in_bytes
        check_fits("an iteration", {"selfplay.num_games or learner.batch_size": used})


def _text(number: int) -> str:
    return f"{number / 2**30:,.1f} GiB"
