"""Runs of several processes over the loopback interface, on the CPU, with two devices each."""

import signal
import time

import jax
import numpy as np
import pytest
from support.builders import tiny_run
from support.drivers import commands, processes

from azo.networks import checkpoint_folder
from azo.training import checkpoint, metrics

# The sums over devices of a gradient have another order over several processes. AdamW divides by
# the size of the gradient: where that is nearly 0, its step depends on the rounding.
_LARGEST_DIFFERENCE = {"sgd": 1e-6, "adamw": 1e-3}
_ON_ALL = {"num_devices": None, "num_iterations": 3}


@pytest.fixture(scope="module", autouse=True)
def _has_eight_devices():
    assert jax.device_count() >= 8  # else the first run here would decide their number


def saved(folder, num_devices, **sections):
    """Returns the newest state of a run in so many devices, on the host, by names."""
    with checkpoint.Checkpoints(folder, keep=9) as checkpoints:
        state = checkpoints.restore(tiny_run.begin(num_devices, **sections))
    state = jax.device_get(state.replace(key=jax.random.key_data(state.key)))
    return checkpoint.by_saved_names(state)


def largest_difference(left, right):
    """Returns the largest difference of learners; integers of two states are equal bit for bit.

    Values that are stored in 16 bits may be rounded to neighbours.
    """
    assert left.keys() == right.keys()
    largest = 0.0
    for name, one in left.items():
        other = right[name]
        assert one.dtype == other.dtype, name
        if one.dtype == np.float32 and name.startswith(("learner/", "actor_params/")):
            largest = max(largest, np.abs(one - other).max())
        elif np.issubdtype(one.dtype, np.floating):
            np.testing.assert_allclose(one, other, rtol=2**-9, atol=1e-6, err_msg=name)
        else:
            assert one.tobytes() == other.tobytes(), name
    return largest


def wait_for(folder, running, iterations):
    """Waits until a run has done so many iterations."""
    deadline = time.monotonic() + processes.LIMIT_SECONDS
    while len(tiny_run.iterations(folder)) < iterations:
        assert all(process.poll() is None for process in running), processes.finish(running)
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "optimiser"),
    [
        (2, "sgd"),
        pytest.param(2, "adamw", marks=pytest.mark.thorough),
        pytest.param(4, "sgd", marks=pytest.mark.thorough),
    ],
)
def test_processes_learn_as_one_with_as_many_devices(tmp_path, number, optimiser):
    sections = {"run": _ON_ALL, "learner": {"optimiser": optimiser}}
    words = tiny_run.train(tmp_path, **sections)
    shown = processes.finish_well(processes.start(number, *words))
    assert f"training on {2 * number} x cpu of {number} processes" in shown
    assert "against random" in shown
    alone = tiny_run.train(tmp_path, "--run.num-devices", 2 * number, name="alone", **sections)
    assert commands.run(*alone) == 0
    folders = tmp_path / "run", tmp_path / "alone"
    largest = largest_difference(*(saved(folder, 2 * number, **sections) for folder in folders))
    print(f"largest difference {largest:.3g}")
    assert largest <= _LARGEST_DIFFERENCE[optimiser]
    parts = checkpoint_folder.folder_of(folders[0], 3) / checkpoint_folder.STATE
    names = {path.name for path in parts.glob("ocdbt.process_*")}
    assert names == {f"ocdbt.process_{index}" for index in range(number)}


def test_a_signal_to_any_process_stops_all_together_and_one_process_resumes(tmp_path):
    folder = tmp_path / "run"
    endless = tiny_run.train(tmp_path, "--run.num-iterations", 10**6, run=_ON_ALL)
    running = processes.start(2, *endless)
    wait_for(folder, running, 2)
    running[1].send_signal(signal.SIGTERM)
    shown = processes.finish_well(running)
    done = tiny_run.iterations(folder)[-1]
    assert f"stopped and saved after iteration {done}" in shown
    assert checkpoint_folder.all_steps(folder)[-1] == done
    words = tiny_run.train(tmp_path, "--run.num-devices", 1, "--run.num-iterations", done + 1)
    assert commands.run(*words) == 0
    assert tiny_run.iterations(folder)[-1] == done + 1
    assert metrics.read(folder, "end")


