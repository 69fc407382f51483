"""Memory that stays the same however often a run saves and evaluates."""

import gc
import os
import sys

import pytest
from support import tiny_run

from azo.run import checkpoint
from benchmarks import run_soak, web_soak


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
    memory = {}
    for step in save(tmp_path, range(1, 256 + 33)):
        memory[step] = web_soak.memory_kilobytes(os.getpid())
    print(f"{memory[32] / 1024:.1f} MB after 32 saves, {memory[288] / 1024:.1f} MB after 288")
    assert memory[288] - memory[32] < 5 * 1024


@pytest.mark.faults
def test_a_run_that_saves_and_evaluates_does_not_grow(capsys):
    words = ["--minutes", "3", "--report-seconds", "10", "--max-growth", "0.04"]
    assert run_soak.main(words) == 0, capsys.readouterr().out
