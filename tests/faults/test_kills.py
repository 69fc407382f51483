"""SIGKILL at random moments, many of them during saves: the run repeats the uninterrupted one."""

import random
import time

import pytest
from support import child_runs, tiny_run

from azo.run import checkpoint, metrics

NUM_KILLS = 12
NUM_ITERATIONS = 60


def run(folder, name):
    sections = {"run": {"num_iterations": NUM_ITERATIONS, "save_every": 1}}
    return child_runs.start(child_runs.command(folder, name=name, **sections))


def state(folder):
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        return checkpoints.restore(tiny_run.begin(1))


@pytest.mark.faults
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_had_not_been(tmp_path):
    """Every iteration is saved, so most kills come during a save."""
    whole = run(tmp_path, "whole")
    assert whole.communicate(timeout=400)[1] == ""

    seconds, during_saves = random.Random(0), 0
    folder = tmp_path / "killed"
    for _ in range(NUM_KILLS):
        process = run(tmp_path, "killed")
        before = len(metrics.read(folder, "iteration"))
        deadline = time.monotonic() + 200
        while len(metrics.read(folder, "iteration")) <= before and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(seconds.random() / 2)
        process.kill()
        errors = process.communicate()[1]
        assert "Traceback" not in errors
        names = [path.name for path in (folder / "checkpoints").iterdir()]
        during_saves += any(".partial" in name or ".pruned" in name for name in names)
        if process.returncode == 0:
            break
    print(f"{NUM_KILLS} kills, {during_saves} during saves")
    assert run(tmp_path, "killed").communicate(timeout=400)[1] == ""
    tiny_run.assert_same_bits(state(folder), state(tmp_path / "whole"))
    done = [event["iteration"] for event in metrics.read(folder, "iteration")]
    assert done == [*range(1, NUM_ITERATIONS + 1)]
