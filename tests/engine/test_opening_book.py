"""Opening books: symmetry, values by hand, files, and the command."""

import numpy as np
import pytest
from support.drivers import commands, refusals
from support.fakes import scripted_engine

from azo.engine import book_building, opening_book
from azo.games import board_symmetry, notation, othello
from azo.games.host import live_game

_GAME = othello.Othello()
_FIRST = ("d3", "c4", "f5", "e6")


def board_after(moves, game=_GAME):
    return live_game.replay(moves, game).board


def action(text, size=8):
    return notation.parse_action(text, size)


def a_book(values, game=_GAME):
    """Returns a book of values by move, the moves by the transcripts that lead to them."""
    book = opening_book.Book(game)
    for moves, stored in values.items():
        for move, value in stored.items():
            entry = book.entry(board_after(moves, game), action(move, game.size))
            entry.value, entry.num_visits = value, 10
    return book


# Symmetry.


@pytest.mark.parametrize("size", [6, 8])
def test_moves_are_turned_back_on_all_eight_boards_of_either_colour(size):
    game = othello.Othello(size)
    board = board_after("e4c5b5" if size == 6 else "f5d6c3d3", game)
    squares, mover = notation.board_text(board, size).split()
    move = action("a5" if size == 6 else "c4", size)
    book = opening_book.Book(game)
    book.entry(board, move).value = 0.5
    for source in board_symmetry.square_permutations(size):
        turned = notation.parse_board(f"{''.join(squares[x] for x in source)} {mover}", size)
        exchanged = notation.Board(turned.white, turned.black, not turned.is_black_to_move)
        for each in (turned, exchanged):
            assert [int(source[turned_move]) for turned_move in book.lookup(each)] == [move]
    assert [len(moves) for moves in book.positions.values()] == [1]


# Values.


def values_after(book, moves):
    entries = book.lookup(board_after(moves))
    return {notation.action_text(move, 8): entry.value for move, entry in entries.items()}


def test_values_are_backed_up_by_negamax():
    book = a_book({"": {"f5": 0.0}, "f5": {"d6": 0.1, "f4": -0.3, "f6": 0.4}})
    book.back_up()
    assert values_after(book, "") == dict.fromkeys(_FIRST, -0.4)
    for move, value in (("e6", -0.2), ("f7", -0.6)):
        book.entry(board_after("f5f6"), action(move)).value = value
    book.back_up()
    assert values_after(book, "f5") == {"d6": 0.1, "f4": -0.3, "f6": 0.2}
    assert values_after(book, "") == dict.fromkeys(_FIRST, -0.2)


def test_values_are_backed_up_through_a_pass():
    small, line = othello.Othello(4), "b1c1d3a1pab4a4"
    stored = {line[:6]: "a1", line[:8]: "pass", line[:10]: "b4"}
    book = a_book({moves: {move: 0.0} for moves, move in stored.items()}, small)
    book.entry(board_after(line[:12], small), action("a4", 4)).value = 1.0
    book.back_up()
    values = [book.value(book.key(board_after(moves, small))) for moves in stored]
    assert values == [-1.0, 1.0, -1.0]


def test_a_move_within_the_margin_is_chosen_at_random_and_no_other():
    book = a_book({"f5": {"d6": 0.1, "f4": 0.09, "f6": 0.0}})
    rng = np.random.default_rng(1)
    board = board_after("f5")
    chosen = [book.choose(board, rng) for _ in range(100)]
    assert set(chosen) == {action("d6"), action("f4")}
    assert 30 < chosen.count(action("d6")) < 70
    assert book.choose(board_after("f5d6"), rng) is None


# Files.


def test_a_book_is_read_as_it_was_written(tmp_path):
    book = a_book({"": {"f5": 0.25}, "f5": {"d6": -0.5, "f6": 0.0}})
    path = tmp_path / "new" / "a book"
    book.save(path)
    read = opening_book.load(path, _GAME)
    assert read.positions == book.positions
    assert [p.name for p in path.parent.iterdir()] == ["a book"]


def refusal(path, game=_GAME):
    return refusals.message_of(opening_book.load, path, game).removeprefix(f"{path}: ")


