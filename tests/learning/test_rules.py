"""Explored positions; the tests of endings and resignation have the other rules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import fake_evaluation, tictactoe_games

from azo.learning import selfplay
from azo.search import explored, improvement


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
