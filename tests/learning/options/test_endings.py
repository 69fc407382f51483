"""Solved endings: their lines against a plain minimax, self-play that ends in them, the buffer."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games, tiny_run
from support.builders.random_games import signed_squares
from support.fakes import fake_evaluation
from support.references import slow_minimax

from azo.games import othello
from azo.learning import initial_games, replay, selfplay, statistics, targets, trajectories
from azo.learning.options import endings, interface, registry, resignation
from azo.search import improvement

FOUR = othello.Othello(4)
EMPTIES = 6


@functools.partial(jax.jit, static_argnums=(0, 4))
def solve(game, key, position, is_wanted, max_empties=EMPTIES):
    return endings.solve(game, key, position, is_wanted, max_empties=max_empties)


@functools.cache
def lines_of(game):
    """Returns endings of random games, some of them selected, and their lines."""
    position = jax.tree.map(lambda word: word[:64], random_games.late(game, EMPTIES))
    is_wanted = np.arange(64) % 8 != 5
    lines = jax.device_get(solve(game, jax.random.key(1), position, jnp.asarray(is_wanted)))
    return position, is_wanted, lines


@pytest.mark.thorough
@pytest.mark.parametrize("is_reversed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lines_hold_exact_results_and_all_best_moves_down_to_the_end(is_reversed):
    game = othello.Othello(4, is_reversed)
    position, is_wanted, lines = lines_of(game)
    begin = signed_squares(position, 4)
    row_boards = signed_squares(game.unpack(jnp.asarray(lines.board)), 4)
    ends = signed_squares(game.unpack(jnp.asarray(lines.end)), 4)
    utility = -1 if is_reversed else 1

    k, m = np.nonzero(lines.is_valid)
    assert len(k) > 100
    assert not lines.is_valid[:, ~is_wanted].any()
    np.testing.assert_array_equal(ends[~is_wanted], begin[~is_wanted])

    score = slow_minimax.scores(row_boards[k, m], is_reversed=is_reversed)
    np.testing.assert_array_equal(lines.score[k, m], utility * score)
    moves = slow_minimax.move_scores(row_boards[k, m], is_reversed=is_reversed)
    np.testing.assert_array_equal(lines.policy[k, m, :-1], 255 * (moves == score[:, None]))
    np.testing.assert_array_equal(lines.policy[k, m, -1], 0)

    num_passes = 0
    for one in np.flatnonzero(is_wanted):
        rows = np.flatnonzero(lines.is_valid[:, one])
        np.testing.assert_array_equal(rows, np.arange(len(rows)))
        sign, board = 1, begin[one]
        for row in rows:
            if not slow_minimax.can_play(board[None])[0]:
                sign, board, num_passes = -sign, -board, num_passes + 1
            np.testing.assert_array_equal(row_boards[row, one], board)
            best = np.flatnonzero(lines.policy[row, one, :-1])
            after = [slow_minimax.play(board[None], *divmod(a, 4))[1][0] for a in best]
            following = row_boards[row + 1, one] if row + 1 < len(rows) else sign * -ends[one]
            # A pass turns the board around before it is listed.
            played = [x for x in after if (x == following).all() or (x == -following).all()]
            assert played, (one, row)
            sign, board = -sign, played[0]
        assert not slow_minimax.can_play(np.stack([board, -board])).any()
        np.testing.assert_array_equal(ends[one], sign * board)
    assert num_passes > 0


@pytest.mark.thorough
def test_among_best_moves_each_is_played_by_some_line():
    position, _, lines = lines_of(FOUR)
    several = (lines.policy[0] > 0).sum(axis=-1) > 1
    one = np.flatnonzero(several & lines.is_valid[0])[0]
    many = jax.tree.map(lambda word: jnp.repeat(jnp.asarray(word)[one][None], 40), position)
    figures = jax.device_get(solve(FOUR, jax.random.key(2), many, jnp.ones(40, bool)))
    followers = {figures.board[1, i].tobytes() for i in range(40)}
    assert len(followers) == (lines.policy[0, one] > 0).sum()


@functools.cache
def adjudicated_games():
    """Returns games on 4x4 adjudicated at five empty squares, with their labels and statistics."""
    recipe = tiny_run.settings(
        game={"name": "othello", "size": 4},
        selfplay={"num_games": 16, "num_plies": 20, "max_opening_plies": 12},
        replay={"capacity": 4096},
        resignation={"is_enabled": True, "played_out_share": 1.0},
        endings={"adjudicate_empties": 5},
    )
    options = registry.active(FOUR, recipe)

    @jax.jit
    def play(key):
        games = initial_games.spread_games(FOUR, key, 16, options=options)
        games = games.replace(options=interface.begin_games(options, key, 16))
        after, played, records = selfplay.play(
            FOUR,
            fake_evaluation.hashed(FOUR),
            key,
            games,
            {"resignation": resignation.init_counts()},
            search=improvement.SearchConfig(
                num_simulations=4, gumbel={"max_considered_actions": 4}
            ),
            config=recipe.selfplay,
            options=options,
        )
        history = trajectories.empty_history(FOUR, 16)
        window, labels, _ = targets.label(recipe.targets, history, played)
        figures = statistics.gather(played, records["search"], window, labels)
        lines = records["adjudication"]
        buffer = replay.empty_buffer(FOUR, 4096)
        rows = endings.exact_rows(
            FOUR, lines, score_share=0.25, iteration=jnp.int32(3), actor_version=jnp.int32(2)
        )
        buffer = replay.insert(buffer, rows)
        return games, after, played, lines, figures, buffer

    return jax.device_get(play(jax.random.key(5)))


@pytest.mark.slow
def test_positions_inside_the_solved_range_are_never_searched():
    begin, after, played, *_ = adjudicated_games()
    searched = FOUR.unpack(jnp.asarray(played.board))
    for position in (begin.position, searched, after.position):
        assert (signed_squares(position, 4) == 0).sum(axis=(-2, -1)).min() == 6
    # Openings stop before they would be adjudicated, however long they are meant to be.
    is_first = np.concatenate([played.discount[:-1] == 0])
    assert played.ply[1:][is_first].max() >= 5


@pytest.mark.thorough
def test_adjudicated_games_end_with_the_exact_result():
    _, _, plies, _, figures, _ = adjudicated_games()
    position = FOUR.unpack(jnp.asarray(plies.board))
    last = jax.device_get(FOUR.play(position, jnp.asarray(plies.action, jnp.int32)))
    after = signed_squares(last, 4)
    begins = (plies.discount == 0) & ~np.asarray(FOUR.is_over(jax.tree.map(jnp.asarray, last)))
    assert begins.sum() > 30
    is_end = plies.discount == 0
    assert (is_end & ~begins).any()  # the board of a wiped-out side can have more empty squares
    score = slow_minimax.scores(after[begins], is_reversed=False)
    np.testing.assert_array_equal(plies.reward[begins], -np.sign(score))
    np.testing.assert_array_equal(plies.score[begins], -score)
    assert {-1, 0, 1} == set(plies.reward[begins])

    described = statistics.describe(figures)
    assert described["selfplay/resigned_share"] == 0
    assert figures.num_games == is_end.sum()


@pytest.mark.thorough
def test_solved_positions_enter_the_ring():
    _, _, _, lines, *_, buffer = adjudicated_games()
    k, m = np.nonzero(lines.is_valid)
    size = int(buffer.size[0])
    assert size == len(k)
    np.testing.assert_array_equal(buffer.board[:size], lines.board[k, m])
    score = lines.score[k, m]
    np.testing.assert_array_equal(buffer.score[:size], score)
    value = 0.75 * np.sign(score) + 0.25 * score / 16
    np.testing.assert_allclose(buffer.value[:size], value, rtol=1e-3)  # 16 bits
    np.testing.assert_array_equal(buffer.policy[:size], lines.policy[k, m])
    assert set(buffer.iteration[:size]) == {3}
    assert set(buffer.actor_version[:size]) == {2}


def test_random_endings_have_the_requested_empty_squares():
    game = othello.Othello(6)
    config = endings.EndingsConfig(num_positions=300, min_empties=5, max_empties=9)
    draw = jax.jit(endings.random_endings, static_argnums=(0, 2, 3))
    position, is_found = jax.device_get(draw(game, jax.random.key(0), 300, config))
    boards = signed_squares(position, 6)[is_found]
    num_empties = (boards == 0).sum(axis=(-2, -1))
    assert set(num_empties) == {5, 6, 7, 8, 9}
    assert np.bincount(num_empties)[5:].min() > 30  # of 60 expected
    assert is_found.mean() > 0.9
    assert (slow_minimax.can_play(boards) | slow_minimax.can_play(-boards)).all()
    assert (boards[:, 2:4, 2:4] != 0).all()
    share = (boards == 1).sum() / (boards != 0).sum()
    assert 0.4 < share < 0.6


def test_settings_that_cannot_be_solved_are_refused():
    def refused(match, **sections):
        with pytest.raises(ValueError, match=match):
            tiny_run.settings(**sections)

    refused("should be 0: tictactoe has no solver", endings={"adjudicate_empties": 2})
    refused("should be 0: tictactoe has no solver", endings={"num_positions": 8, "max_empties": 5})
    four = {"name": "othello", "size": 4}
    refused("at most 11", game=four, endings={"adjudicate_empties": 12})
    refused("more than max_empties, 5", game=four, endings={"min_empties": 6, "max_empties": 5})
    generation = {"num_games": 8}
    solving = {"num_positions": 8, "max_empties": 8}
    refused("replaces self-play", game=four, endings=solving, generation=generation)
    refused("raise it to 800", game=four, endings={"num_positions": 100, "max_empties": 8})
    split = {"num_positions": 9, "max_empties": 8}
    refused("should be a multiple of 2", game=four, endings=split, run={"num_devices": 2})
