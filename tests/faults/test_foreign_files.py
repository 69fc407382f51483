"""Files from others: bounded before memory is taken, and one line for whatever is wrong."""

import json
import pathlib
import tracemalloc
import zlib

import pytest
from support.builders import tiny_run
from support.drivers import commands

from azo.engine import opening_book
from azo.formats import game_files, ggf
from azo.games import notation, variant
from azo.storage import files

EIGHT = variant.Variant(8)
MEGABYTE = 1_000_000
BOARD = "---------------------------OX------XO--------------------------- X"


def zeros(path, head=b"", *, wbits=31, megabytes=200):
    """Writes a compressed file of zeros, a thousandth of what it unpacks to."""
    packer = zlib.compressobj(wbits=wbits)
    parts = [packer.compress(bytes(MEGABYTE)) for _ in range(megabytes)]
    path.write_bytes(head + b"".join([*parts, packer.flush()]))
    return path


@pytest.mark.thorough
def test_small_files_that_unpack_to_much_are_refused_without_unpacking_them(tmp_path, capsys):
    book = zeros(tmp_path / "zeros.book", b"azo opening book 3\n", wbits=15)
    names = ("zeros.obf.gz", "zeros.wtb.gz", "zeros.csv.gz")
    obf, wtb, csv = (zeros(tmp_path / name) for name in names)
    several = [
        ["solve", obf],
        ["supervise", wtb, "--folder", tmp_path / "a"],
        ["supervise", csv, "--folder", tmp_path / "b"],
        ["book", "show", book, "f5"],
    ]
    for words in several:
        tracemalloc.start()
        message = commands.refused(capsys, *words)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "unpacks to more than 16,777,216 bytes" in message or "damaged" in message
        assert peak < 150 * MEGABYTE, words  # imports and 17 MB of zeros


def test_real_archives_are_far_below_the_limit(data_folder):
    for path in data_folder.rglob("*.gz"):
        assert len(files.read(path)) < 0.7 * files.max_unpacked(path.read_bytes()), path


def test_files_that_never_end_are_refused(monkeypatch):
    monkeypatch.setattr(files, "_MAX_BYTES", 1 << 24)
    with pytest.raises(ValueError, match="/dev/zero: larger than"):
        files.read(pathlib.Path("/dev/zero"))


TINY = tiny_run.toml().encode()


@pytest.mark.parametrize(
    ("name", "content", "flags", "reason"),
    [
        ("a.toml", b"x = " + b"[" * 5000, [], "not TOML: maximum recursion depth"),
        ("a.toml", b'[run]\nfolder = "a\\u0000b"', [], "is not a text in UTF-8, or has a NUL"),
        ("a.json", b"[" * 100_000, [], "not JSON: recursion limit exceeded"),
        ("a.json", b'{"run":' * 190 + b"1" + b"}" * 190, [], "nested more than 50 deep"),
        ("a.toml", TINY, ["--run.seed", 10**30], "should be less than 4294967296"),
        ("a.toml", TINY, ["--learner.learning-rate", "inf"], "should be a finite number"),
        ("a.toml", TINY, ["--replay.capacity", 2**31 - 1], "needs about"),
        ("a.toml", TINY, ["--network.num-channels", 2**14], "lower the size of [network]"),
    ],
)
def test_wrong_settings_are_refused_in_one_line_before_memory_is_taken(
    name, content, flags, reason, tmp_path, capsys
):
    (tmp_path / name).write_bytes(content)
    words = ["train", "--config", tmp_path / name, "--run.folder", tmp_path / "run", *flags]
    assert reason in commands.refused(capsys, *words)
    assert not (tmp_path / "run").exists()


def test_names_of_players_lose_their_control_characters():
    board = notation.parse_board(BOARD, 8)
    text = ggf.to_text(ggf.GgfGame(8, board, black="\x1b[31mred\x07", white="a" * 5000))
    parsed = ggf.parse(text)
    assert parsed.black == "?[31mred?"
    assert len(parsed.white) < 120
    assert game_files.parse("black: \x1b]0;x\x07\nmoves: f5\n", EIGHT).black == "?]0;x?"


@pytest.mark.parametrize(
    "change",
    [
        lambda player, opponent, moves: [player, opponent, {"200": moves["19"]}],
        lambda player, opponent, moves: [player | opponent, opponent, moves],
        lambda player, opponent, moves: [player << 64, opponent, moves],
        lambda player, opponent, moves: [player, opponent, {"19": [0.5, -1]}],
        lambda player, opponent, moves: [player, opponent, {"19": [1e300, 0]}],
    ],
)
def test_a_book_with_impossible_content_is_refused(change, tmp_path):
    book, path = opening_book.Book(EIGHT), tmp_path / "book"
    board = notation.parse_board(BOARD, 8)
    book.entry(board, notation.parse_action("f5", 8))
    book.save(path)
    magic, content = opening_book._MAGIC, path.read_bytes()
    stored = json.loads(zlib.decompress(content[len(magic) :]))
    stored["positions"] = [change(*stored["positions"][0])]
    path.write_bytes(magic + zlib.compress(json.dumps(stored).encode()))
    with pytest.raises(ValueError, match="book: a damaged opening book"):
        opening_book.load(path, EIGHT)
