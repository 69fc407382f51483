"""The steps of `scripts/gpu.sh`, with a program in place of Python that notes its arguments."""

import os
import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "gpu.sh"
FAKE = """#!/bin/sh
echo $(echo "$*") >> "$CALLS"
case "$*" in *"$SLOW"*) exec sleep 30;; *"$WRONG"*) exit 3;; esac
"""


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs a step: its exit code, and the arguments of new calls."""
    python, calls = tmp_path / "python", tmp_path / "calls"
    python.write_text(FAKE)
    python.chmod(0o755)

    def run_step(step, slow="-", wrong="-", **settings):
        calls.write_text("")
        own = {"PYTHON": python, "WHEELS": tmp_path / "none", "CALLS": calls}
        own |= {"SLOW": f"{slow} ", "WRONG": f"{wrong} "} | settings
        environment = os.environ | {name: str(value) for name, value in own.items()}
        command = [SCRIPT, step, tmp_path / "out"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode, calls.read_text().splitlines()

    return run_step


def test_unknown_step_is_refused(run):
    assert run("dance") == (2, [])


@pytest.mark.parametrize(("step", "num_calls"), [("check", 2), ("bench", 1), ("profile", 1)])
def test_what_is_done_is_not_repeated(run, step, num_calls):
    code, calls = run(step)
    assert (code, len(calls)) == (0, num_calls)
    assert run(step) == (0, [])


def test_all_steps_run_in_turn_unless_the_check_fails(run):
    code, calls = run("all", wrong="azo train", LIMIT=200)
    modules = [call.split()[1] for call in calls if call.startswith("-m")]
    assert code == 3
    assert modules == ["pytest", "azo", "benchmarks.all", "benchmarks.profiling"]
    code, calls = run("all", LIMIT=200)  # what is left
    assert (code, [call.split()[2] for call in calls]) == (0, ["train", "export"])


def test_nothing_follows_a_check_that_failed(run):
    code, calls = run("all", wrong="pytest", LIMIT=60)
    assert (code, len(calls)) == (3, 2)


def test_failure_ends_the_step_and_is_tried_again(run):
    code, calls = run("check", wrong="pytest")
    assert (code, len(calls)) == (3, 2)
    code, calls = run("check")
    assert code == 0
    assert [call.split()[1] for call in calls] == ["pytest"]


def test_step_ends_at_its_limit_and_continues(run):
    assert run("bench", slow="benchmarks.all", LIMIT=1)[0] == 124
    code, calls = run("bench")
    assert (code, len(calls)) == (0, 1)
