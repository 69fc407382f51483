"""Tic-tac-toe against a plain Python version, on every position there is."""

import jax
import jax.numpy as jnp
import numpy as np
from support.references import slow_tictactoe

from azo.games import tictactoe

_GAME = tictactoe.TicTacToe()
_BOARDS = slow_tictactoe.boards()
_UNDER_WAY = [board for board in _BOARDS if slow_tictactoe.result(board) is None]


def test_all_5478_positions_agree_with_plain_python():
    assert len(_BOARDS) == 5478
    position = slow_tictactoe.position(_BOARDS)
    legal = np.asarray(_GAME.legal_mask(position))
    over = np.asarray(_GAME.is_over(position))
    result = np.asarray(_GAME.result(position))
    for i, board in enumerate(_BOARDS):
        expected = slow_tictactoe.result(board)
        assert over[i] == (expected is not None), board
        free = [square == "-" or over[i] for square in board]
        np.testing.assert_array_equal(legal[i], free, board)
        assert result[i] == (expected or 0), board


def test_every_move_of_every_position_agrees_with_plain_python():
    pairs = [(board, s) for board in _UNDER_WAY for s in slow_tictactoe.legal_actions(board)]
    before = slow_tictactoe.position([board for board, _ in pairs])
    step = jax.jit(_GAME.step)(before, jnp.array([square for _, square in pairs]))
    after = [slow_tictactoe.play(board, square) for board, square in pairs]
    jax.tree.map(np.testing.assert_array_equal, step.position, slow_tictactoe.position(after))
    results = [slow_tictactoe.result(board) for board in after]
    np.testing.assert_array_equal(step.discount, [-1.0 if r is None else 0.0 for r in results])
    np.testing.assert_array_equal(step.reward, [-float(r or 0) for r in results])


def test_greedy_takes_every_win_and_else_a_legal_move():
    position = slow_tictactoe.position(_UNDER_WAY)
    action = np.asarray(jax.jit(_GAME.greedy_action)(jax.random.key(2), position))
    for board, square in zip(_UNDER_WAY, action, strict=True):
        legal = slow_tictactoe.legal_actions(board)
        assert square in legal, board
        wins = [s for s in legal if slow_tictactoe.result(slow_tictactoe.play(board, s)) == -1]
        assert not wins or square in wins, board
