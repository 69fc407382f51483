"""Files of positions with known scores: OBF and CSV, also gzipped."""

import gzip
import pathlib
import zlib

from azo.games import obf


def read(path: pathlib.Path) -> list[obf.Problem]:
    """Returns the positions of a file.

    Raises:
      ValueError: One line that says what is wrong, and where.
    """
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
        lines = text.decode("utf-8").splitlines()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{path}: cannot be read: {reason}") from None
    return list(obf.parse_lines(lines, str(path)))
