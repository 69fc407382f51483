"""Strict JAX settings for all tests, and the fixtures that they share.

Tests run on the CPU unless told otherwise: `JAX_PLATFORMS=cuda,cpu pytest -m gpu`.
"""

import contextlib
import functools
import gc
import os
import pathlib
import shutil
import signal

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Most programs run once or twice, so most of the time goes into compiling them: a third less.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Programs that tests start inherit these, and so share the cache.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parents[1] / ".cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import jax
import pytest
from support.drivers import web_visit

from azo.learning import iteration, learner, run_state, sharding
from azo.process import code_identity, console, program_cache

# XLA's newer emitters of fused loops double the time of compiling; JAX 0.11 has no others.
flag = " --xla_cpu_use_fusion_emitters=false" if jax.__version_info__ < (0, 11) else ""
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + flag

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_num_cpu_devices", 8)  # for the tests of several devices


# A shell ignores Ctrl-C in jobs behind `&`, `nohup` ignores the hanging up of the terminal, and so
# would azo and the programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Compilation makes millions of small objects, none of them in cycles: looking for cycles among them
# took 8 % of the time.
gc.set_threshold(200_000, 20, 100)

# Tests that start a browser, a notebook or whole programs; they have the tier e2e by their file,
# those in journeys/ by their folder.
_E2E = (
    *("test_web_page.py", "test_web_moves.py", "test_web_board.py", "test_analysis_page.py"),
    *("test_notebook.py", "test_wheel.py", "test_examples.py"),
)
# Layers and files whose tests compile or lower large programs for the device.
_COMPILED = (
    *("search", "networks", "learning", "training", "opponents", "matches", "compat", "faults"),
)
_LARGE = ("test_batched.py", "test_benchmarks.py", "test_lowering.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives every test its tier, unit, compiled or e2e, and lets the long e2e files begin."""
    folder = pathlib.Path(__file__).parent
    for item in items:
        place = item.path.relative_to(folder)
        if place.name in _E2E or place.parts[0] == "journeys":
            item.add_marker("e2e")
            if place.parts[0] == "journeys":
                item.add_marker("thorough")
        elif place.parts[0] in _COMPILED or place.name in _LARGE:
            item.add_marker("compiled")
        else:
            item.add_marker("unit")
    items.sort(key=lambda item: item.get_closest_marker("e2e") is None)


@pytest.fixture(scope="session", autouse=True)
def _programs_are_shared():
    """Runs with equal recipes share their first state and their program, which takes 4 s each."""
    build, begin = iteration.build, sharding.begin
    programs, states = {}, {}

    def key(game, config, mesh, **others):
        recipe = config.model_dump_json(include=set(run_state.RecipeConfig.model_fields))
        # A test may change the rate, or compile thoroughly.
        changed = learner.rate_factor, jax.config.read("jax_disable_most_optimizations")
        code = code_identity.version(build, begin, type(game))  # and so may its code
        return game, recipe, mesh, changed, code, str(others)

    def shared_build(*recipe, **others):
        if "kind" not in others:  # not by a trainer: arguments of other types would trace it again
            return build(*recipe, **others)
        name = key(*recipe, **others)
        if name not in programs:
            programs[name] = build(*recipe, **others)
        if len(programs) > 8:  # the oldest one goes
            programs.pop(next(iter(programs)))
        return programs[name]

    def shared_begin(*recipe, seed, start=None, teacher=None):
        if start is not None or teacher is not None:
            return begin(*recipe, seed=seed, start=start, teacher=teacher)
        name = key(*recipe, seed=seed)
        state = states[name] if name in states else begin(*recipe, seed=seed)
        if sum(x.size for x in jax.tree.leaves(state)) > 1_000_000:
            return state  # too large to keep
        states[name] = state
        return jax.tree.map(lambda x: x.copy(), state)  # a run donates its state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iteration, "build", shared_build)
        patch.setattr(sharding, "begin", shared_begin)
        yield


@pytest.fixture(autouse=True)
def _each_test_compiles():
    program_cache.PROGRAMS.clear()


@pytest.fixture
def thorough_compilation():
    """Compiles as in use, for what runs long."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture
def interpreted(monkeypatch):
    """Programs run azo's kernels for CUDA, interpreted; returns the names of their functions."""
    choose, used = jax.lax.platform_dependent, []

    def for_cuda(*arguments, cuda=None, **others):
        if not hasattr(cuda, "func"):  # not one of the kernels
            return choose(*arguments, cuda=cuda, **others) if cuda else choose(*arguments, **others)
        used.append(cuda.func.__name__)
        return functools.partial(cuda, is_interpreted=True)(*arguments)

    monkeypatch.setattr(jax.lax, "platform_dependent", for_cuda)
    return used


@pytest.fixture
def at_iteration(monkeypatch):
    """Arranges for something to happen once, when an iteration is shown."""

    def arrange(number, happen):
        show = console.Console.update

        def update(self, shown, *others):
            show(self, shown, *others)
            if shown["iteration"] == number:
                monkeypatch.setattr(console.Console, "update", show)
                happen()

        monkeypatch.setattr(console.Console, "update", update)

    return arrange


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as driver:
        try:
            launched = driver.chromium.launch()
        except sync_api.Error:
            path = shutil.which("chromium") or shutil.which("google-chrome")
            if path is None:
                pytest.skip("no browser: `playwright install chromium`, or Debian's chromium")
            launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser):
    """Opens pages, see `web_visit.Visit`; the test fails at its end if one of them had an error."""
    with contextlib.ExitStack() as visits:

        def open_visit(*arguments, **settings):
            visit = web_visit.Visit(browser, *arguments, **settings)
            visits.callback(visit.end)
            return visit

        yield open_visit


@pytest.fixture(scope="session")
def data_folder() -> pathlib.Path:
    """The data folder; skips the test if there is none."""
    if not (folder := os.environ.get("AZO_DATA")):
        pytest.skip("no data folder: set AZO_DATA to its path")
    return pathlib.Path(folder)
