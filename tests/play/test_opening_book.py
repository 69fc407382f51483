"""Opening books: symmetry, values and results by hand, learning, files, and the command."""

import dataclasses
import pathlib
import random
import re
import zlib

import numpy as np
import pytest

from azo.cli import book, command_line
from azo.games import board_symmetry, notation, othello, replaying
from azo.play import opening_book

_DATA = pathlib.Path(__file__).parents[1] / "data"
_GAME = othello.Othello()


def board_after(moves, game=_GAME):
    played = replaying.replay(moves, game)
    return played.last_board


def action(text, size=8):
    return notation.parse_action(text, size)


def texts(moves, size=8):
    return [notation.action_text(move.action, size) for move in moves]


def a_book(values, game=_GAME):
    """Returns a book of values by move, the moves by the transcripts that lead to them."""
    book = opening_book.Book(game)
    for moves, stored in values.items():
        for move, value in stored.items():
            entry = book.entry(board_after(moves, game), action(move, game.size))
            entry.value, entry.num_visits = value, 10
    return book


def plain(book):
    return {
        key: {a: dataclasses.asdict(e) for a, e in moves.items()}
        for key, moves in book.positions.items()
    }


# Symmetry.


@pytest.mark.parametrize(
    ("moves", "move"), [("f5d6", "c3"), ("e6f4", "c3"), ("c4e3", "f6"), ("d3c5", "f6")]
)
def test_turned_positions_share_an_entry_and_moves_are_turned_back(moves, move):
    book = a_book({"f5d6": {"c3": 0.25}})
    assert texts(book.lookup(board_after(moves))) == [move]
    book.entry(board_after(moves), action(move)).value = 0.5
    assert [m.value for m in book.lookup(board_after("f5d6"))] == [0.5]
    assert book.num_moves == 1


@pytest.mark.parametrize("size", [6, 8])
def test_moves_are_turned_back_on_all_eight_boards(size):
    game = othello.Othello(size)
    permutations = board_symmetry.square_permutations(size)
    board = board_after("e4c5b5" if size == 6 else "f5d6c3d3", game)
    squares, mover = notation.board_text(board, size).split()
    move = action("a5" if size == 6 else "c4", size)
    book = opening_book.Book(game)
    book.entry(board, move).value = 0.5
    for source in permutations:
        turned = "".join(squares[place] for place in source)
        entries = book.lookup(notation.parse_board(f"{turned} {mover}", size))
        assert [int(source[m.action]) for m in entries] == [move]
    assert book.num_moves == 1


def test_symmetric_moves_share_an_entry_and_are_all_returned():
    book = a_book({"": {"f5": 0.1}})
    assert sorted(texts(book.lookup(board_after("")))) == ["c4", "d3", "e6", "f5"]
    assert book.num_moves == 1
    rng = np.random.default_rng(0)
    chosen = {book.choose(board_after(""), rng) for _ in range(50)}
    assert chosen == {action(text) for text in ("c4", "d3", "e6", "f5")}


def test_colours_exchanged_are_the_same_position_seen_by_the_mover():
    book = a_book({"f5d6": {"c3": 0.25}})
    board = board_after("f5d6")
    other = notation.Board(board.white, board.black, not board.is_black_to_move)
    assert texts(book.lookup(other)) == ["c3"]


# Values.


def test_values_are_backed_up_by_negamax():
    book = a_book({"": {"f5": 0.0}, "f5": {"d6": 0.1, "f4": -0.3, "f6": 0.4}})
    book.back_up()
    assert [m.value for m in book.lookup(board_after(""))] == [-0.4] * 4
    for move, value in (("e6", -0.2), ("f7", -0.6)):
        book.entry(board_after("f5f6"), action(move)).value = value
    book.back_up()
    entries = {text: m.value for text, m in zip(*_by_text(book, "f5"), strict=True)}
    assert entries == {"d6": 0.1, "f4": -0.3, "f6": 0.2}
    assert [m.value for m in book.lookup(board_after(""))] == [-0.2] * 4


def _by_text(book, moves):
    entries = book.lookup(board_after(moves))
    return texts(entries), entries


