"""The batched solver against a plain minimax, published values, and cases worked by hand."""

import functools

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from support import random_games, slow_minimax

from azo.games import notation, othello, replaying
from azo.solver.device import batched

SIX = othello.Othello(6)
EIGHT = othello.Othello(8)
# Joel Feinstein's perfect game on 6x6, https://www.maths.nottingham.ac.uk/plp/pmzjff/Othello/
# 6x6sol.html: white wins 20-16.
FEINSTEIN = (
    "c2 b4 c5 d2 e4 e3 d1 c1 b1 d5 d6 f4 b3 b2 f3 f2"
    " e2 b6 a4 c6 a6 a2 b5 a5 e6 e5 a3 a1 f5 f6 e1 f1"
)

solve = jax.jit(batched.solve, static_argnums=0, static_argnames=("max_empties", "num_lanes"))


def filled_boards(size, counts, seed):
    """Returns a board of random discs for each number of empty squares; most are unreachable."""
    rng = np.random.default_rng(seed)
    boards = np.where(rng.random((len(counts), size * size)) < 0.5, 1, -1).astype(np.int8)
    for board, count in zip(boards, counts, strict=True):
        board[rng.choice(size * size, count, replace=False)] = 0
    return boards.reshape(-1, size, size)


def to_position(boards):
    return othello.Position(
        random_games.from_squares(boards == 1), random_games.from_squares(boards == -1)
    )


def from_position(position, size):
    player, opponent = (
        random_games.to_squares(board, size) for board in (position.player, position.opponent)
    )
    return player.astype(np.int8) - opponent.astype(np.int8)


def board(text):
    rows = [["-OX".index(square) for square in row] for row in text.split("/")]
    return np.array([[[0, -1, 1][square] for square in row] for row in rows], np.int8)


@functools.cache
def eight_boards():
    boards = filled_boards(8, np.arange(48) % 8, seed=1)
    return boards, slow_minimax.scores(boards, is_reversed=False)


def solve_eight(**settings):
    settings = {"max_empties": 7, "num_lanes": 16} | settings
    return solve(EIGHT, to_position(eight_boards()[0]), **settings)


@pytest.mark.slow
def test_scores_are_those_of_minimax():
    _, scores = eight_boards()
    solution = solve_eight()
    np.testing.assert_array_equal(solution.score, scores)
    assert solution.is_solved.all()


@pytest.mark.slow
def test_the_number_of_lanes_changes_nothing():
    solution = solve_eight()
    few_lanes = solve_eight(num_lanes=3)
    jax.tree.map(np.testing.assert_array_equal, few_lanes, solution)


def test_a_position_with_too_many_empty_squares_is_unsolved_without_a_search():
    boards = eight_boards()[0].copy()
    is_large = np.arange(len(boards)) % 2 == 0
    boards[is_large, :2] = 0
    solution = solve(EIGHT, to_position(boards), max_empties=7, num_lanes=16)
    np.testing.assert_array_equal(solution.is_solved, ~is_large)
    assert not solution.nodes[is_large].any()
    assert not solution.score[is_large].any()


@pytest.mark.slow
def test_every_move_has_its_score_in_reversed_othello():
    game = othello.Othello(6, is_reversed=True)
    boards = filled_boards(6, np.arange(32) % 8, seed=2)
    solution = solve(game, to_position(boards), max_empties=7, num_lanes=16)
    scores = slow_minimax.scores(boards, is_reversed=True)
    by_move = slow_minimax.move_scores(boards, is_reversed=True)
    must_pass = ~slow_minimax.can_play(boards)
    passing = np.where(must_pass, scores, batched.NO_SCORE)
    assert solution.is_solved.all()
    np.testing.assert_array_equal(
        solution.move_score, np.concatenate([by_move, passing[:, None]], axis=1)
    )
    np.testing.assert_array_equal(solution.score, scores)
    assert must_pass.sum() > 3


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
    game = othello.Othello(4)
    boards = np.stack([board(text) for text in cases])
    solution = solve(game, to_position(boards), max_empties=12, num_lanes=3)
    np.testing.assert_array_equal(solution.score, list(cases.values()))


@pytest.mark.parametrize(("is_reversed", "score"), [(False, -10), (True, -4)])
def test_four_by_four_is_solved_from_its_start(is_reversed, score):
    """A full minimax gives 3-11 with two empty squares; in reversed Othello 6-10."""
    game = othello.Othello(4, is_reversed)
    solution = solve(game, game.start(5), max_empties=12, num_lanes=3)
    assert solution.score.tolist() == [score] * 5
    assert solution.is_solved.all()


@pytest.mark.slow
def test_perfect_game_on_six_by_six_keeps_its_value_to_the_end():
    positions = [SIX.start()]
    for move in FEINSTEIN.split():
        if not replaying.legal_actions(SIX, positions[-1])[0] < SIX.pass_action:
            positions.append(SIX.play(positions[-1], np.int32(SIX.pass_action)))
        positions.append(SIX.play(positions[-1], np.int32(notation.parse_action(move, 6))))
    is_white = np.arange(len(positions)) % 2 == 1
    ending = jax.tree.map(lambda *words: np.stack(words), *positions[-12:])
    solution = solve(SIX, ending, max_empties=10, num_lanes=12)
    assert solution.is_solved.sum() >= 10
    scores = np.where(is_white[-12:], 4, -4)
    np.testing.assert_array_equal(solution.score, np.where(solution.is_solved, scores, 0))


@pytest.mark.slow
def test_each_device_solves_its_share_inside_a_scan():
    game = othello.Othello(4)
    position = to_position(filled_boards(4, np.arange(24) % 9, seed=3).reshape(24, 4, 4))
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
    boards = from_position(position, 4)
    np.testing.assert_array_equal(scores[0], slow_minimax.scores(boards, is_reversed=False))


@pytest.mark.slow
def test_every_listed_move_of_the_shallow_ffo_positions(data_folder):
    lines = (data_folder / "endgame" / "ffo.obf").read_text().splitlines()
    lines = [line for line in lines if line.split()[0].count("-") <= 14]
    boards, listed = [], np.full((len(lines), 65), batched.NO_SCORE)
    for row, line in zip(listed, lines, strict=True):
        text, *moves = line.split("%")[0].split(";")
        squares, mover = text.split()
        signs = {"-": 0, mover: 1}
        boards.append(np.array([signs.get(square, -1) for square in squares]).reshape(8, 8))
        for move in filter(str.strip, moves):
            square, score = move.split(":")
            row[notation.parse_action(square.strip().lower(), 8)] = int(score)
    solution = solve(
        EIGHT,
        to_position(np.stack(boards)),
        max_empties=14,
        num_lanes=64,
    )
    assert len(lines) >= 6
    assert solution.is_solved.all()
    np.testing.assert_array_equal(solution.move_score, listed)
    np.testing.assert_array_equal(solution.score, listed.max(axis=1))