@pytest.mark.thorough
def test_a_run_goes_on_with_any_number_of_processes(tmp_path):
    folder = tmp_path / "run"
    for done, number in enumerate((2, 1, 4, 2, 4), start=1):
        words = tiny_run.train(tmp_path, "--run.num-iterations", done, run=_ON_ALL)
        if number > 1:
            shown = processes.finish_well(processes.start(number, *words))
            assert f"of {number} processes" in shown
        else:
            assert commands.run(*words, "--run.num-devices", 2) == 0
        assert tiny_run.iterations(folder) == [*range(1, done + 1)]
    states = [saved(folder, number) for number in (1, 8)]
    assert states[0]["replay/size"].sum() == states[1]["replay/size"].sum() > 0


@pytest.mark.thorough
def test_a_resumed_run_of_processes_repeats_the_uninterrupted_one(tmp_path):
    words = {name: tiny_run.train(tmp_path, name=name, run=_ON_ALL) for name in ("whole", "parts")}
    processes.finish_well(processes.start(2, *words["whole"]))
    for number in (1, 3):
        parts = processes.start(2, *words["parts"], "--run.num-iterations", number)
        processes.finish_well(parts)
    states = [saved(tmp_path / name, 4) for name in words]
    for name, one in states[0].items():
        assert one.tobytes() == states[1][name].tobytes(), name


@pytest.mark.thorough
def test_gate_and_options_learn_as_in_one_process(tmp_path):
    sections = tiny_run.EVERYTHING | {"run": _ON_ALL | {"save_every": 1}}
    shown = processes.finish_well(processes.start(2, *tiny_run.train(tmp_path, **sections)))
    assert "gate score" in shown
    alone = tiny_run.train(tmp_path, "--run.num-devices", 4, name="alone", **sections)
    assert commands.run(*alone) == 0
    folders = tmp_path / "run", tmp_path / "alone"
    gates = [metrics.read(folder, "gate") for folder in folders]
    assert [x["gate/score"] for x in gates[0]] == [x["gate/score"] for x in gates[1]]
    states = [saved(folder, 4, **sections) for folder in folders]
    largest = largest_difference(*states)
    print(f"largest difference {largest:.3g}")
    assert largest <= _LARGEST_DIFFERENCE["adamw"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ("--run.seed", 1),
            "--distributed: run.seed is 1 in process 1, but 0 in process 0: start all with the same"
            " settings and versions",
        ),
        (
            ("--run.folder", "elsewhere"),
            "does not see this folder of process 0: --run.folder must be on storage that all",
        ),
    ],
)
def test_a_process_that_differs_is_refused_in_one_line_everywhere(tmp_path, flags, message):
    words = tiny_run.train(tmp_path, run=_ON_ALL)
    own = [x if x != "elsewhere" else tmp_path / x for x in flags]

    def flags_of(index):
        return own if index else ()

    for code, output, errors in processes.finish(processes.start(2, *words, flags_of=flags_of)):
        assert code == 2
        assert errors.count("\n") == 1, errors
        assert message in errors
        assert "iteration" not in output


@pytest.mark.thorough
def test_processes_of_slurm_need_no_other_flag(tmp_path):
    port, words = processes.free_port(), tiny_run.train(tmp_path, "--distributed", run=_ON_ALL)
    job = {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}

    def environment_of(index):
        place = {"SLURM_PROCID": str(index), "SLURM_LOCALID": str(index)}
        return job | place | {"JAX_COORDINATOR_PORT": str(port)}

    running = processes.start(2, *words, is_joined=False, environment_of=environment_of)
    assert "of 2 processes" in processes.finish_well(running)


@pytest.mark.thorough
def test_batches_that_do_not_split_over_all_devices_are_refused_in_one_line(tmp_path):
    words = tiny_run.train(tmp_path, run=_ON_ALL, selfplay={"num_games": 6})
    for code, output, errors in processes.finish(processes.start(2, *words)):
        assert code == 2
        assert errors.count("\n") == 1, errors
        assert "selfplay.num_games is 6, but should be a multiple of 4" in errors
        assert "iteration" not in output
    assert not (tmp_path / "run").exists()


@pytest.mark.thorough
def test_a_run_that_another_one_holds_is_refused_in_all_processes(tmp_path):
    with checkpoint.Checkpoints(tmp_path / "run", keep=1):
        words = tiny_run.train(tmp_path, run=_ON_ALL)
        for code, _, errors in processes.finish(processes.start(2, *words)):
            assert code == 2
            assert errors.count("\n") == 1, errors
            assert "in use by process" in errors
