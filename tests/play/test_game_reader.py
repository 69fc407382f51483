"""Games of the page: replayed, and read from pasted text."""

import time

import pytest
from support import slow_board, web_games

from azo.games import notation, othello
from azo.play.web import game_reader

_GGF = (
    "(;GM[Othello]PB[ann]PW[bob]TY[6]BO[6 ------ ------ --O*-- --*O-- ------ ------ *]"
    "B[C2/1.5]W[D2]B[E2];)"
)


@pytest.mark.parametrize("seed", range(5))
def test_a_replay_has_the_boards_and_legal_moves_of_the_rules(seed):
    boards, actions = web_games.random_game(6, seed=seed)
    played = game_reader.replay(othello.Othello(6), notation.transcript(actions, 6))
    assert list(played.actions) == actions  # forced passes were left out of the text
    for shown, board in zip(played.boards, boards, strict=True):
        assert notation.board_text(shown, 6) == f"{slow_board.text(board)} {board.mover}"
        legal = played.legal_actions_at(shown)
        assert list(legal) == ([] if slow_board.is_over(board) else slow_board.legal_actions(board))
    assert played.is_over
    black = slow_board.score(boards[-1]) * (1 if boards[-1].mover == "X" else -1)
    assert played.final_score() == black


@pytest.mark.parametrize(
    ("text", "moves", "note"),
    [
        ("c2d2e2", "c2d2e2", ""),
        ("1. C2 D2\n2. E2", "c2d2e2", ""),
        ("c2, d2; e2", "c2d2e2", ""),
        ("black: ann\nmoves: c2d2\nprinted_score: 3-3", "c2d2", ""),
        ("white: bob\nBlack: ann \nmoves: c2d2", "c2d2", "ann against bob"),
        (_GGF, "c2d2e2", "ann against bob"),
        (f"\ufeff{_GGF}\n{_GGF}", "c2d2e2", "ann against bob, the first of 2 games"),
    ],
)
def test_pasted_games_are_read(text, moves, note):
    game = othello.Othello(6)
    played, remark = game_reader.read(text, game, [game])
    assert notation.transcript(played.actions, 6) == moves
    assert played.has_usual_start
    assert remark == note


def test_a_pasted_board_says_its_size_and_who_is_to_move():
    offered = [othello.Othello(6), othello.Othello(4)]
    played, _ = game_reader.read("----\n-OX-\n-XX-\n----\nO", offered[0], offered)
    assert played.game == offered[1]
    assert not played.has_usual_start
    assert notation.board_text(played.boards[0], 4) == "-----OX--XX----- O"
    assert [notation.action_text(action, 4) for action in played.legal_actions] == [
        "d2",
        "b4",
        "d4",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "nothing to read: paste moves such as f5d6c3, a game in GGF, or a board"),
        ("hello", "cannot read 'hello' after 0 moves: squares are a1 to f6, a pass is 'pa'"),
        ("c2d2x9", "cannot read 'x9' after 2 moves: squares are a1 to f6, a pass is 'pa'"),
        ("c2 h8", "cannot read 'h8' after 1 moves: squares are a1 to f6, a pass is 'pa'"),
        ("a1", "move 1: illegal move a1: black may play c2 b3 e4 d5"),
        ("(;GM[Othello]", "GGF: text is '(;GM[Othello]', but should be (; ... ;)"),
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
        game_reader.read(text, game, [game])
    assert str(caught.value) == message


def test_hostile_text_is_read_in_linear_time():
    game = othello.Othello(6)
    texts = ["(;" * 30_000, "1." * 30_000, " " * 60_000 + "x", "--" * 30_000, "f5" * 30_000]
    start = time.perf_counter()
    for text in texts:
        with pytest.raises(ValueError):
            game_reader.read(text, game, [game])
    assert time.perf_counter() - start < 2
