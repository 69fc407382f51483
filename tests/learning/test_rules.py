"""Playout cap and explored positions; the tests of endings and resignation have the other rules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import fake_evaluation, tictactoe_games

from azo.learning import selfplay
from azo.search import explored, improvement


def test_with_a_playout_cap_a_share_of_plies_is_searched_in_full_and_only_they_teach():
    evaluated = []

    def counting(key, position):
        # Every call adds its number of positions.
        num_positions = position.player.size
        jax.debug.callback(lambda: evaluated.append(num_positions))
        return fake_evaluation.hashed(tictactoe_games.GAME)(key, position)

    num_plies, share = 400, 0.25
    played = tictactoe_games.play(
        jax.random.key(0),
        counting,
        improvement.SearchConfig(num_simulations=12, max_considered_actions=4),
        selfplay.SelfplayConfig(
            num_games=2, num_plies=num_plies, full_search_share=share, fast_simulations=3
        ),
    )
    jax.effects_barrier()
    is_full = np.asarray(played.plies.is_example)
    np.testing.assert_array_equal(is_full[:, 0], is_full[:, 1])
    num_full = int(is_full[:, 0].sum())
    # Five standard deviations of the binomial distribution.
    assert abs(num_full - share * num_plies) < 5 * np.sqrt(num_plies * share * (1 - share))
    counted = np.asarray(played.predictions.num_evaluations)
    np.testing.assert_array_equal(counted, np.where(is_full[:, 0], 13, 4))
    assert sum(evaluated) == 2 * counted.sum() == 2 * (13 * num_full + 4 * (num_plies - num_full))


@pytest.mark.slow
def test_as_many_explored_positions_are_found_as_are_played():
    search = improvement.SearchConfig(algorithm="puct", num_simulations=16, c_puct=1.0)
    config = selfplay.SelfplayConfig(num_games=8, num_plies=3, explored_share=1.0)
    evaluate = fake_evaluation.hashed(tictactoe_games.GAME)
    played = tictactoe_games.play(jax.random.key(0), evaluate, search, config)
    assert played.explored.value.shape == played.plies.value.shape
    assert np.asarray(played.explored.is_valid).all()
    # They come from the trees of the first ply.
    search_key, *_ = jax.random.split(jax.random.split(jax.random.key(0), 3)[0], 3)

    @jax.jit
    def by_hand():
        start = tictactoe_games.GAME.start(8)
        output = improvement.search(
            tictactoe_games.GAME,
            evaluate,
            search_key,
            start,
            config=search,
            ply=jnp.zeros(8, jnp.int32),
        )
        return output.action, explored.most_visited(
            tictactoe_games.GAME, output.tree, output.action, 8
        )

    action, expected = by_hand()
    np.testing.assert_array_equal(played.plies.action[0], action)
    first = jax.tree.map(lambda x: x[0], played.explored)
    jax.tree.map(np.testing.assert_array_equal, first, expected)


@pytest.mark.slow
def test_fast_plies_give_no_explored_positions():
    config = selfplay.SelfplayConfig(
        num_games=8, num_plies=6, full_search_share=0.5, fast_simulations=8, explored_share=1.0
    )
    search = improvement.SearchConfig(algorithm="puct", num_simulations=16, c_puct=1.0)
    played = tictactoe_games.play(
        jax.random.key(2), fake_evaluation.hashed(tictactoe_games.GAME), search, config
    )
    is_full = np.asarray(played.plies.is_example).all(axis=1)
    assert 0 < is_full.sum() < 6
    assert not np.asarray(played.explored.is_valid)[~is_full].any()
    assert np.asarray(played.explored.is_valid)[is_full].any(axis=1).all()
