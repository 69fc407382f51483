"""Flags of all commands: precedence, suggestions, messages and exit codes."""

import pathlib
import subprocess
import sys

import pytest

from azo.cli import command_line, train
from azo.play import engine_factory
from azo.run import config
from azo.search import improvement


@pytest.fixture
def write(tmp_path):
    def write_file(text: str, name: str = "small.toml") -> pathlib.Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file


def message_of(argv):
    with pytest.raises(ValueError) as caught:
        train.load(argv)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_flag_overrides_the_file_and_leaves_its_other_settings(write):
    path = write('[search]\nnum_simulations = 7\nalgorithm = "puct"\n')
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
        (
            "--serach.num-simulations=3",
            "unknown flag '--serach.num-simulations'. Did you mean '--search.num-simulations'?",
        ),
        ("--batch-size 3", "unknown flag '--batch-size'. Did you mean '--learner.batch-size'?"),
        ("--run.zebra 3", "unknown flag '--run.zebra'. There are: --run.seed, --run.folder,"),
        ("--distribute", "unknown flag '--distribute'. Did you mean '--distributed'?"),
        ("--zebra 3", "unknown flag '--zebra'. There are: --config, --search.*,"),
        ("stray", "unexpected argument 'stray'. Give settings as flags: --config NAME"),
        ("-x", "unknown flag '-x'. There are: --config, --search.*,"),
        ("--run.seed x", "--run.seed: not a whole number: 'x'"),
        ("--run.seed -1", "--run.seed is -1, but should be greater than or equal to 0"),
        ("--run.seed", "--run.seed needs a value"),
        ("--game.name z", "--game.name is 'z', but should be one of 'othello', 'tictactoe'"),
        ("--config", "--config needs the name or the path of a settings file"),
        ("--config quikstart", "quikstart: no such settings file. Did you mean 'quickstart'?"),
        (
            "--config zero-fast",
            "zero-fast: no such settings file. Did you mean 'champions/zero-fast'",
        ),
        (
            "--config champions/zero-fst",
            "champions/zero-fst: no such settings file. Did you mean 'champions/",
        ),
        ("--config configs/quikstart.toml", "configs/quikstart.toml: no such settings file. Did"),
        ("--run.num-devices 3", "selfplay.num_games is 256, but should be a multiple of 3"),
    ],
)
def test_a_wrong_flag_is_named_with_what_would_work(flags, expected):
    assert message_of(flags.split()).startswith(expected)


def test_help_shows_every_setting_with_its_default_and_ends_well(capsys, write):
    path = write("[search]\nnum_simulations = 77\n")
    with pytest.raises(SystemExit) as caught:
        train.load(["--config", str(path), "--help"])
    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert "77" in shown
    assert "--distributed" in shown
    for section, settings in config.Config():
        for name in getattr(type(settings), "model_fields", ()):
            if (section, name) == ("generation", "schedule"):
                continue  # a list of tables, which only a file can give
            assert f"--{section}.{name.replace('_', '-')}" in shown


def test_wrong_input_ends_an_entry_point_with_one_line_and_code_2(capsys):
    assert command_line.run_main(lambda argv: train.load(argv) and 0, ["--run.seed", "x"]) == 2
    assert capsys.readouterr().err == "--run.seed: not a whole number: 'x'\n"


def test_a_value_error_inside_a_library_keeps_its_traceback():
    with pytest.raises(ValueError, match="invalid literal"):
        command_line.run_main(lambda argv: int("x"), [])


def test_an_entry_point_that_returns_nothing_has_succeeded():
    assert command_line.run_main(lambda argv: None, []) == 0


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


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--level 0", "--level is 0, but should be greater than or equal to 1"),
        ("--engine.c-puct -1", "--engine.c-puct is -1.0, but should be greater than 0"),
        (
            "--engine.cache-positions 7",
            "[engine]: cache_positions is 7, but should be a power of 2 or 0",
        ),
        ("--learn", "--learn needs a book: name its file with --book"),
        ("--size x", "--size: not a whole number: 'x'"),
    ],
)
def test_a_wrong_flag_is_reported_in_one_line(flags, message):
    with pytest.raises(ValueError) as error:
        command_line.parse(engine_factory.PlayConfig, flags.split(), prog="play")
    assert str(error.value).startswith(message)


def test_what_a_command_waits_for_is_shown_on_a_terminal_alone(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for variables, shown in [({}, ""), ({"FORCE_COLOR": "1"}, "loading the network")]:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with command_line.waiting("loading the network"):
            pass
        out, err = capsys.readouterr()
        assert out == ""
        assert shown in err if shown else not err
