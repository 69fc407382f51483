import errno
import fcntl
import functools
import os
import signal
import socket
import subprocess
import sys

import pytest
from support.drivers import refusals

from azo.storage import locks

HOLD = """
import pathlib, sys
from azo.storage import locks
lock = locks.lock_folder(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def hold(folder):
    """A process that holds the lock of a folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


refusal = functools.partial(refusals.message_of, locks.lock_folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_second_process_learns_who_is_first_and_takes_over_when_that_one_dies(tmp_path, number):
    with hold(tmp_path) as process:
        first = f"process {process.pid} on {socket.gethostname()}"
        assert refusal(tmp_path) == f"{tmp_path}: in use by {first}: wait until it ends"
        process.send_signal(number)
        process.wait()
    with locks.lock_folder(tmp_path):
        assert f"process {os.getpid()} on " in refusal(tmp_path)
    locks.lock_folder(tmp_path).release()


def test_locks_of_files_in_one_folder_are_independent(tmp_path):
    with locks.lock_file(tmp_path / "a"), locks.lock_file(tmp_path / "b"):
        assert sorted(path.name for path in tmp_path.iterdir()) == [".a.lock", ".b.lock"]


def test_a_lock_ends_with_its_last_reference(tmp_path):
    lock = locks.lock_folder(tmp_path)
    del lock
    locks.lock_folder(tmp_path).release()


def test_a_lock_file_of_something_else_is_no_error(tmp_path):
    (tmp_path / locks.LOCK).write_bytes(b"\xff\0 not ours")
    with locks.lock_folder(tmp_path):
        (tmp_path / locks.LOCK).write_bytes(b"\xff\0 damaged")
        assert "in use by another process: wait" in refusal(tmp_path)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file" / "run") == (
        f"{tmp_path}/file/run: cannot write here (Not a directory)"
    )


def test_a_file_system_without_locks_is_written_with_a_warning(tmp_path, monkeypatch, capsys):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with locks.lock_folder(tmp_path):
        message = capsys.readouterr().err
    assert message.startswith(f"{tmp_path}: this file system has no locks (")
    assert message.count("\n") == 1


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_in_place_of_a_lock_file_is_refused_and_not_followed(tmp_path, link):
    (tmp_path / "letter").write_text("dear")
    (tmp_path / "run").mkdir()
    link(tmp_path / "letter", tmp_path / "run" / locks.LOCK)
    assert refusal(tmp_path / "run").startswith(f"{tmp_path}/run/.lock: ")
    assert (tmp_path / "letter").read_text() == "dear"


def test_a_removed_lock_file_is_made_again_unless_another_process_has_come(tmp_path):
    lock = locks.lock_folder(tmp_path)
    (tmp_path / locks.LOCK).unlink()
    lock.check()
    assert "in use by process" in refusal(tmp_path)
    (tmp_path / locks.LOCK).unlink()
    with (
        locks.lock_folder(tmp_path),
        pytest.raises(ValueError, match="another process has written"),
    ):
        lock.check()
