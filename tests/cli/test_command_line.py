"""Flags of all commands: precedence, suggestions, messages and exit codes."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest
from support.drivers import refusals

from azo.cli import command_line, evaluate, train
from azo.search import improvement
from azo.settings import setting_types, typed_settings
from azo.training import config, supervised_data


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


_WITHOUT_FLAGS = ("first", "second", "files")


def _help(capsys, *flags):
    with pytest.raises(SystemExit) as caught:
        train.load(flags)
    assert caught.value.code == 0
    return capsys.readouterr().out


def test_the_help_of_everything_shows_every_setting_with_its_default(capsys, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("[search]\nnum_simulations = 77\n")
    shown = _help(capsys, "--config", str(path), "--help-all")
    assert "77" in shown
    for name in setting_types.fields_of(config.Config):
        # A list of tables only a file can give; the record of a run is no flag.
        if name not in ("generation.schedule", "curriculum", "origin"):
            assert f"--{name.replace('_', '-')}" in shown


def test_the_help_of_everything_breaks_lines_at_the_width_of_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # in the source this explanation has two lines
    assert "compilation up to a quarter of it. The schedules" in _help(capsys, "--help-all")


@pytest.mark.parametrize("width", [80, 120])
def test_help_is_a_page_of_what_people_set_with_the_defaults_of_the_recipe(
    width, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = _help(capsys, "--config", "olivaw", "--help")
    settings = config.load_file(pathlib.Path("olivaw"))
    fields = setting_types.fields_of(config.Config)
    common = [name for name, field in fields.items() if setting_types.is_common(field)]
    assert 18 <= len(common) <= 26
    for name, field in fields.items():
        value = typed_settings.value_of(settings, name)
        typed = typed_settings.as_flag(name, value)
        assert (f"  {typed} " in shown) == setting_types.is_common(field), name
    page = shown[shown.index("usage: azo train [--SETTING VALUE ...]") :].splitlines()
    assert max(map(len, page)) <= width
    assert len(page) <= 100
    assert any(re.search(r"--search.algorithm puct +gumbel, best with", line) for line in page)
    assert page[-1] == f"azo train --help-all explains all {len(fields)} settings."


@pytest.mark.thorough
def test_the_page_is_as_wide_as_a_terminal():
    """A terminal tells its width itself, without the environment."""
    program = "import sys; from azo.cli import train; train.load(['--help'])"
    for width in (80, 120):
        lines = _in_terminal([sys.executable, "-c", program], width).splitlines()
        page = lines[lines.index("usage: azo train [--SETTING VALUE ...]") :]
        assert width - 12 < max(map(len, page)) <= width


@pytest.mark.parametrize("kind", [evaluate.EvaluateConfig, supervised_data.SuperviseConfig])
def test_the_pages_of_other_commands_have_their_own_settings(kind, capsys):
    shown = {}
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            command_line.parse(kind, [flag], prog="azo other")
        shown[flag] = capsys.readouterr().out
    own = [name for name, field in kind.model_fields.items() if not setting_types.section_of(field)]
    flags = ["--" + name.replace("_", "-") for name in own if name not in _WITHOUT_FLAGS]
    flags = ["--json" if flag == "--json-lines" else flag for flag in flags]
    assert len(flags) > 5
    for text in shown.values():
        assert all(flag in text for flag in flags)
    assert len(shown["--help"]) < len(shown["--help-all"]) / 2


def _in_terminal(command, width):
    """Returns what a command writes to a terminal of a width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: x for name, x in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other side is closed
            part = b""
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait() == 0, written
    return written.decode().replace("\r", "")


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
