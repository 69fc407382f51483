"""Multi-ProbCut: for which scores a shallow search makes a deep one needless.

For each number of empty squares, exact scores of sampled positions were regressed on a search to a
small depth: score = slope * estimate + offset, with a standard deviation of `deviation` discs. With
a confidence of 95 % a position is cut where its score would have to be off by more than 1.64
deviations. So each cut errs with 5 %; `benchmarks/probcut.py` measures how often a whole search
errs. It also makes `probcut.json`, the fits by board size and variant.
"""

import json
import pathlib
import statistics

import numpy as np

from azo.solver.host import deep, estimate

FILE = pathlib.Path(__file__).with_name("probcut.json")
MIN_CONFIDENCE, MAX_CONFIDENCE = 0.9, 0.98  # range of the measurements

MIN_EMPTIES = 10  # with fewer empty squares an exact search is cheap
_MAX_EMPTIES = 36
_GROWTH = 1.02  # of the deviation, for each empty square beyond those of the fit


def load_cuts(size: int, confidence: float, *, is_reversed: bool) -> np.ndarray:
    """Returns the `cuts` of a `deep.Search` for a board and variant.

    Args:
      size: rows of the board.
      confidence: probability that a cut is right, 0.9 to 0.98.
      is_reversed: whether fewer discs win.

    Raises:
      ValueError: If the confidence is out of range, or the board has no fit.
    """
    if not MIN_CONFIDENCE <= confidence <= MAX_CONFIDENCE:
        raise ValueError(
            f"confidence {confidence:g}: from {MIN_CONFIDENCE} to {MAX_CONFIDENCE}, or 1 for exact"
        )
    fits = json.loads(FILE.read_text(encoding="utf-8"))
    name = board_name(size, is_reversed=is_reversed)
    if name not in fits:
        raise ValueError(
            f"confidence {confidence:g}: selective solving is for {', '.join(fits)}, not {name}"
        )
    deviations = statistics.NormalDist().inv_cdf(confidence)
    cuts = np.zeros(65, deep.CUT)
    most = max(row["empties"] for row in fits[name])
    for empties, row in enumerate(_rows(fits[name])):
        if MIN_EMPTIES <= empties <= _MAX_EMPTIES and "depth" in row:
            margin = deviations * _GROWTH ** max(empties - most, 0) * row["deviation"]
            cuts[empties] = (row["depth"], row["slope"], row["offset"], margin)
    return cuts


def load_evaluator(size: int, *, is_reversed: bool) -> estimate.LinearEvaluator:
    """Returns the estimate of the score on a board; its weights are 0 if the board has no fit."""
    fits = json.loads(FILE.read_text(encoding="utf-8"))
    evaluator = estimate.make_evaluator()
    if fit := fits.get(board_name(size, is_reversed=is_reversed)):
        evaluator.weights[:] = [row["weights"] for row in _rows(fit)]
    return evaluator


def _rows(fit: list[dict]) -> list[dict]:
    """Returns the row for each number of empty squares; the first and last serve those outside."""
    by_empties = {row["empties"]: row for row in fit}
    least, most = min(by_empties), max(by_empties)
    return [by_empties[min(max(empties, least), most)] for empties in range(65)]


def board_name(size: int, *, is_reversed: bool) -> str:
    """Returns the key of a board and variant in `probcut.json`."""
    return f"{size}x{size} {'reversed' if is_reversed else 'normal'}"
