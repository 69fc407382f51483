"""Whole runs by way of the entry point, with the recipe of `tiny_run`."""

import contextlib
import functools
import io
import os
import signal

import jax
import pytest
from support.builders import tiny_run
from support.drivers import commands
from support.faults import damage

from azo.cli import train
from azo.training import config, devices, metrics, trainer

needs_devices = pytest.mark.skipif(jax.device_count() < 8, reason="needs eight devices")


main = functools.partial(commands.run, "train")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the settings file `tiny.toml`."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "tiny.toml").write_text(tiny_run.toml())
    return folder


@pytest.fixture(scope="module")
def whole(place):
    """The folder of a run of six iterations that nothing has interrupted."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert main("--config", place / "tiny.toml", "--run.folder", place / "whole") == 0
    (place / "shown.txt").write_text(shown.getvalue())
    return place / "whole"


def test_a_run_says_what_it_does_and_what_to_do_next(place, whole):
    lines = (place / "shown.txt").read_text().splitlines()
    assert lines[:2] == [
        f"tictactoe in {whole}",
        "preparing the run; the first start compiles for half a minute or longer",
    ]
    assert lines[2].startswith("training on ")
    assert "compiling, half a minute or longer" in lines
    assert lines[-2:] == [
        "the run has ended: its 6 iterations are done; the same command with"
        " --run.num-iterations 12 continues it",
        f"azo report {whole} plots its metrics",
    ]


def test_a_run_says_what_it_does_before_it_compiles(tmp_path, capsys):
    shown = []

    def make_matches(settings, game):
        shown.append(capsys.readouterr().out)
        raise ValueError("no matches")

    run = tmp_path / "run"
    with pytest.raises(ValueError, match="no matches"):
        trainer.train(tiny_run.settings(run={"folder": str(run)}), make_matches=make_matches)
    assert shown == [
        f"tictactoe in {run}\n"
        "preparing the run; the first start compiles for half a minute or longer\n"
    ]
    assert not run.exists()


def test_a_run_trains_to_its_end_and_leaves_all_that_is_promised(whole):
    state = tiny_run.restored(whole)
    assert int(state.iteration) == 6
    assert int(state.learner.num_steps) > 0
    assert tiny_run.iterations(whole) == [1, 2, 3, 4, 5, 6]
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
    assert int(tiny_run.restored(place / "stopped").iteration) == 3
    assert "stopped and saved after iteration 3" in capsys.readouterr().out
    assert main(*run) == 0
    assert "resuming after iteration 3" in capsys.readouterr().out
    tiny_run.assert_same_bits(tiny_run.restored(place / "stopped"), tiny_run.restored(whole))
    assert tiny_run.iterations(place / "stopped") == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
@needs_devices
def test_a_run_goes_on_with_other_numbers_of_devices(place, capsys):
    run = ("--config", place / "tiny.toml", "--run.folder", place / "moved")
    for num_devices, num_iterations in [(1, 2), (8, 4), (1, 6)]:
        flags = ("--run.num-devices", num_devices, "--run.num-iterations", num_iterations)
        assert main(*run, *flags) == 0
        assert f" on {num_devices} x cpu" in capsys.readouterr().out
    assert tiny_run.iterations(place / "moved") == [1, 2, 3, 4, 5, 6]
    assert int(tiny_run.restored(place / "moved").iteration) == 6


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
        assert int(tiny_run.restored(place / "in-parts", **everything).iteration) == iteration
    assert main(*run, place / "in-parts") == 0
    one, other = (tiny_run.restored(place / name, **everything) for name in ("at-once", "in-parts"))
    tiny_run.assert_same_bits(one, other)
    for kind in ("gate", "iteration"):
        events = [metrics.read(place / name, kind) for name in ("at-once", "in-parts")]
        assert len(events[0]) == len(events[1]) > 0
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


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--run.folder", "{place}"], "holds something that is not an azo run ("),
        (["--run.folder", "{whole}", "--learner.learning-rate", 0.5], "Give --learner.learning"),
        (
            ["--evaluation.opponent", "rolouts:100", "--run.folder", "{place}/none"],
            "unknown player 'rolouts:100'",
        ),
    ],
)
def test_wrong_input_is_one_line_and_code_2_and_changes_nothing(
    place, whole, capsys, flags, expected
):
    before = damage.contents(whole), (place / "tiny.toml").read_bytes()
    flags = [str(flag).format(place=place, whole=whole) for flag in flags]
    message = commands.refused(capsys, "train", "--config", place / "tiny.toml", *flags)
    assert expected in message
    assert (damage.contents(whole), (place / "tiny.toml").read_bytes()) == before


def test_on_an_accelerator_the_default_recipe_is_that_for_accelerators(monkeypatch):
    monkeypatch.setattr(devices, "has_plugin", lambda: True)
    monkeypatch.setattr(devices, "has_accelerator", lambda _: True)
    kind = jax.devices()[0].device_kind
    note = f"settings of azo8-gpu, because there is a {kind}; --config azo8 takes those for CPUs"
    typed = train._load(["--minutes", "5"])
    assert typed.notes[0] == note
    expected = config.load_file(config.ACCELERATOR_CONFIG)
    assert typed.settings == expected.model_copy(update={"minutes": 5})
    assert str(typed.settings.run.folder) == "runs/azo8-gpu"
    for words in (["--config", "azo8"], ["--config", "tower6"], ["--game.name", "tictactoe"]):
        assert note not in train._load(words).notes
    # Processes that have not joined yet must not start JAX.
    monkeypatch.setattr(devices, "has_accelerator", lambda _: 1 / 0)
    typed = train._load(["--minutes", "5"], is_alone=False)
    assert typed.notes[0].startswith("settings of azo8-gpu, because JAX has a plugin for")
    monkeypatch.undo()
    assert train.load([]) == config.load_file(config.DEFAULT_CONFIG)


def test_jax_starts_early_only_if_a_plugin_is_there(monkeypatch):
    started = []

    def start():
        started.append(platforms[-1])
        if platforms[-1] == "broken":
            raise RuntimeError("no GPU")
        return platforms[-1]

    platforms = []
    monkeypatch.setattr(jax, "default_backend", start)
    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None)
    for plugins, platform, expected in (
        ([], "gpu", False),
        (["cuda12"], "cpu", False),
        (["cuda12"], "gpu", True),
        (["cuda12"], "broken", False),
    ):
        platforms.append(platform)
        monkeypatch.setattr(devices.metadata, "entry_points", lambda group, found=plugins: found)
        assert devices.has_accelerator(None) is expected
    assert started == ["cpu", "gpu", "broken"]
