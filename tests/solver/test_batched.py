"""The batched solver against a plain minimax, published values, and cases worked by hand."""

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from support.builders import random_games
from support.references import slow_minimax

from azo.games import bitboard, othello
from azo.solver.device import batched
from azo.solver.host import endgame

EIGHT = othello.Othello(8)
VARIANTS = [othello.Othello(size, is_reversed) for size in (4, 6, 8) for is_reversed in (0, 1)]
NUM_EMPTIES = (6, 7, 8, 9, 10)
NUM_POSITIONS = 34  # for each variant and number of empty squares: 1,020 in all
solve = jax.jit(batched.solve, static_argnums=0, static_argnames=("max_empties", "num_lanes"))


def to_position(boards):
    return othello.Position(
        random_games.from_squares(boards == 1), random_games.from_squares(boards == -1)
    )


def board(text):
    rows = [["-OX".index(square) for square in row] for row in text.split("/")]
    return np.array([[[0, -1, 1][square] for square in row] for row in rows], np.int8)


def solved_by_host(game, position):
    """Returns the host's solutions of positions `[M]`, with the scores of all moves."""
    solver = endgame.Solver(game.size, is_reversed=game.is_reversed)
    sides = map(bitboard.to_ints, (position.player, position.opponent))
    return [solver.solve(*board, every_move=True) for board in zip(*sides, strict=True)]


def test_a_position_with_too_many_empty_squares_is_unsolved_without_a_search():
    boards = slow_minimax.random_boards(8, np.arange(48) % 8, seed=1)
    is_large = np.arange(len(boards)) % 2 == 0
    boards[is_large, :2] = 0
    solution = solve(EIGHT, to_position(boards), max_empties=7, num_lanes=16)
    np.testing.assert_array_equal(solution.is_solved, ~is_large)
    assert not solution.nodes[is_large].any()
    assert not solution.score[is_large].any()
    expected = slow_minimax.scores(boards[~is_large], is_reversed=False)
    np.testing.assert_array_equal(solution.score[~is_large], expected)


def test_finished_games_forced_passes_and_wipe_outs_worked_by_hand():
    cases = {
        # Neither side can move: 9 discs against 6, and the empty square counts for the winner.
        "XOOX/OXOX/OOXX/XXX-": 4,
        # No disc can be flipped: the two empty squares count for the only side with discs.
        "XXXX/XXXX/XXXX/XX--": 16,
        "OOOO/OOOO/OOOO/OO--": -16,
        # The last disc flips two along the diagonal.
        "OOO-/OOOO/OOOO/XOOO": -8,
        # The side to move must pass; then the opponent takes the corner and flips the row.
        "OXX-/OOOO/OOOO/OOOO": -16,
    }
    game, scores = othello.Othello(4), list(cases.values())
    position = to_position(np.stack([board(text) for text in cases]))
    solution = solve(game, position, max_empties=12, num_lanes=3)
    np.testing.assert_array_equal(solution.score, scores)
    by_host = solved_by_host(game, position)
    assert [one.score for one in by_host] == scores
    assert [one.num_nodes > 0 for one in by_host] == [False, False, False, True, True]
    assert by_host[-1].move_scores == {by_host[-1].best_move: -16} == {game.pass_action: -16}


@pytest.mark.parametrize(("is_reversed", "score"), [(False, -10), (True, -4)])
def test_both_solvers_solve_four_by_four_from_its_start(is_reversed, score):
    """A full minimax gives 3-11 with two empty squares; in reversed Othello 6-10."""
    game = othello.Othello(4, is_reversed)
    solution = solve(game, game.start(5), max_empties=12, num_lanes=3)
    assert solution.score.tolist() == [score] * 5
    assert solution.is_solved.all()
    [by_host] = solved_by_host(game, game.start(1))
    assert (by_host.score, by_host.move_scores) == (score, dict.fromkeys([1, 4, 11, 14], score))


@pytest.mark.slow
def test_each_device_solves_its_share_inside_a_scan():
    game = othello.Othello(4)
    position = to_position(slow_minimax.random_boards(4, np.arange(24) % 9, seed=3))
    settings = {"max_empties": 8, "num_lanes": 4}

    def scan(position):
        def ply(position, _):
            solution = batched.solve(game, position, **settings)
            return game.play(position, solution.move_score.argmax(axis=1)), solution.score

        return jax.lax.scan(ply, position, length=2)[1]

    mesh = jax.make_mesh((2,), ("data",), (jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
    where = PartitionSpec("data")
    sharded = jax.shard_map(
        scan, mesh=mesh, in_specs=where, out_specs=PartitionSpec(None, "data"), check_vma=False
    )
    scores = jax.jit(sharded)(position)
    np.testing.assert_array_equal(scores[1], -scores[0])
    boards = random_games.signed_squares(position, 4)
    np.testing.assert_array_equal(scores[0], slow_minimax.scores(boards, is_reversed=False))


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
    parts = np.array_split(random_games.signed_squares(position, game.size), 10)
    return np.concatenate(
        [slow_minimax.scores(part, is_reversed=game.is_reversed) for part in parts]
    )


@pytest.mark.slow
@pytest.mark.parametrize("game", VARIANTS, ids=lambda game: game.name)
def test_both_solvers_and_plain_minimax_agree_on_positions_of_random_games(game):
    position = positions_of_random_games(game)
    scores = plain_scores(position, game)
    batch = solve(game, position, max_empties=10, num_lanes=64)
    assert batch.is_solved.all()
    np.testing.assert_array_equal(batch.score, scores)
    solved = solved_by_host(game, position)
    assert len(solved) == len(NUM_EMPTIES) * NUM_POSITIONS
    np.testing.assert_array_equal([one.score for one in solved], scores)
    for one, row in zip(solved, np.asarray(batch.move_score), strict=True):
        legal = np.flatnonzero(row != batched.NO_SCORE)
        assert one.move_scores == {int(action): int(row[action]) for action in legal}
