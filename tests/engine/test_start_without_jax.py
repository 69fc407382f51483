"""Front ends with an exported pattern network play on the host, without JAX, and start soon."""

import subprocess
import sys

import pytest

_PROGRAM = """
import sys
from azo import __main__
code = __main__.main(sys.argv[1:])
libraries = {"jax", "flax", "optax", "orbax", "mctx"}
libraries |= {"scipy.linalg", "numba.np.linalg", "numba.np.npyimpl"}  # for what is not compiled yet
if "--network" not in sys.argv:
    libraries |= {"typeguard", "unittest.mock"}  # of tyro, for flags
sys.exit(code or ", ".join(libraries & set(sys.modules)) or 0)
"""


def played(command, lines, *flags):
    """Runs a command, and once more if it has compiled."""
    program = [sys.executable, "-c", _PROGRAM, command, *flags]
    for _ in range(2):
        done = subprocess.run(
            program, input=lines + "quit\n", capture_output=True, text=True, timeout=120
        )
        if done.returncode == 0:
            break
    return done


@pytest.mark.parametrize(
    ("command", "lines", "answer"),
    [
        ("gtp", "genmove b\n", "= "),
        ("nboard", "nboard 2\ngo\n", "=== "),
        ("play", "hint\n", "expected"),
    ],
)
def test_a_move_is_played_without_jax_and_without_loading_a_compiler(command, lines, answer):
    done = played(command, lines, "--network", "zero-fast6", "--engine.num-simulations", "8")
    assert answer in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_without_flags_nothing_is_loaded_that_reads_them():
    done = played("gtp", "genmove b\n")
    assert "= C4" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