def test_values_are_backed_up_through_a_pass():
    small, line = othello.Othello(4), "b1c1d3a1pab4a4"
    stored = {line[:6]: "a1", line[:8]: "pass", line[:10]: "b4"}
    book = a_book({moves: {move: 0.0} for moves, move in stored.items()}, small)
    book.entry(board_after(line[:12], small), action("a4", 4)).value = 1.0
    book.back_up()
    values = [book.lookup(board_after(moves, small))[0].value for moves in stored]
    assert values == [-1.0, 1.0, -1.0]


def test_a_move_within_the_margin_is_chosen_at_random_and_no_other():
    book = a_book({"f5": {"d6": 0.1, "f4": 0.09, "f6": 0.0}})
    rng = np.random.default_rng(1)
    board = board_after("f5")
    chosen = [book.choose(board, rng, margin=0.05) for _ in range(100)]
    assert set(chosen) == {action("d6"), action("f4")}
    assert 30 < chosen.count(action("d6")) < 70
    assert {book.choose(board, rng, margin=0.0) for _ in range(20)} == {action("d6")}
    assert book.choose(board_after("f5d6"), rng) is None


def test_few_games_weigh_less_than_many():
    once = opening_book.Entry(num_games=1, num_wins=1)
    often = opening_book.Entry(num_games=1000, num_wins=540, num_draws=20)
    assert (once.mean_result, often.mean_result) == (1.0, 0.1)
    assert often.worth > once.worth
    assert once.worth == pytest.approx(1 / 11 - 1 / 11**0.5)


# Learning.


def test_a_lost_game_changes_what_is_chosen():
    book = a_book({"": {"f5": 0.0}, "f5": {"d6": 0.1, "f4": 0.08}})
    book.back_up()
    board, rng = board_after("f5"), np.random.default_rng(0)
    assert book.choose(board, rng, margin=0.0) == action("d6")
    game = replaying.replay("f5d6c3", _GAME).actions
    assert book.learn(game, black_value=1.0) == 2
    assert book.choose(board, rng, margin=0.0) == action("f4")
    d6 = next(m for m in book.lookup(board) if m.action == action("d6"))
    assert d6.value == pytest.approx(0.1 + 0.2 * (-1 - 0.1))
    assert (d6.entry.num_games, d6.entry.num_wins) == (1, 0)
    (f5, *_) = book.lookup(board_after(""))
    assert f5.value == pytest.approx(-0.08)  # backed up: white plays f4 now
    assert (f5.entry.num_games, f5.entry.num_wins, f5.entry.num_draws) == (1, 1, 0)


def test_a_new_move_is_added_where_the_game_left_the_book():
    book = a_book({"": {"f5": 0.0}, "f5": {"d6": 0.1}})
    book.learn(replaying.replay("f5f6e6", _GAME).actions, black_value=0.0)
    entries = dict(zip(*_by_text(book, "f5"), strict=True))
    assert (entries["f6"].value, entries["f6"].entry.num_games) == (0.0, 1)
    assert entries["f6"].entry.num_draws == 1
    assert book.lookup(board_after("f5f6")) == []
    before = plain(book)
    with pytest.raises(ValueError):
        book.learn([0], black_value=1.0)
    assert plain(book) == before


# Files.


def test_a_book_is_read_as_it_was_written(tmp_path):
    book = a_book({"": {"f5": 0.25}, "f5": {"d6": -0.5, "f6": 0.0}})
    book.learn(replaying.replay("f5f4", _GAME).actions, black_value=-1.0)
    path = tmp_path / "new" / "a book"
    book.save(path)
    read = opening_book.load(path, _GAME)
    assert read.positions.keys() == book.positions.keys()
    for key, moves in book.positions.items():
        for move, entry in moves.items():
            again = read.positions[key][move]
            assert again == opening_book.Entry(
                **(dataclasses.asdict(entry) | {"value": again.value})
            )
            assert again.value == (entry.value and pytest.approx(entry.value))
    assert [p.name for p in path.parent.iterdir()] == ["a book"]


