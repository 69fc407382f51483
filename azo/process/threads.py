"""Whether a process can start threads and open files.

Libraries that lack them abort the process with a list of addresses, or wait for ever.
"""

import errno
import os
import resource
import threading

_FOR_EACH_CORE, _OTHERS = 4, 12  # with two cores JAX 0.10 starts 15
_LEAST_FILES = 64  # a checkpoint opens some twenty at a time


def check() -> None:
    """Raises RuntimeError or OSError if JAX could not start its threads, or open its files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _LEAST_FILES:
        if hard != resource.RLIM_INFINITY and hard < _LEAST_FILES:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        resource.setrlimit(resource.RLIMIT_NOFILE, (_LEAST_FILES, hard))
    _start(_FOR_EACH_CORE * (os.cpu_count() or 1) + _OTHERS)


def spare_numpy() -> None:
    """Lets numpy start no threads if it could not; for the time before it is imported.

    OpenBLAS would interrupt the process.
    """
    try:
        _start((os.cpu_count() or 1) + 2)  # azo starts some before numpy does
    except RuntimeError:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _start(number: int) -> None:
    ends = threading.Event()
    started: list[threading.Thread] = []
    try:
        for _ in range(number):
            thread = threading.Thread(target=ends.wait, daemon=True)
            thread.start()
            started.append(thread)
    finally:
        ends.set()
        for thread in started:
            thread.join()
