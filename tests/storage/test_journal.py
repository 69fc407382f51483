import json
import os

import pydantic
import pytest
from support.drivers import refusals

from azo.storage import journal

GARBAGE = [b"", b" ", b"{", b"\xff\xfe", b"\0" * 40, b"[" * 100_000, b"9" * 5_000, b'"text"']


class Line(pydantic.BaseModel, strict=True):
    number: int


def parse(line):
    return Line.model_validate_json(line).number


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "new" / "lines.jsonl"
    for number in range(3):
        journal.append(path, json.dumps({"number": number}))
    return path


def test_lines_come_back_in_their_order(path, capsys):
    assert journal.read(path, parse) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    assert journal.read(path.with_name("absent"), parse) == []


@pytest.mark.parametrize("torn", [b'{"numb', b"\0" * 5_000, b"\xff" * 70_000, b'{"number": 7}'])
def test_a_torn_last_line_is_no_record_and_is_replaced(path, torn, capsys):
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert journal.read(path, parse) == [0, 1, 2]
    journal.append(path, '{"number": 3}')
    assert path.read_bytes() == whole + b'{"number": 3}\n'
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_damaged_line_is_named_and_skipped(path, garbage, capsys):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + garbage + b"\n" + lines[1] + lines[2])
    damaged = path.read_bytes()
    assert journal.read(path, parse) == [0, 1, 2]
    message = capsys.readouterr().err
    assert message.startswith(f"{path}: damaged, skipped: line 2 (")
    assert message.count("\n") == 1
    assert message[:-1].isprintable()
    assert len(message) < 400
    assert path.read_bytes() == damaged


def test_repair_moves_damaged_lines_to_a_file_that_grows(path, capsys):
    whole = path.read_bytes()
    for garbage in (b"first", b"\xffsecond"):
        path.write_bytes(garbage + b"\n" + path.read_bytes())
        assert journal.repair(path, parse) == [0, 1, 2]
        assert "damaged, moved to lines.jsonl.damaged: line 1 (" in capsys.readouterr().err
        assert path.read_bytes() == whole
    assert path.with_name("lines.jsonl.damaged").read_bytes() == b"first\n\xffsecond\n"


def test_many_damaged_lines_are_counted(path, capsys):
    path.write_bytes(b"x\n" * 1_000)
    assert journal.read(path, parse) == []
    assert "line 5 (" in (message := capsys.readouterr().err)
    assert message.endswith("and 995 more\n")


def test_a_line_that_does_not_fit_leaves_the_file_as_it_was(path, monkeypatch):
    whole = path.read_bytes()

    def fail(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        message = refusals.message_of(journal.append, path, '{"number": 3}')
    assert message == f"{path}: cannot write here (No space left on device)"
    assert path.read_bytes() == whole
    journal.append(path, '{"number": 3}')
    assert journal.read(path, parse) == [0, 1, 2, 3]
