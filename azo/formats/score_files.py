"""Files of positions with known scores: OBF and CSV, also gzipped."""

import gzip
import pathlib
import random
import zlib

from azo.formats import obf


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


def read_scored(path: pathlib.Path, *, size: int, limit: int, seed: int) -> list[obf.Problem]:
    """Returns positions of a file that have a score, in its order.

    Args:
      path: the file.
      size: of the boards.
      limit: the most positions; of more, so many are drawn.
      seed: of that draw.

    Raises:
      ValueError: One line: also where a board has another size, or nothing has a score.
    """
    found = read(path)
    for problem in found:
        if problem.size != size:
            raise ValueError(
                f"{path}:{problem.line}: a board of {problem.size}x{problem.size} squares,"
                f" not {size}x{size}"
            )
    scored = [problem for problem in found if problem.best_score() is not None]
    if not scored:
        raise ValueError(f"{path}: no position in it has a score")
    if len(scored) > limit:
        chosen = random.Random(seed).sample(range(len(scored)), limit)
        scored = [scored[row] for row in sorted(chosen)]
    return scored
