"""Decks of somebody else, damaged decks, and decks that several processes change."""

import json
import os
import subprocess
import sys

import pytest
from support.builders import bad_cards
from support.drivers import commands
from support.drivers.typed_lines import played

from azo.coach import deck
from azo.engine import opening_book
from azo.games import othello
from azo.terminal import practice


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The deck of `azo play`, with one position."""
    monkeypatch.setattr(practice, "_now", lambda: float(bad_cards.NEWEST))
    path = tmp_path / "deck.json"
    path.write_text(json.dumps([bad_cards.CARD]))
    return path


def _practised(path, *lines, **options):
    out, _ = played(lines, positions=deck.Deck(path), width=400, **options)
    return out


def _taken(path, tmp_path, *cards):
    """What is said when the deck takes cards in JSON, and the deck afterwards."""
    (tmp_path / "other.json").write_text(f"[{', '.join(cards)}]")
    out = _practised(path, f"practise {tmp_path / 'other.json'}", "stop")
    return out, deck.Deck(path).cards()


@pytest.mark.parametrize("text", bad_cards.BAD.values(), ids=bad_cards.BAD)
def test_a_bad_card_is_named_and_refused_and_the_others_are_taken(path, tmp_path, text):
    out, cards = _taken(path, tmp_path, text, json.dumps(bad_cards.OTHER))
    assert "other.json: refused card 1: " in out
    assert "1 of 1 position is new" in out
    assert [card.best for card in cards] == ["d6", "c3"]
    assert not list(tmp_path.glob("*.damaged*"))


@pytest.mark.parametrize("text", bad_cards.BAD.values(), ids=bad_cards.BAD)
def test_a_bad_card_alone_changes_nothing(path, tmp_path, text):
    before = path.read_text()
    out, _ = _taken(path, tmp_path, text)
    assert "other.json: card 1: " in out
    assert "best move>" not in out
    assert path.read_text() == before


@pytest.mark.parametrize("text", bad_cards.NO_DECKS.values(), ids=bad_cards.NO_DECKS)
def test_a_file_that_is_no_deck_is_refused_in_one_line(path, tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    before = path.read_text()
    out = _practised(path, f"practise {tmp_path / 'other.json'}")
    assert out.count("other.json: not a deck of positions to practise: ") == 1
    assert path.read_text() == before


@pytest.mark.parametrize("text", bad_cards.ODD_BUT_SOUND.values(), ids=bad_cards.ODD_BUT_SOUND)
def test_old_decks_and_other_writers_are_read(path, tmp_path, text):
    path.write_text("[]")
    out, cards = _taken(path, tmp_path, text)
    assert "1 of 1 position is new" in out
    assert [card.best for card in cards] == ["d6"]
    assert '": -0' not in path.read_text()


def test_a_deck_that_is_too_large_or_too_long_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.setattr(deck, "_MAX_BYTES", 1000)
    out, _ = _taken(path, tmp_path, *[json.dumps(bad_cards.OTHER)] * 9)
    assert "other.json: larger than" in out
    monkeypatch.undo()
    monkeypatch.setattr(deck, "MAX_CARDS", 1)
    out, cards = _taken(path, tmp_path, json.dumps(bad_cards.OTHER))
    assert "0 of 1 position is new, 1 has no room" in out
    assert len(cards) == 1


@pytest.mark.parametrize("text", bad_cards.BAD.values(), ids=bad_cards.BAD)
def test_a_damaged_own_deck_is_kept_aside_and_its_sound_cards_stay(path, tmp_path, text):
    damaged = f"[{json.dumps(bad_cards.OTHER)}, {text}]"
    path.write_text(damaged)
    out = _practised(path, "practise", "stop", "practise", "stop")
    # A clock that was wrong for a day damages nothing.
    number = 0 if text == bad_cards.BAD["a review in the future"] else 1
    assert out.count("damaged: card 2: ") == number
    assert [each.read_text() for each in tmp_path.glob("*.damaged*")] == [damaged] * number
    assert "black: find the best move" in out
    assert deck.Deck(path).cards()[0].best == "c3"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_whole_cards_of_a_cut_deck_stay(path, tmp_path, number):
    whole = [json.dumps(card) for card in (bad_cards.CARD, bad_cards.OTHER)]
    text = "[" + ", ".join([*whole[:number], '{"game": "oth'])
    path.write_text(text)
    out = _practised(path, "practise", "stop")
    assert "deck.json: damaged: not JSON: " in out
    assert f"moved to {path}.damaged" in out
    assert [card.best for card in deck.Deck(path).cards()] == ["d6", "c3"][:number]
    assert (tmp_path / "deck.json.damaged").read_text() == text


def test_a_deck_that_cannot_be_read_is_no_damage(path, tmp_path, monkeypatch):
    read = deck.files.read

    def fail(place):
        if place.name == "deck.json":
            raise ValueError(f"{place}: cannot be read: Input/output error")
        return read(place)

    monkeypatch.setattr(deck.files, "read", fail)
    out = _practised(path, "practise", "stop")
    assert "deck.json: cannot be read: Input/output error" in out
    assert [each.name for each in tmp_path.iterdir() if "damaged" in each.name] == []


def test_a_book_is_not_drilled_into_another_file(tmp_path, capsys):
    book, file = tmp_path / "book", tmp_path / "notes.md"
    opening_book.Book(othello.Othello()).save(book)
    file.write_text("my notes")
    assert commands.run("book", "drill", book, file) == 2
    assert "notes.md: not a deck of positions to practise: not JSON" in capsys.readouterr().err
    assert file.read_text() == "my notes"
    assert [*tmp_path.glob("*.damaged")] == []


def _card(number):
    """Another card for each number."""
    return deck.Card.model_validate_json(json.dumps(bad_cards.CARD | {"start": _start(number)}))


def _start(number):
    """A start with other discs on the first rank for each number."""
    row = "".join("XO-"[number // 3**place % 3] for place in range(8))
    return row + "-------------------OX------XO--------------------------- X"


_ADDS = """
import json, pathlib, sys
from azo.coach import deck
kept = deck.Deck(pathlib.Path(sys.argv[1]))
for text in sys.stdin.read().splitlines():
    kept.add([deck.Card.model_validate_json(text)])
