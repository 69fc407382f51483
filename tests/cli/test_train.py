"""Whole runs by way of the entry point, with the recipe of `tiny_run`."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import jax
import pytest
from support import tiny_run

from azo.cli import command_line, train
from azo.learning import placement
from azo.run import checkpoint, console, metrics, network_files

ROOT = pathlib.Path(train.__file__).parents[2]
needs_devices = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


def main(*arguments):
    """Exit code of the entry point, as a process of its own would have it."""
    return command_line.run_main(train.main, [str(argument) for argument in arguments])


def state_of(folder, **sections):
    """The latest saved state."""
    like = tiny_run.begin(1)
    if sections:
        recipe, mesh = tiny_run.settings(**sections), placement.make_mesh(1)
        like = placement.begin(tiny_run.game(), recipe, mesh, seed=0)
    with checkpoint.Checkpoints(folder, keep=9) as checkpoints:
        return checkpoints.restore(like)


def iterations(folder):
    return [event["iteration"] for event in metrics.read(folder, "iteration")]


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the settings file `tiny.toml`."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "tiny.toml").write_text(tiny_run.toml())
    return folder


@pytest.fixture(scope="module")
def whole(place):
    """The folder of a run of six iterations that nothing has interrupted."""
    assert main("--config", place / "tiny.toml", "--run.folder", place / "whole") == 0
    return place / "whole"


@pytest.fixture
def at_iteration(monkeypatch):
    """Arranges for something to happen once, when an iteration is shown."""

    def arrange(number, happen):
        show = console.Console.update

        def update(self, shown, *others):
            show(self, shown, *others)
            if shown["iteration"] == number:
                monkeypatch.setattr(console.Console, "update", show)
                happen()

        monkeypatch.setattr(console.Console, "update", update)

    return arrange


def test_a_run_says_what_it_does_and_what_to_do_next(place, capsys):
    assert main("--config", place / "tiny.toml", "--run.folder", place / "told") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "compiling, half a minute or longer" in lines
    assert lines[-2:] == [
        "the run has ended: all 6 iterations are done; the same command with"
        " --run.num-iterations 12 continues it",
        f"azo report {place / 'told'} draws its curves",
    ]


def test_a_run_trains_to_its_end_and_leaves_all_that_is_promised(whole):
    state = state_of(whole)
    assert int(state.iteration) == 6
    assert int(state.learner.num_steps) > 0
    assert iterations(whole) == [1, 2, 3, 4, 5, 6]
    (match,) = metrics.read(whole, "evaluation")
    assert match["iteration"] == 6
    assert match["evaluation/opponent"] == "random"
    assert match["evaluation/wins"] + match["evaluation/draws"] + match["evaluation/losses"] == 2
    last = metrics.read(whole, "iteration")[-1]
    assert last["selfplay/games"] == int(state.num_games)
    assert last["replay/size"] == int(state.replay.size.sum())
    assert last["learner/policy_loss"] > 0
    assert (whole / "settings.json").is_file()


def test_a_stopped_run_is_saved_and_repeats_the_uninterrupted_one(
    place, whole, at_iteration, capsys
):
    run = ("--config", place / "tiny.toml", "--run.folder", place / "stopped")
    at_iteration(3, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert main(*run) == 0
    assert int(state_of(place / "stopped").iteration) == 3
    assert "stopped and saved after iteration 3" in capsys.readouterr().out
    assert main(*run) == 0
    assert "resuming after iteration 3" in capsys.readouterr().out
    tiny_run.assert_same_bits(state_of(place / "stopped"), state_of(whole))
    assert iterations(place / "stopped") == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
@needs_devices
def test_a_run_goes_on_with_other_numbers_of_devices(place, capsys):
    run = ("--config", place / "tiny.toml", "--run.folder", place / "moved")
    for num_devices, num_iterations in [(1, 2), (8, 4), (1, 6)]:
        flags = ("--run.num-devices", num_devices, "--run.num-iterations", num_iterations)
        assert main(*run, *flags) == 0
        assert f" on {num_devices} x cpu" in capsys.readouterr().out
    assert iterations(place / "moved") == [1, 2, 3, 4, 5, 6]
    assert int(state_of(place / "moved").iteration) == 6


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_end(place, whole, at_iteration):
    run = ("--config", place / "tiny.toml", "--run.folder", place / "killed")

    def die():
        raise RuntimeError("power cut")

    at_iteration(5, die)
    with pytest.raises(RuntimeError, match="power cut"):
        main(*run)
    assert int(state_of(place / "killed").iteration) == 4
    assert iterations(place / "killed") == [1, 2, 3, 4, 5]
    assert main(*run) == 0
    tiny_run.assert_same_bits(state_of(place / "killed"), state_of(whole))
    assert iterations(place / "killed") == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
def test_a_stopped_run_repeats_the_uninterrupted_one_with_everything_switched_on(
    place, at_iteration
):
    everything = tiny_run.EVERYTHING
    (place / "everything.toml").write_text(tiny_run.toml(**everything))
    run = ("--config", place / "everything.toml", "--run.folder")
    assert main(*run, place / "at-once") == 0
    for iteration in (3, 6):
        at_iteration(iteration, lambda: os.kill(os.getpid(), signal.SIGTERM))
        assert main(*run, place / "in-parts") == 0
        assert int(state_of(place / "in-parts", **everything).iteration) == iteration
    assert main(*run, place / "in-parts") == 0
    one, other = (state_of(place / name, **everything) for name in ("at-once", "in-parts"))
    tiny_run.assert_same_bits(one, other)
    matches = [metrics.read(place / name, "gate") for name in ("at-once", "in-parts")]
    assert matches[0] == matches[1]
    assert matches[0]
    events = [metrics.read(place / name, "iteration") for name in ("at-once", "in-parts")]
    for pair in zip(*events, strict=True):
        timeless = [
            {k: v for k, v in event.items() if "time/" not in k and "per_second" not in k}
            for event in pair
        ]
        assert timeless[0] == timeless[1]
    # An iteration either plays or learns, and both kinds have been seen.
    plays = ["selfplay/mean_plies" in event for event in events[0]]
    learns = [event["learner/policy_loss"] is not None for event in events[0]]
    assert learns == [not is_playing for is_playing in plays]
    assert 0 < sum(plays) < 8
    # Evaluations of self-play, with 8 simulations, and the most that matches can take.
    of_gates = len(matches[0]) * 2 * 9 * (2 + 1)
    of_selfplay = sum(plays) * 8 * 4 * (1 + 8)
    assert of_selfplay < one.num_evaluations() <= of_selfplay + of_gates


def test_a_second_signal_does_not_wait(place, at_iteration):
    def insist():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    at_iteration(1, insist)
    folder = place / "insisted"
    assert main("--config", place / "tiny.toml", "--run.folder", folder) == 130
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_finished_run_says_so_and_is_left_as_it_is(place, whole, capsys):
    before = state_of(whole)
    assert main("--config", place / "tiny.toml", "--run.folder", whole) == 0
    longer = "the same command with --run.num-iterations 12 continues it"
    assert f"all 6 iterations are done; {longer}" in capsys.readouterr().out
    tiny_run.assert_same_bits(state_of(whole), before)
    assert iterations(whole) == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
def test_a_terminated_process_saves_and_exits_with_0(place):
    folder = place / "process"
    command = [sys.executable, "-m", "azo", "train", "--config", str(place / "tiny.toml")]
    command += ["--run.folder", str(folder), "--run.num-iterations", "1000000"]
    command += ["--run.save-every", "1000000"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as process:
        limit_seconds = time.monotonic() + 200
        while not iterations(folder):
            assert process.poll() is None
            assert time.monotonic() < limit_seconds
            time.sleep(0.1)
        process.terminate()
        shown, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert b"stopped and saved" in shown
    assert int(state_of(folder).iteration) == iterations(folder)[-1]


@pytest.mark.slow
@needs_devices
def test_the_gate_is_played_and_saved_on_several_devices(place):
    sections = {
        "gate": {"is_enabled": True, "threshold": 0.0, "num_games": 2, "num_simulations": 2},
        "generation": {"num_games": 8},
        "run": {"num_devices": 2, "num_iterations": 4, "folder": str(place / "gated")},
    }
    (place / "gated.toml").write_text(tiny_run.toml(**sections))
    assert main("--config", place / "gated.toml") == 0
    matches = metrics.read(place / "gated", "gate")
    events = metrics.read(place / "gated", "iteration")
    games = {event["iteration"]: event["selfplay/games"] for event in events}
    # A match is played as soon as another eight games are finished.
    expected, last = [], 0
    for iteration, number in games.items():
        if number - last >= 8:
            expected.append(iteration)
            last = number
    assert [match["iteration"] for match in matches] == expected
    assert expected
    passed = [match["gate/score"] > 0 for match in matches]
    assert [match["gate/is_promoted"] for match in matches] == passed
    assert matches[-1]["gate/generation"] == sum(passed)
    variables, _ = network_files.load(place / "gated")
    assert set(variables) == {"params", "batch_stats"}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--search.num-simulation", 3], "unknown flag '--search.num-simulation'. Did you mean"),
        (["--search.num-simulations", 0], "--search.num-simulations is 0, but should be greater"),
        (
            ["--learner.batch-size", 6, "--run.num-devices", 4],
            "learner.batch_size is 6, but should be a multiple of 4",
        ),
        (["--run.folder", "{place}/tiny.toml/run"], "cannot write a run here (Not a directory)"),
        (["--run.folder", "{place}/tiny.toml"], "is a file, not a folder: choose another"),
        (["--run.folder", "{place}"], "holds something that is not an azo run ("),
        (["--run.folder", "{whole}", "--learner.learning-rate", 0.5], "Give --learner.learning"),
        (
            ["--run.folder", "{whole}", "--run.seed", 5],
            "run.seed is 5, but the run was begun with 0",
        ),
        (
            ["--evaluation.opponent", "rolouts:100", "--run.folder", "{place}/none"],
            "unknown player 'rolouts:100'",
        ),
    ],
)
def test_wrong_input_is_one_line_and_code_2_and_changes_nothing(
    place, whole, capsys, flags, expected
):
    before = contents(whole), (place / "tiny.toml").read_bytes()
    flags = [str(flag).format(place=place, whole=whole) for flag in flags]
    assert main("--config", place / "tiny.toml", *flags) == 2
    message = capsys.readouterr().err
    assert expected in message
    assert message.count("\n") == 1
    assert (contents(whole), (place / "tiny.toml").read_bytes()) == before


def test_more_devices_than_there_are_is_one_line_and_code_2(place, capsys):
    sections = {"run": {"num_devices": 64}, "selfplay": {"num_games": 64}}
    sections |= {"replay": {"capacity": 64 * 16}, "learner": {"batch_size": 64}}
    (place / "many.toml").write_text(tiny_run.toml(**sections))
    assert main("--config", place / "many.toml", "--run.folder", place / "many") == 2
    assert "give --run.num-devices " in capsys.readouterr().err
    assert not (place / "many").exists()


def test_a_wrong_or_missing_settings_file_is_one_line_and_code_2(place, capsys):
    (place / "wrong.toml").write_text("[search]\nnum_simulation = 3\n")
    assert main("--config", place / "wrong.toml") == 2
    assert capsys.readouterr().err == (
        f"{place}/wrong.toml [search]: unknown setting 'num_simulation'."
        " Did you mean 'num_simulations'?\n"
    )
    assert main("--config", place / "absent.toml") == 2
    message = capsys.readouterr().err
    assert message.startswith(f"{place}/absent.toml: no such settings file. There are: ")
    assert message.count("\n") == 1
