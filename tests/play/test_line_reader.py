"""Lines of input: how they are split, and how waiting lines are seen."""

import os
import time

from azo.play.protocols import line_reader


def all_of(chunks):
    remaining = iter([*chunks, b""])
    return list(line_reader.LineReader(lambda: next(remaining)))


def test_lines_end_with_a_newline_wherever_the_input_is_cut():
    assert all_of([b"name\nver", b"sion\n", b"\n", b"quit"]) == ["name", "version", "", "quit"]
    assert all_of([b"play b f5\r\n"]) == ["play b f5\r"]
    assert all_of([]) == []


def test_bytes_that_are_not_text_are_replaced():
    assert all_of([b"\xff\xfe\n\xc3\xa4\n"]) == ["��", "ä"]


def test_a_line_without_end_is_cut_and_the_next_one_is_whole():
    half = b"x" * 40_000
    lines = all_of([half, half, half, half, b"\nname\n", b"y" * 70_000 + b"\nquit\n"])
    assert lines == ["x" * 65_536, "name", "y" * 65_536, "quit"]


def test_a_sender_of_many_lines_waits_until_they_are_read():
    sent = []

    def read():
        sent.append(len(sent))
        return b"name\n" * 600 if len(sent) <= 5 else b""

    flood = line_reader.LineReader(read)
    while len(sent) < 2:
        time.sleep(0.01)
    time.sleep(0.05)  # time enough to read all, if nothing held it back
    assert len(sent) == 2
    assert list(flood) == ["name"] * 3000


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
