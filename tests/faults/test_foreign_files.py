"""Files from others: bounded before memory is taken, and one line for whatever is wrong."""

import io
import pathlib
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
import rich.console
from support import tiny_run

from azo import __main__
from azo.cli import play
from azo.formats import checksums, files, game_files, ggf
from azo.games import notation, variant
from azo.play import opening_book
from azo.run import curriculum, devices, interruption, network_files, shipped_files

ROOT = pathlib.Path(__file__).parents[2]
EIGHT = variant.Variant(8)
BOARD = "---------------------------OX------XO--------------------------- X"
MEGABYTE = 1_000_000


def zeros(path, head=b"", *, wbits=31, megabytes=200):
    """Writes a compressed file of zeros, a thousandth of what it unpacks to."""
    packer = zlib.compressobj(wbits=wbits)
    parts = [packer.compress(bytes(MEGABYTE)) for _ in range(megabytes)]
    path.write_bytes(head + b"".join([*parts, packer.flush()]))
    return path


def refused(words, capsys):
    """Runs a command that is refused; returns its line."""
    capsys.readouterr()
    assert __main__.main([str(word) for word in words]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1, message
    assert message.rstrip("\n").isprintable(), message
    assert len(message) < 1100, message
    return message


def test_small_files_that_unpack_to_much_are_refused_without_unpacking_them(tmp_path, capsys):
    book = zeros(tmp_path / "zeros.book", b"azo opening book 1\n", wbits=15)
    names = ("zeros.obf.gz", "zeros.wtb.gz", "zeros.csv.gz")
    obf, wtb, csv = (zeros(tmp_path / name) for name in names)
    commands = [
        ["solve", obf],
        ["supervise", wtb, "--folder", tmp_path / "a"],
        ["supervise", csv, "--folder", tmp_path / "b"],
        ["evaluate", "othello8", "--exact", obf],
        ["play", "--network", "zero-fast", "--book", book],
    ]
    for words in commands:
        tracemalloc.start()
        message = refused(words, capsys)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "unpacks to more than 16,777,216 bytes" in message or "damaged" in message
        assert peak < 150 * MEGABYTE, words  # imports, networks and 17 MB of zeros


def test_real_archives_are_far_below_the_limit(data_folder):
    for path in data_folder.rglob("*.gz"):
        assert len(files.read(path)) < 0.7 * files.max_unpacked(path.read_bytes()), path


def test_files_that_never_end_are_refused(monkeypatch):
    monkeypatch.setattr(files, "_MAX_BYTES", 1 << 24)
    with pytest.raises(ValueError, match="/dev/zero: larger than"):
        files.read(pathlib.Path("/dev/zero"))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.toml", b"x = " + b"[" * 5000, "not TOML: maximum recursion depth"),
        ("a.toml", b"[run]\nseed = " + b"1" * 5000, "not TOML: Exceeds the limit"),
        ("a.toml", b'[run]\nfolder = "a\\u0000b"', "is not a text in UTF-8, or has a NUL"),
        ("a.toml", b"[[curriculum]]\nname = 'a'\nx = 1\n", "unknown setting 'x'"),
        ("a.toml", b"[[curriculum]]\nname = 'a'\nset = {'run.sed' = 1}", "unknown setting 'sed'"),
        ("a.json", b"[" * 100_000, "not JSON: maximum recursion depth"),
        ("a.json", b'{"run": {"seed": ' + b"1" * 5000 + b"}}", "not JSON: Exceeds the limit"),
        ("a.json", b'{"\xff"}', "not a text in UTF-8"),
        ("a.json", b"[1]", "not settings"),
    ],
)
def test_settings_files_are_refused_in_one_line(name, content, reason, tmp_path, capsys):
    (tmp_path / name).write_bytes(content)
    words = ["train", "--config", tmp_path / name, "--run.folder", tmp_path / "run"]
    assert reason in refused(words, capsys)


@pytest.mark.parametrize(
    ("flag", "value", "reason"),
    [
        ("run.seed", 10**30, "should be less than 4294967296"),
        ("run.seed", "1" * 5000, "Exceeds the limit"),
        ("run.folder", "a" * 5000, "File name too long"),
        ("config", "a" * 5000, "File name too long"),
        ("learner.batch-size", 10**11, "should be less than or equal to 1048576"),
        ("learner.learning-rate", "inf", "should be a finite number"),
        ("evaluation.num-games", 10**10, "should be less than or equal to 1048576"),
        ("network.num-blocks", 10**9, "should be less than or equal to 256"),
        ("network.num-channels", 10**9, "should be less than or equal to 16384"),
        ("replay.capacity", 2**31 - 1, "needs about"),
        ("network.num-channels", 2**14, "lower the size of [network]"),
    ],
)
def test_impossible_numbers_are_refused_before_memory_is_taken(
    flag, value, reason, tmp_path, capsys
):
    path = tmp_path / "tiny.toml"
    path.write_text(tiny_run.toml())
    words = ["train", "--config", path, "--run.folder", tmp_path / "run", f"--{flag}", value]
    assert reason in refused(words, capsys)
    assert not (tmp_path / "run").exists()


