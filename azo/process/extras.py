"""Libraries that only some commands need, and that an installation may lack."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needed(what: str, *packages: str) -> Iterator[None]:
    """Turns a failing import of an optional library into a message that says how to install it.

    The message names the packages, not an extra of azo: that works for a clone and for a wheel.

    Raises:
      ValueError: One line; one of the packages, whose modules have their names, is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in packages:
            raise
        names = " ".join(packages)
        raise ValueError(f"{what} needs {names}: python -m pip install {names}") from None
