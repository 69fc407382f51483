"""Whether a process can start threads.

XLA needs many, and aborts the process with a list of addresses if one of them cannot be started.
"""

import os
import threading

_FOR_EACH_CORE, _OTHERS = 4, 12  # with two cores JAX 0.10 starts 15


def check() -> None:
    """Raises RuntimeError if as many threads as JAX needs cannot be started."""
    ends = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(_FOR_EACH_CORE * (os.cpu_count() or 1) + _OTHERS):
            thread = threading.Thread(target=ends.wait, daemon=True)
            thread.start()
            started.append(thread)
    finally:
        ends.set()
        for thread in started:
            thread.join()