"""
_REVIEWS = """
import pathlib, sys
from azo.coach import deck
kept = deck.Deck(pathlib.Path(sys.argv[1]))
cards, times = kept.cards(), sys.argv[2:]
for time in times:
    for card in cards:
        kept.review(card, float(time), is_solved=True)
"""


def _start_process(code, *arguments, text=""):
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdin=subprocess.PIPE, text=True
    )
    process.stdin.write(text)
    process.stdin.close()
    return process


@pytest.mark.thorough
@pytest.mark.parametrize("is_link", [False, True])
def test_processes_that_change_one_deck_lose_no_card(tmp_path, is_link):
    path = tmp_path / "deck.json"
    paths = [path] * 4
    if is_link:
        path.write_text("[]")
        path.chmod(0o640)
        paths = [tmp_path / f"link{number}.json" for number in range(4)]
        for link in paths:
            link.symlink_to(path)
    parts = [[_card(50 * number + at) for at in range(50)] for number in range(4)]
    processes = [
        _start_process(
            _ADDS, link, text="\n".join(card.model_dump_json(by_alias=True) for card in part)
        )
        for link, part in zip(paths, parts, strict=True)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    assert {card.name for card in deck.read(path)} == {c.name for part in parts for c in part}
    assert all(link.is_symlink() for link in paths) == is_link


def test_of_reviews_in_two_processes_the_latest_counts(tmp_path):
    path = tmp_path / "deck.json"
    deck.Deck(path).add([_card(number) for number in range(10)])
    day = deck.DAY
    start = bad_cards.NEWEST
    processes = [
        _start_process(_REVIEWS, path, *(start + day * (2 * step + number) for step in range(5)))
        for number in range(2)
    ]
    assert [process.wait() for process in processes] == [0, 0]
    cards = deck.read(path)
    assert len(cards) == 10
    assert {card.last for card in cards} == {start + 9 * day}


def test_a_loaded_deck_brings_its_later_reviews(path, tmp_path):
    later = bad_cards.CARD | {"memory": bad_cards.MEMORY}
    out, (card,) = _taken(path, tmp_path, json.dumps(later))
    assert "0 of 1 position is new, 1 has a later review" in out
    assert card.last == bad_cards.MEMORY["last"]
    earlier = later | {"memory": bad_cards.MEMORY | {"last": 5, "due": 6}}
    out, (card,) = _taken(path, tmp_path, json.dumps(earlier))
    assert card.last == bad_cards.MEMORY["last"]


def test_reviews_never_leave_what_can_be_read(tmp_path):
    path = tmp_path / "deck.json"
    for stability, difficulty in ((1e6, 1), (0.001, 10), (1e6, 10)):
        memory = {"stability": stability, "difficulty": difficulty, "last": 0, "due": 0}
        path.write_text(json.dumps([bad_cards.CARD | {"memory": memory}]))
        now = float(bad_cards.NEWEST)
        for is_solved in (True, False, True, True):
            (card,) = deck.read(path)
            now = max(now, deck.Deck(path).review(card, now, is_solved=is_solved))
        assert deck.read(path)[0].memory.stability <= 1e6


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_damaged_deck_in_a_folder_that_cannot_be_written_gets_one_line(path):
    path.write_text("[")
    path.parent.chmod(0o500)
    assert "cannot write here" in _practised(path, "practise")
    path.parent.chmod(0o700)
