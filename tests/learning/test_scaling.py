"""Many devices and many processes against one: gradients, a run over two processes, learning.

Processes meet over the loopback interface, on the CPU, by gloo. `docs/scaling.md` has the figures
of the slow test: `pytest -m slow -s tests/test_scaling.py`.
"""

import functools
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import pytest
from support import global_gradient, perfect_tictactoe, tiny_run

from azo.cli import train
from azo.games import registry
from azo.learning import loop, placement
from azo.measure import arena, generation_elo, players
from azo.run import checkpoint, config, metrics, shipped_files, trainer

TESTS = pathlib.Path(__file__).parents[1]
LIMIT_SECONDS = 900  # only against a process that hangs
needs_devices = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


@pytest.fixture
def tiny(tmp_path):
    """Path of a settings file of the tiny run."""
    (tmp_path / "tiny.toml").write_text(tiny_run.toml())
    return tmp_path / "tiny.toml"


@pytest.fixture(scope="module")
def one():
    """The gradient of the global batch on one device."""
    return global_gradient.of_run(tiny_run.settings(run={"num_devices": 1}))


def start(num_processes, *arguments):
    """Starts a program in several processes of one cluster; returns them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    common = {
        "JAX_PLATFORMS": "cpu",
        # Compiles in half the time. By default a process waits only 30 s for the others to compile.
        "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_collective_timeout_seconds=600",
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


@needs_devices
@pytest.mark.parametrize(
    ("num_processes", "num_devices"), [(1, 8), pytest.param(2, 1, marks=pytest.mark.slow)]
)
def test_the_gradient_of_a_global_batch_is_that_of_one_device(
    tmp_path, tiny, one, num_processes, num_devices
):
    flags = ["--config", tiny, "--run.num-devices", num_devices]
    flags += ["--distributed"] if num_processes > 1 else []
    program = TESTS / "support" / "global_gradient.py"
    finish(start(num_processes, program, tmp_path / "many.npz", *flags))
    with np.load(tmp_path / "many.npz") as many:
        assert set(many) == set(one)
        largest = max(np.abs(leaf).max() for leaf in one.values())
        assert largest > 0.1
        for name, leaf in one.items():
            np.testing.assert_allclose(many[name], leaf, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_two_processes_stop_and_save_together_and_one_goes_on(tmp_path, tiny):
    folder = tmp_path / "run"
    flags = ["--config", str(tiny), "--run.folder", str(folder)]
    endless = ["--distributed", "--run.num-iterations", "1000000", "--evaluation.every", "2"]
    endless += ["--ratings.every", "1", "--ratings.pool", "random", "--ratings.num-games", "2"]
    processes = start(2, "-m", "azo", "train", *flags, *endless)
    limit_seconds = time.monotonic() + LIMIT_SECONDS
    while not (metrics.read(folder, "evaluation") and len(metrics.read(folder, "rating")) > 1):
        assert all(process.poll() is None for process in processes), finish(processes)
        assert time.monotonic() < limit_seconds
        time.sleep(0.1)
    processes[1].send_signal(signal.SIGTERM)
    shown, silence = finish(processes)
    assert "on 2 x cpu (cpu) of 2 processes" in shown
    assert "stopped and saved after iteration" in shown
    assert "iteration" not in silence
    with checkpoint.Checkpoints(folder, keep=1) as checkpoints:
        done = checkpoints.latest_step()
    assert [event["iteration"] for event in metrics.read(folder, "iteration")][-1] == done

    longer = train.load([*flags, "--run.num-iterations", str(done + 2)])
    state = trainer.train(longer)
    assert int(state.iteration) == done + 2
    assert state.replay.size.shape == (1,)
    assert int(state.learner.num_steps) > 0
    met = [event for event in metrics.read(folder, "rating_match") if event["iteration"] == 2]
    assert [generation_elo.opponent(event) for event in met] == ["random", 1]


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


NUM_PARTS = 5
T_QUANTILE = 2.776  # 97.5 % of Student's t with 4 degrees of freedom: two groups of three seeds


@functools.cache
def iteration(num_devices):
    """Settings of `tictactoe.toml`, its game, mesh, and the jitted iteration."""
    settings = config.load_file(shipped_files.CONFIGS / "tictactoe.toml")
    game, mesh = registry.make(settings.game), placement.make_mesh(num_devices)
    iterate = loop.build(game, settings, mesh)
    return settings, game, mesh, iterate


def curve(num_devices, seed):
    """Learns tic-tac-toe; returns `[NUM_PARTS, 3]`, one row for each part of the run.

    Columns: mean policy loss above the entropy of its targets, mean value loss, and the score at
    the end of the part of the policy without search against a perfect player, at most 1/2.
    """
    settings, game, mesh, iterate = iteration(num_devices)
    state = placement.begin(game, settings, mesh, seed=seed)
    perfect = perfect_tictactoe.PerfectPlayer(jax.numpy.asarray(perfect_tictactoe.best_moves()))
    rows, losses = [], []
    for done in range(1, settings.run.num_iterations + 1):
        state, step_metrics = iterate(state, (done - 1) / settings.run.num_iterations)
        step_metrics = jax.device_get(step_metrics.losses)
        losses.append((step_metrics.policy - step_metrics.policy_entropy, step_metrics.value))
        if done % (settings.run.num_iterations // NUM_PARTS) == 0:
            learned = players.PolicyPlayer(
                jax.device_get(state.variables()), game, settings.network
            )
            match = arena.play_match(
                game, learned, perfect, jax.random.key(done), num_games=1000, opening_plies=0
            )
            rows.append((*np.nanmean(losses, axis=0), match.score))
            losses = []
    return np.array(rows)


@pytest.mark.slow
@needs_devices
def test_eight_devices_learn_as_one_does():
    """Compares means over the run by a t-test on three seeds each; `-s` shows the curves."""
    curves = {n: np.stack([curve(n, seed) for seed in range(3)]) for n in (1, 8)}
    print("\n| iterations | devices | policy loss above entropy | value loss | score |")
    print("| --- | ---: | ---: | ---: | ---: |")
    part_length = iteration(1)[0].run.num_iterations // NUM_PARTS
    for part in range(NUM_PARTS):
        for n, losses in curves.items():
            cells = [f"{x.mean():.3f} ({x.min():.3f} to {x.max():.3f})" for x in losses[:, part].T]
            span = f"{part * part_length + 1} to {(part + 1) * part_length}"
            print(f"| {span} | {n} | {' | '.join(cells)} |")
    for column, name in enumerate(("policy loss above entropy", "value loss", "score")):
        one, many = (curves[n][:, :, column].mean(axis=1) for n in (1, 8))
        spread = np.sqrt((one.var(ddof=1) + many.var(ddof=1)) / 3)
        difference = many.mean() - one.mean()
        print(f"{name}: {one.mean():.4f} and {many.mean():.4f},", end=" ")
        print(f"difference {difference:+.4f}, 95 % interval +- {T_QUANTILE * spread:.4f}")
        assert abs(difference) <= T_QUANTILE * spread, name
