"""Memory that a run or a match needs, compared with that of the machine before it is taken.

An allocation that succeeds on a CPU may still end the process later, when the pages are written.
"""

import os
import pathlib
from collections.abc import Mapping

import jax

_NODE_BYTES = 300  # of a search tree, on 8x8; fewer on smaller boards
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


def tree_bytes(num_games: int, num_simulations: int) -> int:
    """Returns the size of search trees side by side, at most."""
    return num_games * (num_simulations + 1) * _NODE_BYTES


def check(what: str, parts: Mapping[str, int]) -> None:
    """Compares memory with that of a device.

    Args:
      what: needs the memory.
      parts: bytes on one device, by the setting that they depend on most.

    Raises:
      ValueError: One line that names the largest part.
    """
    total, available = sum(parts.values()), available_bytes()
    if total > available:
        largest = max(parts, key=lambda name: parts[name])
        raise ValueError(
            f"{what} needs about {_text(total)} of memory, but there are {_text(available)}:"
            f" lower {largest}, which accounts for {_text(parts[largest])}"
        )


def _text(number: int) -> str:
    return f"{number / 2**30:,.1f} GiB"
