"""Both solvers on large sets of positions, for minutes; smaller sets are in each solver's tests."""

import random

import jax
import numpy as np
import pytest
from support import random_games, slow_minimax

from azo.formats import obf
from azo.games import bitboard, othello
from azo.solver.device import batched
from azo.solver.host import endgame

VARIANTS = [othello.Othello(size, is_reversed) for size in (4, 6, 8) for is_reversed in (0, 1)]
NUM_EMPTIES = (6, 7, 8, 9, 10)
NUM_POSITIONS = 34  # for each variant and number of empty squares: 1,020 in all

solve = jax.jit(batched.solve, static_argnums=0, static_argnames=("max_empties", "num_lanes"))


def positions_of_random_games(game):
    """Returns unfinished positions `[170]`, one of a game for each number of empty squares."""
    seen = random_games.play(game, 100, seed=6)
    empties = game.size**2 - np.asarray((seen.position.player | seen.position.opponent).count())
    chosen = []
    for count in NUM_EMPTIES:
        plies, games = np.nonzero((empties == count) & ~seen.is_over)
        _, first = np.unique(games, return_index=True)
        chosen += list(zip(plies[first][:NUM_POSITIONS], games[first][:NUM_POSITIONS], strict=True))
    plies, games = np.array(chosen).T
    return jax.tree.map(lambda words: words[plies, games], seen.position)


def plain_scores(position, game):
    player, opponent = (
        random_games.to_squares(board, game.size) for board in (position.player, position.opponent)
    )
    parts = np.array_split(player.astype(np.int8) - opponent.astype(np.int8), 10)
    return np.concatenate(
        [slow_minimax.scores(part, is_reversed=game.is_reversed) for part in parts]
    )


def edax_positions(data_folder, num):
    """Returns positions with 20 empty squares, drawn from the file by a seed."""
    problems = obf.read(data_folder / "endgame" / "edax_full_20.obf.gz")
    return random.Random(20).sample(problems, num)


@pytest.mark.slow
@pytest.mark.parametrize("game", VARIANTS, ids=lambda game: game.name)
def test_both_solvers_and_plain_minimax_agree_on_positions_of_random_games(game):
    position = positions_of_random_games(game)
    scores = plain_scores(position, game)
    batch = solve(game, position, max_empties=10, num_lanes=64)
    assert batch.is_solved.all()
    np.testing.assert_array_equal(batch.score, scores)
    solver = endgame.Solver(game.size, is_reversed=game.is_reversed)
    boards = zip(
        bitboard.to_ints(position.player), bitboard.to_ints(position.opponent), strict=True
    )
    solved = [solver.solve(*board, every_move=True) for board in boards]
    assert len(solved) == len(NUM_EMPTIES) * NUM_POSITIONS
    np.testing.assert_array_equal([one.score for one in solved], scores)
    for one, row in zip(solved, np.asarray(batch.move_score), strict=True):
        legal = np.flatnonzero(row != batched.NO_SCORE)
        assert one.move_scores == {int(action): int(row[action]) for action in legal}


@pytest.mark.slow
def test_best_scores_of_100_edax_positions_with_20_empty_squares(data_folder):
    solver = endgame.Solver()
    for problem in edax_positions(data_folder, 100):
        solution = solver.solve(problem.board.player, problem.board.opponent)
        assert (problem.line, solution.score) == (problem.line, problem.best_score())
        assert problem.move_scores[solution.best_move] == problem.best_score()
        assert solution.is_solved
        assert solution.confidence == 1.0


@pytest.mark.slow
def test_every_move_of_20_edax_positions_with_20_empty_squares(data_folder):
    solver = endgame.Solver()
    for problem in edax_positions(data_folder, 20):
        solution = solver.solve(problem.board.player, problem.board.opponent, every_move=True)
        assert (problem.line, solution.move_scores) == (problem.line, problem.move_scores)
