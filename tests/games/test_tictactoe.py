"""Tic-tac-toe against a plain Python version, on every position there is."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games

from azo.games import tictactoe

_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
_GAME = tictactoe.TicTacToe()


def _winner(board):
    lines = [{board[i] for i in line} for line in _LINES]
    return next((mark for mark in "XO" if {mark} in lines), None)


def _is_over(board):
    return _winner(board) is not None or "-" not in board


def _mover(board):
    return "X" if board.count("X") == board.count("O") else "O"


def _play(board, square):
    return board[:square] + _mover(board) + board[square + 1 :]


@functools.cache
def _num_ways():
    """Returns every reachable board with the number of ways to it, in order of plies."""
    ways = {"-" * 9: 1}
    level = ways
    while level:
        after = {}
        for board, count in level.items():
            for square in [] if _is_over(board) else range(9):
                if board[square] == "-":
                    child = _play(board, square)
                    after[child] = after.get(child, 0) + count
        ways = ways | after
        level = after
    return ways


def _marks(board, mark):
    return sum(1 << i for i in range(9) if board[i] == mark)


def _positions(boards):
    other = {"X": "O", "O": "X"}
    player = [_marks(b, _mover(b)) for b in boards]
    opponent = [_marks(b, other[_mover(b)]) for b in boards]
    return tictactoe.TicTacToePosition(
        jnp.array(player, jnp.uint32), jnp.array(opponent, jnp.uint32)
    )


def test_all_5478_positions_agree_with_plain_python():
    boards = list(_num_ways())
    assert len(boards) == 5478
    position = _positions(boards)
    legal = np.asarray(_GAME.legal_mask(position))
    over = np.asarray(_GAME.is_over(position))
    result = np.asarray(_GAME.result(position))
    for i, board in enumerate(boards):
        assert over[i] == _is_over(board), board
        free = [square == "-" or _is_over(board) for square in board]
        np.testing.assert_array_equal(legal[i], free, board)
        expected = 0 if _winner(board) is None else 1 if _winner(board) == _mover(board) else -1
        assert result[i] == expected, board


def test_every_move_of_every_position_agrees_with_plain_python():
    boards = [b for b in _num_ways() if not _is_over(b)]
    pairs = [(b, square) for b in boards for square in range(9) if b[square] == "-"]
    step = jax.jit(_GAME.step)(_positions([b for b, _ in pairs]), jnp.array([s for _, s in pairs]))
    after = [_play(b, square) for b, square in pairs]
    expected = _positions(after)
    np.testing.assert_array_equal(step.position.player, expected.player)
    np.testing.assert_array_equal(step.position.opponent, expected.opponent)
    np.testing.assert_array_equal(step.discount, [0.0 if _is_over(b) else -1.0 for b in after])
    np.testing.assert_array_equal(step.reward, [1.0 if _winner(b) else 0.0 for b in after])


def test_the_tree_has_255168_games_and_the_known_split_of_results():
    ends = {b: n for b, n in _num_ways().items() if _is_over(b)}
    position = _positions(list(ends))
    assert np.asarray(_GAME.is_over(position)).all()
    is_black = np.array([_mover(b) == "X" for b in ends])
    result = np.where(is_black, 1, -1) * np.asarray(_GAME.result(position))
    num_ways = np.array(list(ends.values()))
    games = [int(num_ways[result == r].sum()) for r in (1, -1, 0)]
    assert games == [131_184, 77_904, 46_080]
    assert sum(games) == 255_168
    assert [int((result == r).sum()) for r in (1, -1, 0)] == [626, 316, 16]


def test_random_games_are_legal_and_end_within_nine_plies():
    games = random_games.play(_GAME, 200, seed=1)
    assert games.is_over[-1].all()
    chosen = np.take_along_axis(games.legal, games.action[..., None], axis=-1)
    assert chosen.all()
    assert (np.count_nonzero(games.reward, axis=0) <= 1).all()


def test_a_finished_game_does_not_change():
    games = random_games.play(_GAME, 200, seed=1)
    last = jax.tree.map(lambda x: jnp.asarray(x[-1]), games.position)
    step = _GAME.step(last, jnp.zeros(200, jnp.int32))
    np.testing.assert_array_equal(step.position.player, last.player)
    np.testing.assert_array_equal(step.position.opponent, last.opponent)
    assert not np.asarray(step.reward).any()
    assert not np.asarray(step.discount).any()


def test_greedy_takes_every_win_and_else_a_legal_move():
    boards = [b for b in _num_ways() if not _is_over(b)]
    action = np.asarray(jax.jit(_GAME.greedy_action)(jax.random.key(2), _positions(boards)))
    for board, square in zip(boards, action, strict=True):
        assert board[square] == "-", board
        wins = [s for s in range(9) if board[s] == "-" and _winner(_play(board, s))]
        assert not wins or square in wins, board


def test_packing_and_unpacking_gives_the_position_back():
    position = _positions(list(_num_ways())[:100])
    packed = _GAME.pack(position)
    assert packed.shape == (100, _GAME.packed_words)
    np.testing.assert_array_equal(_GAME.unpack(packed).opponent, position.opponent)


@pytest.mark.parametrize("k", range(8))
def test_results_do_not_change_under_the_symmetries(k):
    boards = list(_num_ways())
    permutation = _GAME.square_symmetries[k]
    moved = _positions(["".join(b[s] for s in permutation) for b in boards])
    np.testing.assert_array_equal(_GAME.result(moved), _GAME.result(_positions(boards)))
