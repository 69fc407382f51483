"""Lines of input: how they are split, and how waiting lines are seen."""

import os
import time

import pytest
from support.drivers.front_end import Input

from azo.protocols import line_reader


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (["name\nver", "sion\n", "\n", "quit"], ["name", "version", "", "quit"]),
        (["play b f5\r\n"], ["play b f5\r"]),
        ([], []),
        (["\udcff\udcfe\nä\n"], ["��", "ä"]),  # bytes that are not text
        # A line that is too long is cut, and the next one is whole.
        ([*["x" * 40_000] * 4, "\nname\n", "y" * 70_000 + "\nquit\n"],
         ["x" * 65_536, "name", "y" * 65_536, "quit"]),
    ],
)  # fmt: skip
def test_lines_end_with_a_newline_wherever_the_input_is_cut(parts, lines):
    source = Input()
    for part in parts:
        source.send(part)
    source.end()
    assert list(source.lines) == lines


def test_a_sender_of_many_lines_waits_until_they_are_read():
    source, text, num_sent = Input(), b"name\n" * 10_000, 0
    os.set_blocking(source.write_end, False)
    deadline = time.monotonic() + 0.3  # time enough to read all, if nothing held it back
    while time.monotonic() < deadline:
        try:
            num_sent += os.write(source.write_end, text)
        except BlockingIOError:
            time.sleep(0.01)
    assert num_sent < 3 * len(text)
    source.end()
    assert "".join(source.lines).count("name") == num_sent // 5


def test_standard_input_is_read_as_it_comes():
    end, begin = os.pipe()
    saved = os.dup(0)
    os.dup2(end, 0)
    try:
        with line_reader.standard_streams() as (lines, _):
            reader = iter(lines)
            os.write(begin, b"name\n")
            assert next(reader) == "name"
            os.close(begin)
            assert list(reader) == []
    finally:
        os.dup2(saved, 0)
        os.close(saved)
        os.close(end)
