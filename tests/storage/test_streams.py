"""Standard streams of whole commands: non-blocking, without a reader, in other encodings."""

import fcntl
import os
import subprocess
import sys
import threading
import time

import pytest
from support.drivers import commands

NUM_LINES = 20_000  # more than the pipes hold


def non_blocking(descriptor):
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_NONBLOCK)


@pytest.mark.thorough
def test_gtp_over_non_blocking_pipes_answers_every_command():
    reads, writes = os.pipe()
    begins, ends = os.pipe()
    for descriptor in (reads, ends):
        non_blocking(descriptor)
    process = subprocess.Popen(commands.azo("gtp", "--size", "6"), stdin=reads, stdout=ends)
    os.close(reads)
    os.close(ends)

    def send():
        with os.fdopen(writes, "w") as stream:
            time.sleep(0.5)  # the first read finds nothing
            stream.write("protocol_version\n" * NUM_LINES)

    thread = threading.Thread(target=send)
    thread.start()
    time.sleep(1)  # the pipe becomes full
    with os.fdopen(begins) as stream:
        answers = stream.read().count("= 2")
    thread.join()
    assert (process.wait(60), answers) == (0, NUM_LINES)


PRINTS = """
import sys
from azo.storage import streams
streams.install()
for number in range(20_000):
    print(number, file=sys.stdout)
print("end", file=sys.stderr)
"""


@pytest.mark.parametrize("is_buffered", [True, False])
def test_all_is_written_to_a_non_blocking_pipe(is_buffered):
    begins, ends = os.pipe()
    non_blocking(ends)
    env = os.environ | {"PYTHONUNBUFFERED": "" if is_buffered else "1"}
    with subprocess.Popen([sys.executable, "-c", PRINTS], stdout=ends, stderr=ends, env=env) as one:
        os.close(ends)
        time.sleep(1)
        with os.fdopen(begins) as stream:
            lines = stream.read().split()
    assert one.returncode == 0
    lines.remove("end")  # of standard error, which has no buffer
    assert lines == [*map(str, range(20_000))]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "command",
    ["--help", "--version", "unknown", "gtp --help", "book --help", "train --unknown", "solve x",
     "analyse f5d6 --size 6", "tournament champion --table --folder none", "play --size 6"],
)  # fmt: skip
def test_a_command_without_a_reader_ends_quietly_with_the_code_of_sigpipe(tmp_path, command):
    begins, ends = os.pipe()
    os.close(begins)
    done = subprocess.run(
        commands.azo(*command.split()),
        stdin=subprocess.DEVNULL,
        stdout=ends,
        stderr=ends,
        cwd=tmp_path,
        timeout=240,
    )
    os.close(ends)
    assert done.returncode == 141


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_every_character_is_shown_in_some_way(encoding):
    text = "±3 → ● ○ · é – … 🙂 │"
    program = f"from azo.storage import streams; streams.install(); print({text!r})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode(encoding).split()
    assert len(shown) == len(text.split())
    if encoding == "ascii":
        assert shown[:7] == ["+-3", "->", "X", "O", ".", "e", "-"]


def test_a_game_is_analysed_on_a_terminal_without_unicode():
    done = subprocess.run(
        commands.azo("analyse", "f5d6", "--ply", "2"),
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_what_libraries_write_to_standard_output_can_be_discarded_alone():
    code = """
import os
from azo.storage import streams
streams.install()
print("before")
streams.discard_output_of_libraries()
os.write(1, b"of a library\\n")
print("after")
"""
    shown = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert shown == "before\nafter\n"
