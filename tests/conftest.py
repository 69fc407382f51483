"""Strict JAX settings for all tests, and the fixtures that they share.

Tests run on the CPU unless told otherwise: `JAX_PLATFORMS=cuda,cpu pytest -m gpu`.
"""

import gc
import os
import pathlib
import signal

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Most programs run once or twice, so most of the time goes into compiling them: a third less.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Programs that tests start inherit these, and so share the cache.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parents[1] / ".cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")

import jax
import pytest

from azo.run import data

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_num_cpu_devices", 8)  # for the tests of several devices


# A shell ignores Ctrl-C in jobs behind `&`, `nohup` ignores the hanging up of the terminal, and so
# would azo and the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Compilation makes millions of small objects, none of them in cycles: looking for cycles among them
# took 8 % of the time.
gc.set_threshold(200_000, 20, 100)

# Tests that start a browser, a notebook or whole programs; they have the tier e2e by their file.
_E2E = (
    *("test_web_page.py", "test_web_board.py", "test_web_lessons.py", "test_analysis_page.py"),
    *("test_notebook.py", "test_front_end_noise.py", "test_wheel.py"),
)
# Rooms and files whose tests compile or lower large programs for the device.
_COMPILED = ("search", "learning", "measure", "run", "faults")
_LARGE = ("test_batched.py", "test_benchmarks.py", "test_lowering.py", "test_rules_benchmark.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives every test its tier: unit, compiled or e2e."""
    folder = pathlib.Path(__file__).parent
    for item in items:
        place = item.path.relative_to(folder)
        if place.name in _E2E:
            item.add_marker("e2e")
        elif place.parts[0] in _COMPILED or place.name in _LARGE:
            item.add_marker("compiled")
        else:
            item.add_marker("unit")


@pytest.fixture
def thorough_compilation():
    """Compiles as in use, for what runs long."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="session")
def data_folder() -> pathlib.Path:
    """The data folder; skips the test if there is none."""
    folder = data.folder()
    if folder is None:
        pytest.skip(f"no data folder: set {data.VARIABLE} to its path")
    return folder
