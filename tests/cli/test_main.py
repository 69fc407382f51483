"""The list of commands, their help, and wrong names of commands."""

import ast
import gc
import pathlib
import subprocess
import sys

import pytest

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


def test_a_wrong_command_is_answered_with_the_right_one(capsys):
    assert __main__.main(["trian"]) == 2
    assert capsys.readouterr().err == "unknown command 'trian'. Did you mean 'azo train'?\n"
    assert __main__.main(["zebra"]) == 2
    assert capsys.readouterr().err.startswith("unknown command 'zebra'. There are: train, ")


def test_the_version_is_printed(capsys):
    assert __main__.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("azo ")


def test_the_collector_of_garbage_works_again_after_the_imports(capsys):
    assert __main__.main(["gtp", "--colour"]) == 2
    assert "unknown flag '--colour'" in capsys.readouterr().err
    assert gc.isenabled()
