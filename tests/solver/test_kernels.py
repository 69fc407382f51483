"""The cache of compiled functions."""

import pickle
import subprocess
import sys

import numba

_MODULE = """
from azo.solver.host import kernels


@kernels.jit
def twice(number):
    return 2 * number


print(twice(21), sum(twice.stats.cache_hits.values()))
"""


def test_a_cache_that_names_moved_classes_is_made_again(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(_MODULE)

    def run():
        done = subprocess.run([sys.executable, module], capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    assert [run(), run()] == ["42 0\n", "42 1\n"]
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(pickle.dumps(numba.__version__) + b"cazo.moved\nClass\n.")
    assert [run(), run()] == ["42 0\n", "42 1\n"]
