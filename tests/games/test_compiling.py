"""The cache of compiled functions: it is made again where it is damaged or outdated."""

import pathlib
import pickle
import shutil
import subprocess
import sys

import numba
import pytest
from support.faults import damage

from azo.games.host import kernels

_HOST = pathlib.Path(kernels.__file__).parent


def _twice(number):
    return 2 * number


def cache_hits():
    """Calls a function as a new process would; returns 1 if it came from the cache."""
    compiled = kernels.jit(_twice)
    assert compiled(21) == 42
    return sum(compiled.stats.cache_hits.values())


def move(path):
    """Stores an object of a class that is not there any more."""
    path.write_bytes(pickle.dumps(numba.__version__) + b"cazo.moved\nClass\n.")


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("kind", [*damage.KINDS, move])
def test_a_damaged_file_is_made_again(tmp_path, monkeypatch, suffix, kind):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert [cache_hits(), cache_hits()] == [0, 1]
    (file,) = tmp_path.rglob(f"*.{suffix}")
    kind(file)
    assert [cache_hits(), cache_hits()] == [0, 1]


def test_a_changed_constant_is_noticed_by_the_modules_that_import_it(tmp_path):
    folder = tmp_path / "azo" / "games" / "host"
    shutil.copytree(_HOST, folder, ignore=lambda *_: ["__pycache__"])
    for package in (folder.parent, folder.parents[1]):
        (package / "__init__.py").touch()
    (folder / "caller.py").write_text(
        "from azo.games.host import (\n    callee,\n    kernels,\n)\n"
        "@kernels.jit\ndef twice(number):\n    return callee.FACTOR * number\n\nprint(twice(21))\n"
    )
    shown = []
    for factor in (2, 3):
        (folder / "callee.py").write_text(f"FACTOR = {factor}\n")
        command = [sys.executable, "-m", "azo.games.host.caller"]
        shown.append(subprocess.check_output(command, text=True, cwd=tmp_path))
    assert shown == ["42\n", "63\n"]


def test_a_cache_that_cannot_be_written_is_not_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    compiled = kernels.jit(_twice)
    shutil.rmtree(tmp_path)
    tmp_path.write_text("in the way")
    assert compiled(21) == 42
