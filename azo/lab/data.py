"""The folder of game records and test positions, if there is one.

Installation, training and tests work without it: its readers accept None, and tests skip with a
reason. Its `README.md` lists the files and their origin.
"""

import os
import pathlib

VARIABLE = "AZO_DATA"


def folder() -> pathlib.Path | None:
    """Returns the folder that the environment variable AZO_DATA names; None if it is not set.

    Raises:
      ValueError: AZO_DATA is not a folder.
    """
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return None
    if not pathlib.Path(chosen).is_dir():
        raise ValueError(f"{VARIABLE}={chosen}: no such folder")
    return pathlib.Path(chosen)
