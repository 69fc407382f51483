"""Random games as evaluations: their results, their means, and searches with them."""

import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games, slow_board, slow_tictactoe

from azo.games import notation, othello, replaying, tictactoe
from azo.measure import players
from azo.search import improvement, rollouts

_TIC_TAC_TOE = tictactoe.TicTacToe()
_OTHELLO = othello.Othello(6)
# One random game is worth 1 or -1. At the default scale, made for a network's smoother values, a
# good move whose first game is lost may never be tried again below the root.
_GUMBEL = {"algorithm": "gumbel", "value_scale": 0.02}
_ONLY_MOVES = pathlib.Path(__file__).parents[1] / "data" / "only_move.txt"


@functools.partial(jax.jit, static_argnums=0)
def _random_result(game, key, position):
    return rollouts.random_result(game, key, position)


def _search(game, position, config):
    evaluate = rollouts.evaluator(game)
    search = functools.partial(improvement.search, game, evaluate, config=config, is_greedy=True)
    return jax.device_get(jax.jit(search)(jax.random.key(0), position))


def test_a_random_game_ends_with_a_result_that_its_position_allows():
    # Boards with one possible result give exactly that value.
    boards = slow_tictactoe.boards()
    position = slow_tictactoe.position(boards)
    value = np.asarray(_random_result(_TIC_TAC_TOE, jax.random.key(0), position))
    num_certain = 0
    for board, output in zip(boards, value, strict=True):
        possible = slow_tictactoe.possible_results(board)
        assert output in possible, board
        num_certain += len(possible) == 1 and slow_tictactoe.result(board) is None
    assert num_certain > 100


@pytest.mark.parametrize(
    "board", ["---------", "X--------", "X---O----", "XX-O-----", "XX--OO-X-", "XOX-O----"]
)
def test_the_mean_of_random_games_is_the_exact_expectation(board):
    position = slow_tictactoe.position([board] * 8192)
    value = np.asarray(_random_result(_TIC_TAC_TOE, jax.random.key(1), position))
    expected = slow_tictactoe.random_value(board)
    error = value.std() / np.sqrt(len(value))
    assert abs(value.mean() - expected) <= 4 * error, (value.mean(), expected, error)


@pytest.mark.slow
def test_passes_keep_the_point_of_view_in_othello():
    """Late positions of 4x4 games, where a good part of the games has passes to come."""
    game = othello.Othello(4)
    games = random_games.play(game, 128, seed=9)
    ply = np.maximum(games.is_over.argmax(axis=0) - 4, 0)
    position = jax.tree.map(lambda x: jnp.asarray(x[ply, np.arange(128)]), games.position)
    value = np.asarray(_random_result(game, jax.random.key(2), position))
    num_passes = num_certain = 0
    for text, output in zip(random_games.texts(position, 4), value, strict=True):
        board = slow_board.Board([list(text[row : row + 4]) for row in range(0, 16, 4)])
        possible, has_pass = _possible_results(board)
        assert output in possible, text
        num_certain += len(possible) == 1
        num_passes += has_pass
    assert num_certain > 20
    assert num_passes > 20


def _possible_results(board):
    """Returns the results that some continuation ends with, and whether any of them has a pass."""
    if slow_board.is_over(board):
        return {slow_board.result(board, is_reversed=False)}, False
    actions = slow_board.legal_actions(board)
    results, has_pass = set(), actions == [board.size**2]
    for action in actions:
        later, passes_later = _possible_results(slow_board.play(board, action))
        results |= {-value for value in later}
        has_pass |= passes_later
    return results, has_pass


def test_the_prior_of_random_games_is_uniform():
    evaluate = rollouts.evaluator(_TIC_TAC_TOE)
    evaluation = evaluate(jax.random.key(0), _TIC_TAC_TOE.start(3))
    np.testing.assert_array_equal(evaluation.prior_logits, np.zeros((3, 9)))
    assert evaluation.value.shape == (3,)


@pytest.mark.parametrize(
    "settings",
    [pytest.param({"algorithm": "puct"}, marks=pytest.mark.slow), _GUMBEL],
    ids=lambda s: s["algorithm"],
)
def test_search_finds_the_only_move_that_keeps_a_win_or_draw_in_tictactoe(settings):
    """All 294 boards with a single such move, up to symmetry."""
    only = slow_tictactoe.only_good_moves()
    values = [slow_tictactoe.best_value(board) for board in only]
    assert values.count(1) > 50
    assert values.count(0) > 50
    config = players.rollout_config(600).model_copy(update=settings)
    output = _search(_TIC_TAC_TOE, slow_tictactoe.position(list(only)), config)
    missed = [b for b, action in zip(only, output.action, strict=True) if only[b] != action]
    assert len(missed) <= 3, missed  # 0 to 2 for other keys


def _only_moves():
    """Returns texts of board and mover, and the actions that win."""
    lines = [line.rsplit(" ", 1) for line in _ONLY_MOVES.read_text().splitlines()]
    return [board for board, _ in lines], [notation.parse_action(move, 6) for _, move in lines]


def _can_win(board):
    if slow_board.is_over(board):
        return slow_board.result(board, is_reversed=False) == 1
    return any(_wins(board, action) for action in slow_board.legal_actions(board))


def _wins(board, action):
    """Returns whether a move wins against every reply."""
    after = slow_board.play(board, action)
    if slow_board.is_over(after):
        return slow_board.result(after, is_reversed=False) == -1
    replies = slow_board.legal_actions(after)
    return all(_can_win(slow_board.play(after, reply)) for reply in replies)


def test_the_only_moves_on_file_are_the_only_ones_that_win():
    for text, only_move in zip(*_only_moves(), strict=True):
        squares, mover = text.split()
        board = slow_board.Board([list(squares[row : row + 6]) for row in range(0, 36, 6)], mover)
        actions = slow_board.legal_actions(board)
        assert len(actions) >= 4, text
        assert [action for action in actions if _wins(board, action)] == [only_move], text


@pytest.mark.slow
def test_search_finds_the_only_winning_move_of_othello_endgames():
    texts, only_moves = _only_moves()
    boards = [notation.parse_board(text, 6) for text in texts]
    positions = [replaying.position_of(board) for board in boards]
    position = jax.tree.map(lambda *leaves: jnp.stack(leaves), *positions)
    output = _search(_OTHELLO, position, players.rollout_config(1000))
    missed = [t for t, a, m in zip(texts, output.action, only_moves, strict=True) if a != m]
    assert len(missed) <= 1, missed  # for other keys one with eight empty squares takes longer
