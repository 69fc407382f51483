"""Faults below Python: failing system calls and power losses, by the shim in support/faults/shim.

Whatever fails, the command ends with one line or as if nothing had failed, nothing that it had
acknowledged is lost, and the next start goes on. One process runs a program again and again.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from support.faults.shim import control

TESTS = pathlib.Path(__file__).parents[1]
SHORT = ("tournament", "deck", "game")
LONG = ("training", "book", "export")


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The compiled shim."""
    path = control.library(tmp_path_factory.mktemp("shim"))
    if path is None:
        pytest.skip("needs Linux and a C compiler: cc, gcc or clang")
    return path


def measure(shim, folder, *words, seconds):
    """Runs the worker; returns its results by program."""
    out = folder / "result.json"
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "support.faults.shim.worker", *map(str, words), "--out", str(out)],
        env=os.environ | control.environment(shim) | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(out.read_text())
    for program, found in results.items():
        for what, result in found.items():
            print(f"{program}: {result['cases']} cases of {what}, {result['seconds']} s")
    return results


def measure_few(shim, folder, programs):
    """A few cases of each of some programs, in one process."""
    numbers = ["--quick", "--faults", 16, "--losses", 8, "--unsynced", 10, "--starts", 1]
    return measure(shim, folder, *programs, *numbers, seconds=1200)


@pytest.fixture(scope="module")
def of_short_programs(shim, tmp_path_factory):
    """A few cases of the programs that compile nothing."""
    return measure_few(shim, tmp_path_factory.mktemp("few"), SHORT)


@pytest.fixture(scope="module")
def of_long_programs(shim, tmp_path_factory):
    """A few cases of the other programs, and of the one that loses things."""
    return measure_few(shim, tmp_path_factory.mktemp("few"), [*LONG, "careless"])


@pytest.mark.thorough
def test_a_careless_program_is_convicted(of_long_programs):
    """What the other tests find if a call is taken to have done its work."""
    found = of_long_programs["careless"]
    faults, losses = (found[what]["wrong"] for what in ("faults", "losses"))
    for call in ("write new", "close new"):
        assert any(line.startswith(f"EIO in {call}: ended with Traceback") for line in faults)
    assert any(line.startswith("short in write new: lost: ") for line in faults)
    assert losses


def check(results):
    for result in results.values():
        assert result["cases"] > 0
        assert result["wrong"] == []


@pytest.mark.parametrize("program", SHORT)
def test_faults_below_python_lose_nothing_and_give_one_line(of_short_programs, program):
    check(of_short_programs[program])


@pytest.mark.thorough
@pytest.mark.parametrize("program", LONG)
def test_faults_in_long_programs_lose_nothing_and_give_one_line(of_long_programs, program):
    check(of_long_programs[program])


@pytest.mark.faults
@pytest.mark.parametrize("program", [*SHORT, *LONG])
def test_many_faults_below_python_lose_nothing_and_give_one_line(shim, tmp_path, program):
    """Power losses, those after failing syncs too, and system calls that differ in call or path."""
    words = ["--quick", "--faults", 400, "--losses", 300, "--unsynced", 300, "--starts", 20]
    found = measure(shim, tmp_path, program, *words, seconds=3600)[program]
    assert found["losses"]["cases"] == 300
    check(found)
