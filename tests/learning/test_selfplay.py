"""Self-play, on the games of `flat_games`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import flat_games, tiny_run
from support.fakes import fake_evaluation

from azo.learning import initial_games, selfplay
from azo.learning.options import registry
from azo.search import improvement

GAME, NUM_GAMES, NUM_PLIES = flat_games.GAME, flat_games.NUM_GAMES, flat_games.NUM_PLIES


def packed(position):
    return np.asarray(GAME.pack(position))


@pytest.mark.thorough
def test_games_begin_spread_over_their_length_and_none_is_over():
    before, _, _ = flat_games.played()
    assert not np.asarray(GAME.is_over(before.position)).any()
    assert len(set(before.ply)) >= NUM_GAMES // 2
    assert before.ply.min() == 0
    # From four discs on, every ply adds one or is a pass.
    num_discs = np.asarray(GAME.planes(before.position)).sum(axis=(1, 2, 3))
    assert (num_discs <= 4 + before.ply).all()
    assert (num_discs >= 4 + before.ply - 3).all()


def test_every_recorded_position_leads_to_the_next_by_a_legal_move():
    _, after, plies = flat_games.played()
    board = np.concatenate([plies.board, packed(after.position)[None]])
    assert not np.asarray(GAME.is_over(GAME.unpack(jnp.asarray(board)))).any()
    start = packed(GAME.start())
    position = GAME.unpack(jnp.asarray(plies.board))
    legal = np.asarray(GAME.legal_mask(position))
    everywhere = jax.tree.map(lambda x: x[..., None], position)
    actions = jnp.broadcast_to(jnp.arange(GAME.num_actions), legal.shape)
    step = jax.jit(GAME.step)(everywhere, actions)
    child, over = packed(step.position), np.asarray(step.discount) == 0
    reward = np.asarray(step.reward)
    assert (plies.policy[~legal] == 0).all()
    assert (plies.policy.max(axis=-1) == 255).all()
    num_ends = 0
    for t, b in np.ndindex(NUM_PLIES, NUM_GAMES):
        moves = np.flatnonzero(legal[t, b])
        if plies.discount[t, b] == 0:
            last = [a for a in moves if over[t, b, a] and reward[t, b, a] == plies.reward[t, b]]
            assert last, (t, b)
            np.testing.assert_array_equal(board[t + 1, b], start)
            num_ends += 1
        else:
            assert any((child[t, b, a] == board[t + 1, b]).all() for a in moves), (t, b)
            assert plies.reward[t, b] == 0
    assert num_ends > NUM_GAMES


def test_plies_are_counted_from_the_start_of_each_game():
    before, after, plies = flat_games.played()
    ply = np.concatenate([plies.ply, after.ply[None]])
    np.testing.assert_array_equal(ply[0], before.ply)
    expected = np.where(plies.discount == 0, 0, ply[:-1] + 1)
    np.testing.assert_array_equal(ply[1:], expected)


@pytest.mark.slow
def test_as_many_explored_positions_are_found_as_plies_of_this_network_are_played():
    puct = improvement.PuctConfig(c_puct=1.0)
    search = improvement.SearchConfig(algorithm="puct", num_simulations=16, puct=puct)
    recipe = tiny_run.settings(selfplay={"num_games": 8, "num_plies": 3, "explored_share": 1.0})
    options = registry.active(GAME, recipe)
    evaluate = fake_evaluation.hashed(GAME)

    @jax.jit
    def play(key):
        games = initial_games.new_games(GAME, key, 8)
        origin = {"iteration": 6, "actor_version": 3}
        settings = {"search": search, "config": recipe.selfplay, "options": options}
        return selfplay.play(GAME, evaluate, key, games, **settings, **origin)[1:]

    plies, records = play(jax.random.key(0))
    positions = records["unplayed"]
    assert positions.value.shape == plies.value.shape
    assert np.asarray(positions.is_valid).all()
    assert (np.asarray(plies.iteration) == 6).all()
    assert (np.asarray(plies.actor_version) == 3).all()
    value = evaluate(None, GAME.unpack(plies.board)).value
    np.testing.assert_allclose(plies.raw_value, value, atol=1e-3)  # float16
