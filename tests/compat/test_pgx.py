"""azo's Othello for Pgx: Pgx's own tests, and equal states beside Pgx's Othello."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys

import jax
import numpy as np
import pgx
import pytest
from support.drivers import azo_for_pgx, refusals

from azo.compat import pgx as compat
from azo.training import orbax_calls

REPOSITORY = pathlib.Path(__file__).parents[2]
GAMES = 2048
FIELDS = (
    *("current_player", "observation", "rewards", "terminated", "truncated"),
    *("legal_action_mask", "_step_count"),
)


def program(env):
    """Compiled `init(keys)`, and `step(states, actions)`, of a batch of games."""
    return jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step))


def draw(random, mask, illegal_share):
    """Draws from the masks [B, A], sometimes from all actions."""
    priority = random.random(mask.shape) * mask
    return np.where(
        random.random(len(mask)) < illegal_share,
        random.integers(mask.shape[1], size=len(mask)),
        priority.argmax(axis=1),
    )


@pytest.mark.thorough
def test_all_fields_are_those_of_pgx(thorough_compilation):
    """Also after illegal actions, passes and the end."""
    (init, step), (our_init, our_step) = map(program, (pgx.make("othello"), compat.make("othello")))
    random = np.random.default_rng(1)
    keys = jax.random.split(jax.random.key(0), GAMES)
    theirs, ours = init(keys), our_init(keys)
    seen = {"illegal": 0, "passes": 0, "both passed": 0}
    for _ in range(72):
        for name in FIELDS:
            expected, found = getattr(theirs, name), getattr(ours, name)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype), name
            np.testing.assert_array_equal(found, expected, name)
        for name in ("turn", "board", "passed"):
            np.testing.assert_array_equal(getattr(ours._x, name), getattr(theirs._x, name))
        legal = np.asarray(theirs.legal_action_mask)
        actions = draw(random, legal, 0.002)
        is_on = ~np.asarray(theirs.terminated)
        passes = is_on & legal[:, 64] & (actions == 64)
        seen["illegal"] += (is_on & ~legal[np.arange(GAMES), actions]).sum()
        seen["passes"] += passes.sum()
        seen["both passed"] += (passes & np.asarray(theirs._x.passed)).sum()
        theirs, ours = step(theirs, actions), our_step(ours, actions)
    assert theirs.terminated.all()
    assert min(seen.values()) > 10, seen


@pytest.mark.thorough
@pytest.mark.parametrize("size", [4, 6, 8])
def test_pgx_s_check_of_environments_passes(size, monkeypatch):
    monkeypatch.setattr(azo_for_pgx.API_TEST, "act_randomly", azo_for_pgx.act_randomly)
    env = compat.make("othello", size)
    pgx.api_test(env, 2, use_key=False)
    assert env.observation_shape == (size, size, 2)
    assert env.num_actions == size**2 + 1


@pytest.mark.parametrize("number", [0, 2])
def test_the_programs_of_the_page_run(number, tmp_path):
    arrays = {"a/b": np.arange(3), "c": np.float32(1)}
    orbax_calls.write(tmp_path / "state", arrays)
    page = (REPOSITORY / "docs" / "compat.md").read_text()
    names = {"folder": str(tmp_path / "state")}
    exec(page.split("```python\n")[1 + number].split("```")[0], names)
    if number == 2:
        assert names["arrays"]["a/b"].tolist() == [0, 1, 2]
    else:
        assert names["state"]._step_count.tolist() == [1] * 4


def test_a_picture_shows_the_discs():
    state = compat.Othello().init(jax.random.key(0))
    assert state.to_svg().count("<circle") == 4 + 4  # the marks of the board, then the discs


def test_another_game_is_refused():
    message = "azo has the environment 'othello', not 'chess': try pgx.make"
    assert refusals.message_of(compat.make, "chess") == message


def test_the_missing_package_is_named():
    program = "import sys; sys.modules['pgx'] = None; import azo.compat.pgx"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: azo.compat.pgx needs the package Pgx: pip install pgx"
    )


@pytest.mark.thorough
def test_the_tests_of_pgx_pass(tmp_path):
    """They are in Pgx's source archive alone, which pip unpacks, and then fails to build."""
    # Pgx's tests expect the random numbers that JAX had by default before 0.5.
    environment = os.environ | {"TMPDIR": str(tmp_path), "JAX_THREEFRY_PARTITIONABLE": "0"}
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-clean", "--no-binary"]
    command += ["pgx", "--dest", str(tmp_path), f"pgx=={importlib.metadata.version('pgx')}"]
    subprocess.run(command, env=environment, capture_output=True, timeout=300)
    files = list(tmp_path.rglob("tests/test_othello.py"))
    if not files:
        pytest.skip("the source archive of Pgx cannot be downloaded")
    environment["PYTHONPATH"] = f"{REPOSITORY}:{REPOSITORY / 'tests'}"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "support.drivers.azo_for_pgx",
        "-c",
        os.devnull,
    ]
    done = subprocess.run(
        [*command, files[0]], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout
    assert re.findall(r"::test_(\w+) PASSED", done.stdout) == [
        *("init", "step", "terminated", "legal_action", "observe", "api"),
    ]