def test_an_empty_book_is_a_book(tmp_path):
    opening_book.Book(_GAME).save(tmp_path / "empty")
    assert opening_book.load(tmp_path / "empty", _GAME).positions == {}


def refusal(path, game=_GAME):
    with pytest.raises(ValueError) as error:
        opening_book.load(path, game)
    return str(error.value).removeprefix(f"{path}: ")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "file"
    assert refusal(path) == "cannot be read: No such file or directory"
    for content in (b"", b"f5d6c3", b"azo opening book 2\n", bytes(1000)):
        path.write_bytes(content)
        assert refusal(path) == "not an opening book of this version of azo"


def test_a_book_of_another_game_is_refused(tmp_path):
    path = tmp_path / "book"
    opening_book.Book(othello.Othello(6)).save(path)
    assert refusal(path) == "a book for othello6, not for othello8"
    opening_book.Book(_GAME).save(path)
    assert refusal(path, othello.Othello(is_reversed=True)) == (
        "a book for othello8, not for othello8-reversed"
    )


def test_a_damaged_book_is_refused(tmp_path):
    path = tmp_path / "book"
    a_book({"": {"f5": 0.25}, "f5": {"d6": -0.5, "f6": 0.0}}).save(path)
    content, rng = path.read_bytes(), random.Random(0)
    for _ in range(300):
        damaged = bytearray(content[: rng.choice([len(content), rng.randrange(len(content))])])
        if len(damaged) == len(content):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        assert "opening book" in refusal(path)
    for header in (b"[]", b'{"num_positions": 0, "num_moves": 0}', b'{"num_positions": null}'):
        path.write_bytes(b"azo opening book 1\n" + zlib.compress(header + b"\n"))
        assert refusal(path) == "a damaged opening book"


# The command.


def run(capsys, *arguments):
    code = command_line.run_main(book.main, [str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


_QUICK = ("--engine.num-simulations", 16, "--engine.leaves-per-step", 4)


def test_a_book_is_built_shown_and_reproducible(tmp_path, capsys):
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        code, out, _ = run(capsys, "build", path, *_QUICK, "--growth.num-positions", 3)
        assert code == 0
        assert "3 positions" in out
    one, two = (opening_book.load(path, _GAME) for path in paths)
    assert plain(one) == plain(two)
    code, out, _ = run(capsys, "show", paths[0], "f5")
    assert code == 0
    assert "white (O) to move" in out
    assert "\nd6" in out
    assert "not in the book" in run(capsys, "show", paths[0], "f5d6c3d3c4")[1]
    assert "5 positions" in run(capsys, "build", paths[0], *_QUICK, "--growth.num-positions", 2)[1]


def test_a_book_is_built_from_transcripts(tmp_path, capsys):
    games = [_DATA / f"olivaw_game{number}.txt" for number in ("01", "08", "11")]
    lines = [re.search("moves: (.*)", path.read_text())[1] for path in games]
    (tmp_path / "games.txt").write_text("\n".join(lines))
    path = tmp_path / "book"
    arguments = ("build", path, "--from", "archives", "--min-games", 1)
    code, out, _ = run(capsys, *arguments, tmp_path / "games.txt")
    assert (code, out.splitlines()[0]) == (0, "3 games")
    shown = run(capsys, "show", path)[1].splitlines()[-4:]
    assert [line.split()[:2] for line in shown] == [[m, "3"] for m in ("d3", "c4", "f5", "e6")]
    code, _, err = run(capsys, *arguments, tmp_path / "games.txt")
    assert (code, err) == (2, f"{path}: exists already: choose a new file\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "azo book: a command is missing. There are: build, show"),
        (("biuld",), "azo book: unknown command 'biuld'. Did you mean 'build'?"),
        (("show", "absent"), "absent: cannot be read: No such file or directory"),
        (("build", "b", "--from", "archives"), "--from archives: name the files"),
        (("build", "b", "g.wtb"), "g.wtb: --from self-play reads no files"),
        (("build", "b", "g.wtb", "--from", "archives"),
         "g.wtb: cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_mistakes_get_one_line(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it locks the book b
    code, _, err = run(capsys, *arguments)
    assert (code, err) == (2, message + "\n")
