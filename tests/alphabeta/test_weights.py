"""The file of an alpha-beta search, and what is refused as one."""

import shutil

import numpy as np
import pytest

from azo.alphabeta import evaluation, fitting, search, weights
from azo.games.host import kernels
from azo.settings import shipped_files
from azo.storage import files

SHIPPED = shipped_files.NETWORKS / "zero-fast"


def changed(folder, **arrays):
    """Writes the shipped file with other arrays."""
    with np.load(SHIPPED / weights.FILE) as file:
        np.savez_compressed(folder / weights.FILE, **(dict(file) | arrays))


def test_a_folder_without_the_file_has_none(tmp_path):
    assert weights.load(tmp_path) is None


def test_what_is_written_is_read(tmp_path):
    rng = np.random.default_rng(1)
    num = int(evaluation.shared_entries().max()) + 1
    own = rng.integers(-99, 99, (evaluation.NUM_STAGES, num)).astype(np.int16)
    cuts = search.no_cuts()
    cuts[3, 8, 0] = (4, 1.25, -2.0, 64.0)
    weights.save(tmp_path / weights.FILE, own, cuts)
    read = weights.load(tmp_path)
    assert (read.cuts == cuts).all()
    np.testing.assert_array_equal(read.weights, own[:, evaluation.shared_entries()])


@pytest.mark.parametrize(
    ("values", "place"),
    [(np.nan, 1), (np.inf, 3), (0.0, 1), (-1.0, 3), (9.0, 0), (8.0, 0)],
)
def test_a_cut_that_makes_no_sense_is_refused(tmp_path, values, place):
    with np.load(SHIPPED / weights.FILE) as file:
        cuts = file["cuts"].copy()
    cuts[10, 8, 0, place] = values
    changed(tmp_path, cuts=cuts)
    with pytest.raises(ValueError, match="damaged: a cut is not by a shallower search"):
        weights.load(tmp_path)


def test_other_arrays_and_damage_are_one_line(tmp_path):
    changed(tmp_path, weights=np.zeros((3, 4), np.int16))
    with pytest.raises(ValueError, match=r"array 'weights' is int16 of shape \[3, 4\]"):
        weights.load(tmp_path)
    shutil.copytree(SHIPPED, tmp_path / "copy")
    content = bytearray((SHIPPED / weights.FILE).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "copy" / weights.FILE).write_bytes(content)
    with pytest.raises(files.Damaged, match="another checksum"):
        weights.load(tmp_path / "copy")


def test_a_fit_finds_the_weights_that_made_the_targets():
    rng = np.random.default_rng(2)
    num = int(evaluation.shared_entries().max()) + 1
    true = np.zeros(num, np.float32)
    P, O = [], []
    while len(P) < 3_000:
        a, b = rng.integers(0, 2**63, 2, dtype=np.uint64)
        own, other = a & ~b, b & ~a
        if kernels.legal_moves(own, other, kernels.FULL):
            P.append(own)
            O.append(other)
    P, O = np.array(P), np.array(O)
    empties = fitting.num_empties(P, O)
    stage = int(np.median(empties)) // evaluation.STAGE_EMPTIES
    low, high = fitting.stage_bounds(stage)
    rows = fitting.list_rows(P, O)
    used = np.unique(rows)
    true[used] = rng.normal(size=len(used))
    target = fitting.predict(rows, true)
    found, number, error = fitting.fit_stage(
        stage, P, O, target, np.ones(len(P)), np.zeros(num, np.float32), ridge=1e-3, num_steps=60
    )
    near = (empties >= low - fitting.NUM_OUTSIDE) & (empties <= high + fitting.NUM_OUTSIDE)
    assert number == near.sum()
    assert error < 0.05 * np.abs(target[near]).mean()
    assert fitting.to_entries(np.stack([found] * 2)).shape == (2, evaluation.NUM_ROWS)
