import functools
import itertools

import numpy as np
import pytest
from support.drivers import refusals
from support.references import slow_minimax

from azo.formats import obf
from azo.games import notation, othello
from azo.games.host import live_game
from azo.solver.host import endgame

_FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"


@functools.cache
def _solved(size, is_reversed):
    """Returns boards with their scores and those of their legal discs, by plain minimax.

    The search uses its table from 8 empty squares on, and `last_squares` alone below.
    """
    most = {4: 9, 6: 5, 8: 5}[size]
    boards = slow_minimax.random_boards(size, np.arange(8 * (most + 1)) // 8, seed=1)
    own = slow_minimax.scores(boards, is_reversed=is_reversed).tolist()
    rows = slow_minimax.move_scores(boards, is_reversed=is_reversed).tolist()
    moves = [{action: x for action, x in enumerate(row) if x > -1000} for row in rows]
    return list(zip(boards, own, moves, strict=True))


_every_variant = pytest.mark.parametrize(
    ("size", "is_reversed"), list(itertools.product((4, 6, 8), (False, True)))
)


def _words(board):
    """Returns the two sides of a board of `slow_minimax` as integers."""
    words = {1: 0, -1: 0, 0: 0}
    for (row, column), disc in np.ndenumerate(board):
        words[int(disc)] |= 1 << (8 * row + column)
    return words[1], words[-1]


def _read(text, size=8):
    board = notation.parse_board(text, size)
    return board.player, board.opponent


@pytest.mark.thorough
@_every_variant
def test_scores_results_and_early_ends_are_those_of_plain_minimax(size, is_reversed):
    """With few empty squares each win is an early end."""
    solver = endgame.Solver(size, is_reversed=is_reversed)
    sign, num_open, num_won = -1 if is_reversed else 1, 0, 0
    for board, score, scores in _solved(size, is_reversed):
        exact = solver.solve(*_words(board), every_move=True)
        result = solver.solve(*_words(board), result_only=True)
        early = solver.find_early_win(*_words(board), 10_000_000)
        assert exact.score == score
        if scores:
            assert exact.move_scores == scores
            assert scores[exact.best_move] == score
        elif exact.best_move is not None:
            assert exact.move_scores == {size * size: score}
        bounds = sorted((sign * result.lower, sign * result.upper))
        assert np.sign(bounds).tolist() == [sign * np.sign(score)] * 2
        num_open += not result.is_solved
        won = {action for action, each in scores.items() if sign * each > 0}
        assert (early.best_move in won) == bool(won)
        if won:
            assert sign * scores[result.best_move] >= bounds[0] > 0
            assert early.lower <= scores[early.best_move] <= early.upper
            num_won += 1
    assert num_open
    assert num_won > 10


def test_the_first_ffo_positions_have_the_published_scores_and_moves(data_folder):
    solver, path = endgame.Solver(), data_folder / "endgame" / "ffo.obf"
    for problem in obf.parse_lines(path.read_text().splitlines()[:19], path.name):
        solution = solver.solve(problem.board.player, problem.board.opponent)
        assert solution.score == problem.best_score()
        assert problem.move_scores[solution.best_move] == problem.best_score()


def test_pausing_changes_nothing(monkeypatch):
    whole = endgame.Solver().solve(*_read(_FFO_1))
    monkeypatch.setattr(endgame, "_SLICE_NODES", 500)
    sliced = endgame.Solver().solve(*_read(_FFO_1))
    assert (sliced.score, sliced.best_move) == (18, whole.best_move)
    assert sliced.num_nodes == whole.num_nodes


def test_any_guess_leads_to_the_score_the_right_one_sooner_and_the_result_alone_still_sooner():
    solver = endgame.Solver()
    solutions = {
        guess: solver.solve(*_read(_FFO_1), guess=guess) for guess in (-64, -7, 0, 17, 18, 64)
    }
    assert {solution.score for solution in solutions.values()} == {18}
    assert solutions[18].num_nodes < solutions[0].num_nodes
    result = solver.solve(*_read(_FFO_1), result_only=True)
    assert 0 < result.lower <= 18 <= result.upper
    assert result.num_nodes < solutions[0].num_nodes / 2


def test_a_kept_table_saves_nodes_along_the_best_line():
    kept, fresh, live = endgame.Solver(), endgame.Solver(), live_game.LiveGame(othello.Othello())
    live.new_game(notation.parse_board(_FFO_1, 8))
    num_kept = num_fresh = 0
    solution, score = kept.solve(*_read(_FFO_1)), 18
    while solution.best_move is not None:
        live.play(solution.best_move)
        words, score = (live.board.player, live.board.opponent), -score
        solution = kept.solve(*words, guess=score, keeps_table=True)
        assert solution.score == score
        num_kept += solution.num_nodes
        num_fresh += fresh.solve(*words).num_nodes
    assert num_kept < num_fresh / 4


@pytest.mark.parametrize("max_nodes", [1, 500, 5_000, 15_000])
def test_too_few_nodes_leave_the_score_between_bounds(max_nodes):
    solution = endgame.Solver().solve(*_read(_FFO_1), every_move=True, max_nodes=max_nodes)
    assert not solution.is_solved
    assert solution.lower <= 18 <= solution.upper
    assert solution.move_scores == {}
    assert max_nodes <= solution.num_nodes < max_nodes + 5_000
    with pytest.raises(ValueError) as error:
        _ = solution.score
    assert str(error.value) == (f"unsolved: the score is from {solution.lower} to {solution.upper}")


def test_without_time_nothing_is_proved():
    solution = endgame.Solver().solve(*_read(_FFO_1), max_seconds=1e-9)
    assert (solution.lower, solution.upper, solution.best_move) == (-64, 64, None)


@pytest.mark.parametrize(
    ("size", "player", "opponent", "message"),
    [
        (8, 0b111, 0b100, "impossible board: both sides have a disc on c1"),
        (6, 1 << 6, 1, "impossible board: a disc lies outside of 6x6 squares"),
        (5, 1, 2, "board size is 5, but should be 4, 6 or 8"),
    ],
)
def test_impossible_boards_are_refused(size, player, opponent, message):
    assert refusals.message_of(lambda: endgame.Solver(size).solve(player, opponent)) == message


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("e6d6c7f5d3b8g6d2c5h7c6d7f6", "b6"),  # any reply, then a wipe-out
        ("d3c5d6c7e6e3e2f6c4e1c6", "c3"),
        ("e6d6c7f5d3b8g6d2c5h7c6d7", None),
    ],
)
def test_few_nodes_find_a_wipe_out_with_many_empty_squares(game, expected):
    """Games lost to greedy: few nodes of the solver alone prove nothing in them."""
    board = live_game.replay(game, othello.Othello()).board
    words = board.player, board.opponent
    solver = endgame.Solver()
    solution = solver.find_early_win(*words, 100_000)
    move = None if solution.best_move is None else notation.action_text(solution.best_move, 8)
    assert (move, solution.lower > 0) == (expected, expected is not None)
    assert not solver.solve(*words, result_only=True, max_nodes=100_000).lower > 0
