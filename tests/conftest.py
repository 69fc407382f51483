"""Strict JAX settings for all tests, and the fixtures that they share.

Tests run on the CPU unless told otherwise: `JAX_PLATFORMS=cuda,cpu pytest -m gpu`.
"""

import os
import pathlib

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
from support import tiny_run

from azo.run import data

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_num_cpu_devices", 8)  # for the tests of several devices


_MAPPINGS = pathlib.Path("/proc/self/maps")
_MANY_MAPPINGS = 20_000  # of 65,530 that Linux allows a process


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_do_not_pile_up():
    """Every compiled program holds some mappings of memory; without any left XLA crashes."""
    yield
    if _MAPPINGS.exists() and _MAPPINGS.read_bytes().count(b"\n") > _MANY_MAPPINGS:
        jax.clear_caches()
        tiny_run.iteration.cache_clear()  # it would be traced again, which it forbids


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
