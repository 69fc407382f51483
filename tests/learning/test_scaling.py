"""A run over two processes, which meet over the loopback interface, on the CPU, by gloo.

`test_learner` compares several devices with one.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import jax
import pytest
from support import tiny_run

from azo.cli import train
from azo.lab import run_matches
from azo.training import checkpoint, metrics, trainer

TESTS = pathlib.Path(__file__).parents[1]
LIMIT_SECONDS = 900  # only against a process that hangs


@pytest.fixture
def tiny(tmp_path):
    """Path of a settings file of the tiny run."""
    (tmp_path / "tiny.toml").write_text(tiny_run.toml())
    return tmp_path / "tiny.toml"


def start(num_processes, *arguments):
    """Starts a program in several processes of one cluster; returns them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    common = {
        "JAX_PLATFORMS": "cpu",
        # Compiles in half the time. By default a process waits only 30 s for the others to compile.
        "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_backend_optimization_level=0"
        " --xla_cpu_collective_timeout_seconds=600",
        "JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir,
        "JAX_COORDINATOR_ADDRESS": address,
        "JAX_COORDINATOR_BIND_ADDRESS": address,
        "JAX_NUM_PROCESSES": str(num_processes),
        "PYTHONPATH": f"{TESTS.parent}:{TESTS}",
    }
    return [
        subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            env=os.environ | common | {"JAX_PROCESS_ID": str(i)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(num_processes)
    ]


def finish(processes):
    """Waits until all have succeeded; returns the output of each."""
    try:
        shown = [process.communicate(timeout=LIMIT_SECONDS) for process in processes]
    finally:
        for process in processes:
            process.kill()
    codes = [process.returncode for process in processes]
    assert not any(codes), "\n".join(["exit codes", str(codes), *(errors for _, errors in shown)])
    return [output for output, _ in shown]


@pytest.mark.slow
def test_two_processes_stop_and_save_together_and_one_goes_on(tmp_path, tiny):
    folder = tmp_path / "run"
    flags = ["--config", str(tiny), "--run.folder", str(folder)]
    endless = ["--distributed", "--run.num-iterations", "1000000", "--evaluation.every", "2"]
    processes = start(2, "-m", "azo", "train", *flags, *endless)
    limit_seconds = time.monotonic() + LIMIT_SECONDS
    while not metrics.read(folder, "evaluation"):
        assert all(process.poll() is None for process in processes), finish(processes)
        assert time.monotonic() < limit_seconds
        time.sleep(0.1)
    processes[1].send_signal(signal.SIGTERM)
    shown, silence = finish(processes)
    assert "on 2 x cpu (cpu) of 2 processes" in shown
    assert "stopped and saved after iteration" in shown
    assert "iteration" not in silence
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        done = checkpoints.latest_step
    assert [event["iteration"] for event in metrics.read(folder, "iteration")][-1] == done

    longer = train.load([*flags, "--run.num-iterations", str(done + 2)])
    state = trainer.train(longer, make_matches=run_matches.RunMatches)
    assert int(state.iteration) == done + 2
    assert state.replay.size.shape == (1,)
    assert int(state.learner.num_steps) > 0


@pytest.mark.slow
def test_without_other_processes_to_find_there_is_one_line_and_code_2(tiny):
    alone = {"PATH": os.environ["PATH"], "PYTHONPATH": str(TESTS.parent), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "azo", "train", "--config", str(tiny), "--distributed"]
    ended = subprocess.run(
        command, env=alone, capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("--distributed: no cluster found (coordinator_address should")
    assert ended.stderr.count("\n") == 1
