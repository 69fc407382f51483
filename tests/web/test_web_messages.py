"""Messages of the page: games that are read from pasted text."""

import time

import pytest
from support.references import slow_board

from azo.games import notation, othello
from azo.web import messages

_GGF = (
    "(;GM[Othello]PB[ann]PW[bob]TY[6]BO[6 ------ ------ --O*-- --*O-- ------ ------ *]"
    "B[C2/1.5]W[D2]B[E2];)"
)


@pytest.mark.parametrize("seed", range(5))
def test_forced_passes_that_a_text_leaves_out_are_added(seed):
    _, actions = slow_board.random_game(6, seed=seed)
    game = othello.Othello(6)
    read = messages.text_json(notation.transcript(actions, 6), game, [game])
    assert read["moves"] == [notation.action_text(action, 6) for action in actions]


@pytest.mark.parametrize(
    ("text", "moves", "players", "note"),
    [
        ("1. C2 D2\n2. E2", "c2d2e2", ("", ""), ""),
        ("black: ann\nmoves: c2d2\nprinted_score: 3-3", "c2d2", ("ann", ""), ""),
        (f"\ufeff{_GGF}\n{_GGF}", "c2d2e2", ("ann", "bob"), "game 1 of 2"),
        ("c2d2c2e2", "c2d2", ("", ""),
         "stopped at move 3: illegal move c2: black may play e1 e2 e3 e4 e5"),
        ("c2 d2 won!", "c2d2", ("", ""),
         "stopped: cannot read 'won!' after 2 moves: squares are a1 to f6, a pass is 'pa'"),
    ],
)  # fmt: skip
def test_games_are_read_up_to_what_is_no_move(text, moves, players, note):
    game = othello.Othello(6)
    read = messages.text_json(text, game, [game])
    assert "".join(read["moves"]) == moves
    assert read["start"] is None
    assert tuple(read["players"].values()) == players
    assert read["note"] == note


def test_each_game_of_a_text_can_be_read_by_its_number():
    game = othello.Othello(6)
    text = "c2d2e2\nb3b4a5\nd5"
    read = messages.text_json(text, game, [game], number=2)
    assert read["titles"] == ["c2 d2 e2", "b3 b4 a5", "d5"]
    assert (read["moves"], read["note"]) == (["b3", "b4", "a5"], "game 2 of 3")
    with pytest.raises(ValueError, match=r"^no game 4: there are 1 to 3$"):
        messages.text_json(text, game, [game], number=4)


def test_a_pasted_board_says_its_size_and_who_is_to_move():
    offered = [othello.Othello(6), othello.Othello(4)]
    read = messages.text_json("----\n-OX-\n-XX-\n----\nO", offered[0], offered)
    assert (read["game"], read["start"]) == ("othello4", "-----OX--XX----- O")
    assert read["moves"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://example.org/", "'https://example.org/' is not a link to a game of azo web"),
        ("a1", "move 1: illegal move a1: black may play c2 b3 e4 d5"),
        (
            "(;GM[Othello]BO[4 ---- -O*- -*O- ---- *];)",
            "no network for 4x4; there are networks for othello6",
        ),
        ("XXO", "a board of 3 squares: an 8x8 board has 64, then X or O for the side to move"),
    ],
)
def test_text_without_a_game_is_refused_with_a_reason(text, message):
    game = othello.Othello(6)
    with pytest.raises(ValueError) as caught:
        messages.text_json(text, game, [game])
    assert str(caught.value) == message


def test_hostile_text_is_read_in_linear_time():
    game = othello.Othello(6)
    texts = ["(;" * 30_000, "1." * 30_000, " " * 60_000 + "x", "--" * 30_000, "f5" * 30_000]
    texts += ["(;GM[2]" + "(" * 60_000, "(;GM[2]" + "[" * 60_000, '[a "' * 15_000, "f5{" * 20_000]
    texts += ["[" + " " * 60_000, "XO" * 30_000, "a:" * 30_000, "f5\n" * 20_000, "a://" * 15_000]
    start = time.perf_counter()
    for text in texts:
        with pytest.raises(ValueError):
            messages.text_json(text, game, [game])
    assert time.perf_counter() - start < 6  # quadratic time would be minutes
