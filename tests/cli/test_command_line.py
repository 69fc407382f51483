"""Flags of all commands: precedence, suggestions, messages and exit codes."""

import pathlib
import subprocess
import sys

import pytest
from support import refusals

from azo.cli import command_line, train
from azo.search import improvement
from azo.training import config


def test_a_flag_overrides_the_file_and_leaves_its_other_settings(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text('[search]\nnum_simulations = 7\nalgorithm = "puct"\n')
    loaded = train.load(["--search.num-simulations", "200", f"--config={path}"])
    assert loaded.search == improvement.SearchConfig(num_simulations=200, algorithm="puct")


def test_flags_read_switches_numbers_paths_and_none():
    flags = "--game.is-reversed --learner.no-augment --run.folder runs/x --run.num-devices None"
    loaded = train.load(flags.split())
    assert loaded.game.is_reversed
    assert not loaded.learner.augment
    assert loaded.run.folder == pathlib.Path("runs/x")
    assert loaded.run.num_devices is None


def test_a_flag_overrides_an_entry_of_a_list():
    loaded = train.load(["--config", "azo8", "--generation.schedule.0.start", "100"])
    assert [entry.start for entry in loaded.generation.schedule] == [100, 700, 950]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            "--search.num-simulation 3",
            "unknown flag '--search.num-simulation'. Did you mean '--search.num-simulations'?",
        ),
        ("--run.zebra 3", "unknown flag '--run.zebra'. There are: --run.seed, --run.folder,"),
        ("stray", "unexpected argument 'stray'. Give settings as flags: --config NAME"),
        ("--run.seed x", "--run.seed: not a whole number: 'x'"),
        ("--game.name z", "--game.name is z, but should be 'othello', 'tictactoe', 'pgx:NAME',"),
        ("--minutes ten", "--minutes is 'ten', not FLOAT or None"),
        ("--minutes 1", "--minutes is 1.0, but should be greater than or equal to 2"),
        ("--config olvaw", "olvaw: no such settings file. Did you mean 'olivaw'?"),
    ],
)
def test_a_wrong_flag_is_named_with_what_would_work(flags, expected):
    assert refusals.message_of(train.load, flags.split()).startswith(expected)


def test_help_shows_every_setting_with_its_default_and_ends_well(capsys, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("[search]\nnum_simulations = 77\n")
    with pytest.raises(SystemExit) as caught:
        train.load(["--config", str(path), "--help"])
    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert "77" in shown
    assert "--minutes" in shown
    for section, settings in config.Config():
        for name in getattr(type(settings), "model_fields", ()):
            if (section, name) == ("generation", "schedule"):
                continue  # a list of tables, which only a file can give
            assert f"--{section}.{name.replace('_', '-')}" in shown


def test_a_value_error_inside_a_library_keeps_its_traceback():
    with pytest.raises(ValueError, match="invalid literal"):
        command_line.run_main(lambda argv: int("x"), [])


def test_a_reader_that_stops_early_is_no_error():
    program = "lambda argv: [print('x' * 99) for _ in range(9999)] and 0"
    text = (
        f"import sys; from azo.cli import command_line; sys.exit(command_line.run_main({program}))"
    )
    command = [sys.executable, "-c", text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_what_a_command_waits_for_is_shown_on_a_terminal_alone(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for variables, shown in [({}, ""), ({"FORCE_COLOR": "1"}, "loading the network")]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with command_line.waiting("loading the network"):
            print("| a row |")
        out, err = capsys.readouterr()
        assert out == "| a row |\n"  # its lines go to a file also while something is shown
        assert shown in err if shown else not err
