"""The file of a linear evaluation with its ProbCut, beside the network that it was fitted to.

It has two arrays: `weights` `[NUM_STAGES, distinct entries]` int16, and `cuts` `[NUM_STAGES,
MAX_CUT_DEPTH + 1, NUM_CUTS, 4]` float32 with the fields of `search.CUT`.
"""

import pathlib
from typing import NamedTuple

import numpy as np

from azo.alphabeta import evaluation, search
from azo.networks import exported_network
from azo.storage import files

FILE = "alphabeta.npz"
_FIELDS = ("depth", "slope", "offset", "deviation")
_CUTS_SHAPE = (evaluation.NUM_STAGES, search.MAX_CUT_DEPTH + 1, search.NUM_CUTS)


class LinearWeights(NamedTuple):
    """What an alpha-beta search has learned."""

    weights: np.ndarray  # [NUM_STAGES, NUM_ROWS] int16
    cuts: np.ndarray  # [NUM_STAGES, MAX_CUT_DEPTH + 1, NUM_CUTS] search.CUT


def save(file: pathlib.Path, weights: np.ndarray, cuts: np.ndarray) -> None:
    """Writes a file of `weights` `[NUM_STAGES, distinct entries]` int16 and cuts."""
    fields = [cuts[name].astype(np.float32) for name in _FIELDS]
    np.savez_compressed(file, weights=weights, cuts=np.stack(fields, axis=-1))


def load(folder: pathlib.Path) -> LinearWeights | None:
    """Returns the weights in the folder of a network, None if it has none.

    Raises ValueError, one line, if the file is damaged.
    """
    file = folder / FILE
    if not file.exists():
        return None
    files.verify_checksums(folder, [FILE])
    shared = evaluation.shared_entries()
    expected = {
        "weights": ((evaluation.NUM_STAGES, int(shared.max()) + 1), np.dtype(np.int16)),
        "cuts": ((*_CUTS_SHAPE, len(_FIELDS)), np.dtype(np.float32)),
    }
    arrays = exported_network.read_archive(file, expected)
    cuts = np.zeros(_CUTS_SHAPE, search.CUT)
    for number, name in enumerate(_FIELDS):
        cuts[name] = arrays["cuts"][..., number]
    depths = np.arange(search.MAX_CUT_DEPTH + 1)[:, None]
    is_used = cuts["depth"] >= 0
    values = arrays["cuts"][is_used]
    is_shallower = (cuts["depth"] < depths)[is_used]
    if not (np.isfinite(values).all() and is_shallower.all() and (values[:, 1:4:2] > 0).all()):
        raise ValueError(f"{file}: damaged: a cut is not by a shallower search")
    return LinearWeights(np.ascontiguousarray(arrays["weights"][:, shared]), cuts)