def test_other_files_and_books_of_other_games_are_refused(tmp_path):
    path = tmp_path / "book"
    assert refusal(path) == "cannot be read: No such file or directory"
    for content in (b"", b"f5d6c3", b"azo opening book 2\n", bytes(1000)):
        path.write_bytes(content)
        assert refusal(path) == "not an opening book of this version of azo"
    opening_book.Book(othello.Othello(6)).save(path)
    assert refusal(path) == "a book for othello6, not for othello8"
    opening_book.Book(_GAME).save(path)
    assert refusal(path, othello.Othello(is_reversed=True)) == (
        "a book for othello8, not for othello8-reversed"
    )


# Growth by searches, with values worked out by hand.


class Thinker(scripted_engine.ScriptedEngine):
    """Gives each move a value that follows from its action alone: low squares are better."""

    def think(self, limits=None, **options):
        values = {a: 0.3 - 0.05 * rank for rank, a in enumerate(self.legal_actions)}
        self.evaluations = {0: {"values": values, "visits": {self.legal_actions[-1]: 1}}}
        return super().think(limits, **options)


def grow(book, engine, num_positions, **settings):
    growth = book_building.GrowthConfig(num_positions=num_positions, **settings)
    return list(book_building.grow(book, engine, growth))[-1]


def grown(num_positions, **settings):
    book = opening_book.Book(_GAME)
    assert grow(book, Thinker(_GAME), num_positions, **settings) == len(book.positions)
    return book


def plies(book):
    """Returns the number of plies before each position."""
    return sorted((a | b).bit_count() - 4 for a, b in book.positions)


def second_position(book):
    (after,) = [key for key in book.positions if key != book.key(board_after(""))]
    return after


def test_growth_extends_the_line_that_costs_least():
    assert [len(x) for x in grown(1).positions.values()] == [1]  # the four first moves are alike
    book = grown(2)
    # Behind the first move the last of three has 1 visit of 41 and is kept, all three are leaves.
    after = second_position(book)
    assert sorted(e.value for e in book.positions[after].values()) == pytest.approx(
        [0.2, 0.25, 0.3]
    )
    assert values_after(book, "") == pytest.approx(dict.fromkeys(_FIRST, -0.3))
    # A search later the best of them is worth -0.3 to white: the next best is extended then.
    book = grown(4)
    assert plies(book) == [0, 1, 2, 2]
    assert book.value(after) == pytest.approx(0.2)


def test_a_high_cost_of_plies_makes_a_wider_book():
    assert plies(grown(40, ply_cost=5.0))[-1] < plies(grown(40, ply_cost=0.001))[-1]


def test_growth_stops_at_its_depth_and_at_the_end_of_the_game():
    assert plies(grown(100, max_plies=2)) == [0, 1, 2, 2, 2]
    small = othello.Othello(4)
    late, ended = Thinker(small), opening_book.Book(small)
    late.new_game(board_after("c4b4a1d2d4d3a2", small))
    assert grow(ended, late, 1000) == len(ended.positions) < 1000
    assert plies(ended)[-1] == 11


def test_moves_with_too_few_visits_are_left_out(monkeypatch):
    monkeypatch.setattr(book_building, "_MIN_SHARE", 0.1)
    book = grown(2)
    assert len(book.positions[second_position(book)]) == 2


def test_growth_can_be_stopped_and_goes_on_as_if_it_had_not_been(tmp_path):
    grown(5).save(tmp_path / "book")
    again, root = opening_book.load(tmp_path / "book", _GAME), board_after("")
    grow(again, Thinker(_GAME), 7)
    assert again.positions.keys() == grown(12).positions.keys()
    assert again.value(again.key(root)) == pytest.approx(grown(12).value(again.key(root)))


# The command.


def shown(capsys, *words):
    """Returns what `azo book` prints."""
    assert commands.run("book", *words) == 0
    return capsys.readouterr().out


_QUICK = ("--engine.num-simulations", 16, "--engine.leaves-per-step", 4)


def test_a_book_is_built_shown_and_reproducible(tmp_path, capsys):
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        built = shown(capsys, "build", path, *_QUICK, "--growth.num-positions", 3)
        assert "3 positions" in built
    one, two = (opening_book.load(path, _GAME) for path in paths)
    assert one.positions == two.positions
    listed = shown(capsys, "show", paths[0], "f5")
    assert "white (O) to move" in listed
    assert "\nd6" in listed
    assert "not in the book" in shown(capsys, "show", paths[0], "f5d6c3d3c4")
    assert "5 positions" in shown(capsys, "build", paths[0], *_QUICK, "--growth.num-positions", 2)


def test_a_mistake_gets_one_line(capsys):
    complaint = "azo book: a command is missing. There are: build, show, drill"
    assert commands.refused(capsys, "book") == complaint
