"""The folder of game records and test positions, if there is one.

Installation, training and tests work without it: its readers accept None, and tests skip with a
reason. Its `README.md` lists the files and their origin.
"""

import os
import pathlib

VARIABLE = "AZO_DATA"

_BESIDE_THE_PROJECT = pathlib.Path(__file__).parents[3] / "shared" / "data"


def folder() -> pathlib.Path | None:
    """Returns the data folder: `$AZO_DATA`, else `../shared/data` of the project; None if absent.

    Raises:
      ValueError: if `$AZO_DATA` is set but is not a folder.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        if not pathlib.Path(chosen).is_dir():
            raise ValueError(f"{VARIABLE}={chosen}: no such folder")
        return pathlib.Path(chosen)
    return _BESIDE_THE_PROJECT if _BESIDE_THE_PROJECT.is_dir() else None
