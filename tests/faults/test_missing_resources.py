"""What a process may lack: threads, open files, a platform of JAX. Each is one line."""

import os
import shutil
import subprocess

import pytest
from support.drivers import commands

COMMANDS = [
    "evaluate random greedy --num-games 2",
    "analyse f5d6",
    "gtp",
    "json",
    "train --config tictactoe --run.num-iterations 1 --run.folder run",
]
NO_THREADS = """
#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x) {
  return EAGAIN;
}
"""


def refused(folder, words, **options):
    """Returns the line with which a command is refused."""
    done = subprocess.run(
        words, input="{}", capture_output=True, text=True, timeout=240, cwd=folder, **options
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS)
def test_without_threads_a_command_is_refused(tmp_path, command):
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no compiler of C")
    (tmp_path / "shim.c").write_text(NO_THREADS)
    library = str(tmp_path / "shim.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "shim.c"], check=True)
    env = os.environ | {"LD_PRELOAD": library}
    line = refused(tmp_path, commands.azo(*command.split()), env=env)
    assert line.startswith("cannot start a thread or a process: raise the limit for this user")


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "number"), [(COMMANDS[0], 12), (COMMANDS[4], 12)])
def test_with_few_open_files_a_command_is_refused(tmp_path, command, number):
    words = ["sh", "-c", f'ulimit -n {number}; exec "$@"', "sh", *commands.azo(*command.split())]
    assert refused(tmp_path, words).startswith(f"too many open files: the limit is {number};")


@pytest.mark.thorough
@pytest.mark.parametrize("platform", ["cuda", "foo"])
@pytest.mark.parametrize("command", [COMMANDS[0], "analyse f5 --network zero-conv", COMMANDS[4]])
def test_a_platform_that_jax_cannot_use_is_named(tmp_path, command, platform):
    env = os.environ | {"JAX_PLATFORMS": platform}
    line = refused(tmp_path, commands.azo(*command.split()), env=env)
    assert line.startswith(f"JAX_PLATFORMS={platform}: JAX cannot use this platform; unset the")
