"""Memory that stays the same however often a run saves and evaluates."""

import gc
import os
import subprocess
import sys

import pytest
from support import child_runs, tiny_run

from azo.run import checkpoint
from benchmarks import run_soak


def save(folder, steps):
    """Saves a state after each of some steps; yields after each save."""
    state = tiny_run.begin(1)
    with checkpoint.Checkpoints(folder, keep=2) as checkpoints:
        for step in steps:
            checkpoints.save(step, state, tiny_run.settings())
            yield step


def test_saves_leave_few_objects(tmp_path):
    """The libraries left 1,100 blocks at each save of this state."""
    blocks = []
    for _ in save(tmp_path, range(1, 9)):
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert (blocks[-1] - blocks[3]) / 4 < 200, blocks


@pytest.mark.faults
def test_256_saves_take_no_more_than_5_megabytes(tmp_path):
    """The allocator keeps freed memory between threads; two arenas and trimming leave what is used.

    In the default arenas 256 saves grow by 5 to 15 MB of freed memory, and not further.
    """
    command = [sys.executable, "-c", MEMORY_OF_SAVES, str(tmp_path)]
    paths = [child_runs.ROOT, child_runs.ROOT / "tests", child_runs.ROOT / "tests" / "faults"]
    environment = child_runs.ENVIRONMENT | {
        "MALLOC_ARENA_MAX": "2",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1000)
    assert done.returncode == 0, done.stderr
    first, last = map(int, done.stdout.split())
    print(f"{first / 1024:.1f} MB after 32 saves, {last / 1024:.1f} MB after 288")
    assert last - first < 5 * 1024


MEMORY_OF_SAVES = """
import ctypes, os, pathlib, sys
import test_memory
from benchmarks import web_soak
for step in test_memory.save(pathlib.Path(sys.argv[1]), range(1, 256 + 33)):
    if step in (32, 288):
        ctypes.CDLL(None).malloc_trim(0)
        print(web_soak.memory_kilobytes(os.getpid()))
"""


@pytest.mark.faults
def test_a_run_that_saves_and_evaluates_does_not_grow(capsys):
    words = ["--minutes", "3", "--report-seconds", "10", "--max-growth", "0.04"]
    assert run_soak.main(words) == 0, capsys.readouterr().out