def test_an_unknown_home_in_the_file_of_an_engine_is_one_line(tmp_path, capsys):
    engine = "name = 'x'\ncommand = ['no-such-program']\nprotocol = 'gtp'\nfolder = '~nobody-x/y'\n"
    (tmp_path / "engine.toml").write_text(engine)
    players = "[[players]]\nname = 'a'\nplayer = 'random'\n[[players]]\nname = 'b'\n"
    (tmp_path / "t.toml").write_text(f"num_games = 2\n{players}engine = 'engine.toml'\n")
    words = ["tournament", tmp_path / "t.toml", "--folder", tmp_path / "out"]
    assert "there is no folder" in refused(words, capsys)


def test_names_of_players_lose_their_control_characters():
    board = notation.parse_board(
        "---------------------------OX------XO--------------------------- X", 8
    )
    text = ggf.to_text(ggf.GgfGame(8, board, black="\x1b[31mred\x07", white="a" * 5000))
    parsed = ggf.parse(text)
    assert parsed.black == "?[31mred?"
    assert len(parsed.white) < 120
    assert game_files.parse("black: \x1b]0;x\x07\nmoves: f5\n", EIGHT).black == "?]0;x?"


def test_a_long_text_is_not_repeated_in_the_message(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("hello " * 20_000)
    assert len(refused(["analyse", tmp_path / "a.txt"], capsys)) < 300
    (tmp_path / "b.obf").write_text("hello" * 20_000)
    assert len(refused(["solve", tmp_path / "b.obf"], capsys)) < 300


def test_the_terminal_drops_the_rest_of_a_line_of_ten_megabytes(monkeypatch):
    lines = b"x" * 10 * MEGABYTE + b"\nquit\n" + b"y" * MEGABYTE
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    console = rich.console.Console(file=io.StringIO())
    read = play._reader(console)
    assert read("> ") == "x" * 2**16
    assert read("> ") == "quit\n"
    assert read("> ") == "y" * 2**16
    assert read("> ") is None
    assert len(console.file.getvalue()) < 2500


@pytest.mark.parametrize("damage", ["action", "discs", "count", "value", "size"])
def test_a_book_with_impossible_content_is_refused(damage, tmp_path):
    book = opening_book.Book(EIGHT)
    board = notation.parse_board(
        "---------------------------OX------XO--------------------------- X", 8
    )
    book.count(board, notation.parse_action("f5", 8), 1.0)
    book.save(tmp_path / "book")
    magic, content = opening_book._MAGIC, (tmp_path / "book").read_bytes()
    line, _, tables = zlib.decompress(content[len(magic) :]).partition(b"\n")
    positions = np.frombuffer(tables, opening_book._POSITION, 1).copy()
    moves = np.frombuffer(tables, opening_book._MOVE, 1, offset=positions.nbytes).copy()
    if damage == "action":
        moves["action"] = 200
    elif damage == "discs":
        positions["player"] |= positions["opponent"]
    elif damage == "count":
        positions["num_moves"] = 9
    elif damage == "value":
        moves["value"] = np.inf
    more = b"x" if damage == "size" else b""
    packed = zlib.compress(line + b"\n" + positions.tobytes() + moves.tobytes() + more)
    (tmp_path / "book").write_bytes(magic + packed)
    with pytest.raises(ValueError, match="book: a damaged opening book"):
        opening_book.load(tmp_path / "book", EIGHT)


def test_networks_that_ship_have_checksums_and_load_in_silence(capsys):
    folders = [shipped_files.NETWORKS / name for name in shipped_files.networks()]
    folders += [path.parent for path in (ROOT / "checkpoints").glob("*/settings.json")]
    assert len(folders) >= 4
    for folder in folders:
        assert checksums.verify(folder), folder
        network_files.load(folder)
    assert capsys.readouterr().err == ""


def test_a_curriculum_prepares_the_devices_before_it_asks_for_the_first_process(
    tmp_path, monkeypatch
):
    calls = []
    monkeypatch.setattr(devices, "prepare", lambda _: calls.append("prepare"))
    monkeypatch.setattr(devices, "is_first", lambda: bool(calls.append("is_first")))
    monkeypatch.setattr(curriculum, "_has_ended", lambda _: False)
    monkeypatch.setattr(curriculum.trainer, "train", lambda *_: None)
    settings = tiny_run.settings(run={"folder": str(tmp_path)})
    phases = [{"name": "a", "set": {"run.seed": 1}}]
    curriculum.train(
        type(settings).model_validate(settings.model_dump() | {"curriculum": phases}),
        interruption.StopRequest(),
    )
    assert calls == ["prepare", "is_first"]
