"""The list of commands, their help, and wrong names of commands."""

import ast
import gc
import os
import pathlib
import subprocess
import sys

import pytest
from support.drivers import pseudo_terminal

from azo import __main__

FOLDER = pathlib.Path(__main__.__file__).parent / "cli"


def docstring(name):
    return ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text()))


def test_the_commands_are_listed_without_importing_them():
    program = """import sys
from azo import __main__
code = __main__.main([])
sys.exit(code or "jax" in sys.modules or "pydantic" in sys.modules)"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    for name in __main__.COMMANDS:
        assert f"  {name:12}{docstring(name).splitlines()[0]}\n" in shown.stdout
    assert all(len(line) <= 80 for line in shown.stdout.splitlines())


@pytest.mark.parametrize("name", __main__.COMMANDS)
def test_the_help_of_each_command_opens_with_an_example(name):
    lines = docstring(name).splitlines()
    assert lines[2].startswith(f"    azo {name}")
    assert "description=__doc__" in (FOLDER / f"{name}.py").read_text()


def test_python_m_azo_train_is_azo_train():
    command = [sys.executable, "-m", "azo.train", "--run.seed", "x"]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == "--run.seed: not a whole number: 'x'\n"


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["train", "supervise"])
def test_a_terminal_shows_that_a_command_is_being_imported(tmp_path, name):
    words = [sys.executable, "-P", "-m", "azo", name, "--absent", "x"]
    opened = pseudo_terminal.PseudoTerminal(
        words, columns=80, env=dict(os.environ), cwd=tmp_path, is_piped=False
    )
    opened.read_to_end()
    opened.close()
    assert opened.output.startswith(b"loading JAX\r" + 11 * b" " + b"\r")
    assert opened.process.returncode == 2
    assert opened.lines[0].startswith("unknown flag '--absent'")


def test_a_wrong_command_is_answered_with_the_right_one(capsys):
    assert __main__.main(["trian"]) == 2
    assert capsys.readouterr().err == "unknown command 'trian'. Did you mean 'azo train'?\n"
    assert __main__.main(["zebra"]) == 2
    assert capsys.readouterr().err.startswith("unknown command 'zebra'. There are: train, ")


@pytest.mark.parametrize("command", ["tournament --help >&-", "gtp <&-", "nboard <&- >&- 2>&-"])
def test_a_closed_stream_is_like_the_null_device(command):
    words = ["sh", "-c", f"exec {sys.executable} -m azo {command}"]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_collector_of_garbage_works_again_after_the_imports(capsys):
    assert __main__.main(["gtp", "--colour"]) == 2
    assert "unknown flag '--colour'" in capsys.readouterr().err
    assert gc.isenabled()
