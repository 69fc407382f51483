"""What `azo analyse` takes for a game: an existing file is a file, everything else is text."""

import io
import sys

import pytest
from support.drivers import refusals
from support.references import dialects

from azo.cli import analyse, command_line
from azo.games import notation, othello

_GAME = othello.Othello()
_MOVES = "f5f4f3g4"


def _read(*words):
    settings = command_line.parse(
        analyse.AnalyseConfig, [str(word) for word in words], prog="azo analyse", description=""
    )
    return analyse._read(settings, _GAME)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "1. F5 f4 2. F3 g4",
        "1.F5 f4 2.F3 g4",
        "F5.f4.F3.g4",
        "F5,f4,F3,g4",
        "F5/f4/F3/g4",
        "f5f4f3g4 1-0",
        "f5f4f3g4 34-30.",
        "f5f4f3g4 B+4",
        "f5 f4\nf3 g4",
        "./f5f4f3g4",
    ],
)
def test_text_is_moves_whatever_its_signs(text):
    assert notation.transcript(_read(text).moves, 8) == _MOVES


@pytest.mark.parametrize("name", ["f5f4", "1. F5 f4", "game", "a.txt", "f5.d6"])
def test_an_existing_file_is_a_file(name, tmp_path):
    (tmp_path / name).write_text(_MOVES)
    assert notation.transcript(_read(name).moves, 8) == _MOVES
    assert notation.transcript(_read(tmp_path / name).moves, 8) == _MOVES


@pytest.mark.parametrize(
    "name", ["gme.sgf", "runs/game.txt", "game", "a.ggf.bz2", "y" * 300, "a b"]
)
def test_what_is_neither_is_refused_with_both_readings(name):
    message = refusals.message_of(_read, name)
    assert ": there is no such file, and as text: cannot read '" in message
    assert message.startswith(name[:40])


def test_bad_moves_are_named_without_speaking_of_files():
    assert refusals.message_of(_read, "f5f5").startswith("illegal move 'f5' at ply 2 (f5)")
    assert "Is a directory" in refusals.message_of(_read, ".")


@pytest.mark.parametrize("name", ["gbk.sgf", "utf16.sgf", "latin.pgn"])
def test_standard_input_may_be_in_any_encoding(name, monkeypatch):
    content = io.TextIOWrapper(io.BytesIO(dialects.CONTENTS[name]), "utf-8")
    monkeypatch.setattr(sys, "stdin", content)
    assert notation.transcript(_read("-").moves, 8) == dialects.MOVES
