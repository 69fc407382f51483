"""Practice in the terminal: mistakes of a game, decks of the page, drills of a book."""

import json

import pytest
from support import commands
from support.typed_lines import played

from azo.games import notation, othello
from azo.games.host import live_game
from azo.play.engine import opening_book
from azo.play.protocols import deck, practice

_GAME = othello.Othello()
_DAY = 24 * 60 * 60 * 1000
_CARD = {
    "game": "othello8", "start": None, "moves": ["f5"], "mover": "white", "best": "d6",
    "losses": {"d6": 0, "f4": 0.6, "f6": 6.5}, "isEnding": False, "memory": None,
}  # fmt: skip
_MEMORY = {"stability": 1, "difficulty": 5, "last": 1e300, "due": 0}


@pytest.fixture
def clock(monkeypatch):
    """The time in milliseconds, as a list of one number."""
    now = [1_772_442_000_000.0]
    monkeypatch.setattr(practice, "_now", lambda: now[0])
    return now


@pytest.fixture
def path(tmp_path, clock):
    """The deck of `azo play`, with one position."""
    path = tmp_path / "state" / "deck.json"
    path.parent.mkdir()
    path.write_text(json.dumps([_CARD]))
    return path


def practised(path, *lines, **options):
    out, _ = played(lines, positions=deck.Deck(path), **options)
    return out


def memory(path):
    (card,) = json.loads(path.read_text())
    return card["memory"]


@pytest.mark.parametrize(
    ("move", "said"),
    [
        ("d6", "solved: d6; again in 2 days"),
        ("F4", "solved: f4; again in 2 days"),
        ("f6", "f6 loses 6 discs: d6 is best; again in ten minutes"),
        ("", "d6 is best; again in ten minutes"),
    ],
)
def test_a_position_is_asked_judged_and_comes_back(path, clock, move, said):
    out = practised(path, "practise", "a1", move)
    assert "white: find the best move\n" in out
    assert "1 due" in out
    assert "illegal move a1: white may play f4 d6 f6" in out
    assert said in out
    wait = memory(path)["due"] - clock[0]
    assert wait == (2 * _DAY if said.startswith("solved") else 10 * 60 * 1000)
    assert memory(path)["last"] == clock[0]
    assert "well done: the next position is due" in practised(path, "practise")
    clock[0] += wait
    assert "white: find the best move" in practised(path, "practise", "stop")


def test_a_week_of_practice_has_the_times_of_fsrs(path, clock):
    for days, again in ((0, 2), (2, 11), (11, 46)):
        clock[0] += days * _DAY
        assert f"solved: d6; again in {again} days" in practised(path, "practise", "d6")


@pytest.mark.parametrize("end", ["stop", KeyboardInterrupt(), None])
def test_practice_gives_the_game_back(path, end):
    out = practised(path, "practise", *([] if end is None else [end]), moves="f5d6c3", sides="both")
    assert "ply 4: white to move" in out[out.index("best move>") :]
    assert memory(path) is None


def test_mistakes_of_an_analysed_game_are_kept_once(tmp_path, clock):
    path = tmp_path / "deck.json"
    lost = {1: {"best": "d6", "discs": 5.0}, 2: {"best": "e6", "discs": 5.0}}
    options = {"moves": "f5f6", "sides": "both", "evaluations": lost}
    assert "no game is analysed: enter 'analyse' first" in practised(path, "keep", **options)
    out = practised(path, "analyse", "keep", "keep", **options)
    found = deck.Deck(path).cards()
    assert f"{len(found)} of {len(found)} mistakes are new, and kept" in out
    assert f"0 of {len(found)} mistakes are new" in out
    white = next(card for card in found if card.mover == "white")
    assert (white.moves, white.best) == (("f5",), "d6")
    assert white.losses["d6"] == 0.0
    only_black = practised(
        tmp_path / "other.json", "analyse", "keep", **options | {"sides": "black"}
    )
    assert f"of {len(found) - 1} mistakes" in only_black


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "not a deck of positions to practise"),
        ('[{"moves": []}]', "not a deck of positions to practise"),
        (json.dumps([_CARD | {"best": "\x1b[2J"}]), "not a deck of positions to practise"),
        (json.dumps([_CARD | {"memory": _MEMORY}]), "not a deck of positions to practise"),
        (
            json.dumps([_CARD | {"moves": ["a1"]}]),
            "illegal move 'a1' at ply 1: black may play d3, c4, f5 or e6",
        ),
        (json.dumps([_CARD | {"start": "X"}]), "board 'X': 1 squares, but a 8x8 board has 64"),
    ],
)
def test_a_file_that_is_no_deck_gets_one_line(path, tmp_path, content, message):
    (tmp_path / "bad.json").write_text(content)
    before = path.read_text()
    out = practised(path, f"practise {tmp_path / 'bad.json'}", "f5", width=300)
    assert message in out
    assert "best move>" not in out
    assert path.read_text() == before


def test_a_deck_of_the_page_is_added(path, tmp_path):
    other = _CARD | {"moves": ["f5", "d6"], "mover": "black", "best": "c3", "losses": {"c3": 0}}
    small = _CARD | {"game": "othello6", "moves": []}
    (tmp_path / "saved.json").write_text(json.dumps([_CARD, other, small]))
    out = practised(path, f"practise {tmp_path / 'saved.json'}", "stop")
    assert "1 of 2 positions are new" in out
    assert "2 due" in out


def test_a_book_is_drilled_against_people(tmp_path, capsys):
    book, file = opening_book.Book(_GAME), tmp_path / "drill.json"
    for moves, own in (("f5", "d6"), ("f5d6", "c3"), ("f5d6c3", "d3"), ("f5d6c3d3", "c4")):
        board = live_game.replay(moves, _GAME).board
        book.entry(board, notation.parse_action(own, 8)).value = 0.1
    worse = book.entry(live_game.replay("f5", _GAME).board, notation.parse_action("f4", 8))
    worse.value = -0.5
    book.save(tmp_path / "book")
    for side, asked in (("black", ["f5d6", "f5d6c3d3"]), ("white", ["f5", "f5d6c3"])):
        file.unlink(missing_ok=True)
        assert commands.run("book", "drill", tmp_path / "book", file, "--play", side) == 0
        assert (
            f"drill.json: {len(asked)} positions, {len(asked)} are new" in capsys.readouterr().out
        )
        cards = deck.read(file)
        assert sorted("".join(card.moves) for card in cards) == asked
        assert all(card.mover == side for card in cards)
    assert {card.best: card.losses for card in cards}["d6"] == {"d6": 0.0}
    assert commands.run("book", "drill", tmp_path / "book", file, "--play", "white") == 0
    assert "2 positions, 0 are new" in capsys.readouterr().out
