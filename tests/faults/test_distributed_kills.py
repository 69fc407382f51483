"""SIGKILL to one of two processes at random moments: both end, and the same command goes on."""

import random
import signal
import time

import pytest
from support.builders import tiny_run
from support.drivers import processes

from azo.networks import checkpoint_folder
from azo.storage import locks

NUM_KILLS = 10
NUM_ITERATIONS = 60


def wait_until(condition, running):
    """Waits for something that happens while all processes run."""
    deadline = time.monotonic() + processes.LIMIT_SECONDS
    while not condition():
        assert all(process.poll() is None for process in running), processes.finish(running)
        assert time.monotonic() < deadline
        time.sleep(0.01)


def holds(folder, process):
    """Returns whether a process has locked a folder."""
    return (folder / locks.LOCK).read_text().startswith(f"{process.pid} ")


def wait_for_the_moment(number, folder, running, rng):
    """Waits for the moment of a kill, during the start or after some iterations."""
    if number == 0:
        time.sleep(rng.random() * 15)  # also before they have found one another
    elif number % 3 == 0:
        wait_until(lambda: holds(folder, running[0]), running)
        time.sleep(rng.random() * 5)  # while they restore the state and compile
    else:
        more = len(tiny_run.iterations(folder)) + 1 + number % 3
        wait_until(lambda: len(tiny_run.iterations(folder)) >= more, running)
        time.sleep(rng.random() * 0.5)


@pytest.mark.faults
def test_after_each_kill_of_one_process_both_end_and_nothing_saved_is_lost(tmp_path):
    """Every iteration is saved, so most kills come during a save."""
    ends = ("--run.num-iterations", NUM_ITERATIONS, "--run.save-every", 1)
    words = [tiny_run.train(tmp_path, *ends, name=x, run={"num_devices": None}) for x in "ab"]
    processes.finish_well(processes.start(2, *words[0]))
    folder, rng = tmp_path / "b", random.Random(0)
    for number in range(NUM_KILLS):
        running = processes.start(2, *words[1], "--distributed.join-seconds", 60)
        wait_for_the_moment(number, folder, running, rng)
        victim = number % 2
        saved = checkpoint_folder.all_steps(folder)
        running[victim].kill()
        begin = time.monotonic()
        shown = processes.finish(running)
        seconds = time.monotonic() - begin
        code, _, errors = shown[1 - victim]
        print(f"kill {number}: process {victim}, saved {saved[-1:]}, {seconds:.1f} s: {errors!r}")
        assert shown[victim][0] == -signal.SIGKILL
        assert code == 2
        assert errors.count("\n") == 1, errors
        sound, damaged = checkpoint_folder.find_sound(folder) if saved else (0, [])
        assert sound >= (saved or [0])[-1]
        assert damaged == []
    processes.finish_well(processes.start(2, *words[1]))
    assert tiny_run.iterations(folder) == [*range(1, NUM_ITERATIONS + 1)]
    states = [tiny_run.restored(tmp_path / x, run={"num_devices": None}) for x in "ab"]
    tiny_run.assert_same_bits(*states)
