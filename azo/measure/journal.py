"""Files of lines that only grow: whoever is killed loses no more than the line under way."""

import os
import pathlib


def append(path: pathlib.Path, line: str) -> None:
    """Adds a line, given without its end, on disk when this returns.

    What a crash left of an earlier line goes first. The folder is made if there is none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: pathlib.Path) -> list[str]:
    """Returns the lines without their ends, none if there is no file.

    A last line without an end was cut short by a crash, and is left out.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [line.removesuffix("\n") for line in lines if line.endswith("\n")]
