"""Files to which lines are only appended; a crash loses at most the line being written."""

import os
import pathlib


def append(path: pathlib.Path, line: str) -> None:
    """Appends a line, given without its end; it is on disk when this returns.

    An incomplete last line, left by a crash, is removed first. A missing folder is made.
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
    """Returns the lines without their ends; none if the file does not exist.

    An incomplete last line, left by a crash, is omitted.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [line.removesuffix("\n") for line in lines if line.endswith("\n")]
