"""Practice in the terminal: mistakes of a game, decks of the page, drills of a book."""

import json
import sys

import pytest
from support.drivers import commands
from support.drivers.typed_lines import played

from azo.coach import deck, replies
from azo.engine import opening_book
from azo.games import notation, othello
from azo.games.host import live_game
from azo.terminal import practice

_GAME = othello.Othello()
_AFTER = {"f5d6": {"discs": 1.0}, "f5f4": {"discs": 1.6}, "f5f6": {"discs": 7.4}}
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
        ("F4", "solved: f4, as good as d6; again in 2 days"),
        ("f6", "f6 loses 6 discs: d6 is best; again in this round"),
        ("", "d6 is best; again in this round"),
    ],
)
def test_a_position_is_asked_judged_and_comes_back(path, clock, move, said):
    out = practised(path, "practise", "a1", move, evaluations=_AFTER)
    assert "white: find the best move\n" in out
    assert "1 due" in out
    assert "illegal move a1: white may play f4 d6 f6" in out
    assert said in out
    wait = memory(path)["due"] - clock[0]
    assert wait == (2 * _DAY if said.startswith("solved") else 10 * 60 * 1000)
    assert memory(path)["last"] == clock[0]
    assert "nothing is due: the next position is due within" in practised(path, "practise")
    clock[0] += wait
    assert "white: find the best move" in practised(path, "practise", "stop")


def test_a_week_of_practice_has_the_times_of_fsrs(path, clock):
    for days, again in ((0, 2), (2, 11), (11, 46)):
        clock[0] += days * _DAY
        assert f"solved: d6; again in {again} days" in practised(path, "practise", "d6")


def test_practice_without_its_library_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsrs", None)
    out = practised(path, "practise", "board")
    assert "practice in the terminal needs fsrs: python -m pip install fsrs\n" in out
    assert "white: find the best move" not in out
    assert memory(path) is None
    assert out.count("X black  2  you") == 2  # the game goes on


def test_what_was_not_solved_is_asked_again_until_it_is(path, clock):
    other = _CARD | {"moves": ["f5", "d6"], "mover": "black", "best": "c3", "losses": {"c3": 0}}
    path.write_text(json.dumps([_CARD, other]))
    lines = ["practise", "f6", "c3", "f6", "", "d6", "a1"]
    out = practised(path, *lines, evaluations=_AFTER)
    parts = out.split("best move> ")
    assert ["white: find" in part for part in parts[:5]] == [True, False, True, True, True]
    assert ["2 due" in part for part in parts[:5]] == [True, True, False, False, False]
    assert "solved: d6; again in 1 day\n1 of 2 right on the first try: the next" in out
    assert "well done" not in out
    clock[0] += 100 * _DAY
    out = practised(path, "practise", "d6", "c3", evaluations=_AFTER)
    assert "well done: 2 of 2 right on the first try: the next position is due" in out
    clock[0] += 1000 * _DAY
    out = practised(path, "practise", "", "stop")
    assert "0 of 1 right on the first try, 1 to be asked again in ten minutes" in out


@pytest.mark.parametrize("word", ["quit", "stop", "QUIT"])
def test_practice_has_help_and_an_end(path, word):
    out = practised(path, "practise", "help", "xx", word, "board", "quit")
    assert "stop, quit    back to the game" in out
    assert "unknown move 'xx'" in out
    assert "; try 'help'" in out
    assert out.count("best move> ") == 3
    assert memory(path) is None


def test_a_reply_is_judged_by_searches_after_it_and_after_the_best(path, clock):
    """The table of the card says 0.6; searches say 3.6, and of f6 nothing is lost."""
    after = {"f5d6": {"discs": 1.0}, "f5f4": {"discs": 4.6}, "f5f6": {"discs": 0.5}}
    out, engine = played(
        ["practise", "f4", "f6"],
        positions=deck.Deck(path),
        evaluations=after,
        sides="both",
        moves="f5d6c3",
    )
    assert "f4 loses 4 discs: d6 is best; again in this round" in out
    assert "solved: f6, as good as d6; again in 1 day" in out
    limits = [each.num_simulations for each in engine.limits if each]
    assert limits == [*replies.NUM_SIMULATIONS] * 4
    assert len(engine.actions) == 3  # the game is there again


def test_a_move_with_few_visits_is_not_kept_as_a_good_one(tmp_path, clock):
    path = tmp_path / "deck.json"
    parse = notation.parse_action
    d6, f4, f6 = (parse(move, 8) for move in ("d6", "f4", "f6"))
    lost = {
        "f5": {
            "best": "d6", "discs": 5.0, "visits": {d6: 300, f4: 5, f6: 90},
            "values": {d6: 0.1, f4: 0.1, f6: 0.09},
        }
    }  # fmt: skip
    practised(path, "analyse", "keep", evaluations=lost, moves="f5f6", sides="white")
    (card,) = deck.Deck(path).cards()
    assert set(card.losses) == {"d6", "f6"}


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
    noun, are = ("mistake", "is") if len(found) == 1 else ("mistakes", "are")
    assert f"{len(found)} of {len(found)} {noun} {are} new, and saved" in out
    assert f"0 of {len(found)} {noun} {are} new" in out
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
        ('[{"moves": []}]', "bad.json: card 1: game is "),
        (json.dumps([_CARD | {"best": "\x1b[2J"}]), r"bad.json: card 1: best is '\x1b[2J': "),
        (json.dumps([_CARD | {"memory": _MEMORY}]), "bad.json: card 1: memory.last is 1e+300: "),
        (
            json.dumps([_CARD | {"moves": ["a1"]}]),
            "illegal move 'a1' at ply 1: black may play d3, c4, f5 or e6",
        ),
        (json.dumps([_CARD | {"start": "X"}]), "bad.json: card 1: start is 'X': "),
        (
            json.dumps([_CARD | {"start": 36 * "-" + " X"}]),
            "36 squares, but a 8x8 board has 64",
        ),
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
    assert "1 of 2 positions is new" in out
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
