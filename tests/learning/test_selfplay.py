"""Self-play, on the games of `flat_games`."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import fake_evaluation, flat_games

from azo.games import othello, tictactoe
from azo.learning import ply_records, selfplay
from azo.search import explored, improvement

GAME, NUM_GAMES, NUM_PLIES = flat_games.GAME, flat_games.NUM_GAMES, flat_games.NUM_PLIES


def packed(position):
    return np.asarray(GAME.pack(position))


def test_games_begin_spread_over_their_length_and_none_is_over():
    before, _, _ = flat_games.played()
    assert not np.asarray(GAME.is_over(before.position)).any()
    assert len(set(before.ply)) >= NUM_GAMES // 2
    assert before.ply.min() == 0
    # From four discs on, every ply adds one or is a pass.
    num_discs = np.asarray(GAME.planes(before.position)).sum(axis=(1, 2, 3))
    assert (num_discs <= 4 + before.ply).all()
    assert (num_discs >= 4 + before.ply - 3).all()


def test_games_under_way_are_never_over():
    _, after, plies = flat_games.played()
    assert not np.asarray(GAME.is_over(after.position)).any()
    assert not np.asarray(GAME.is_over(GAME.unpack(jnp.asarray(plies.board)))).any()


def test_every_recorded_position_leads_to_the_next_by_a_legal_move():
    _, after, plies = flat_games.played()
    board = np.concatenate([plies.board, packed(after.position)[None]])
    start = packed(GAME.start())
    position = GAME.unpack(jnp.asarray(plies.board))
    legal = np.asarray(GAME.legal_mask(position))
    everywhere = jax.tree.map(lambda x: x[..., None], position)
    actions = jnp.broadcast_to(jnp.arange(GAME.num_actions), legal.shape)
    step = jax.jit(GAME.step)(everywhere, actions)
    child, over = packed(step.position), np.asarray(step.discount) == 0
    reward = np.asarray(step.reward)
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


def test_passes_are_plies_too():
    _, _, plies = flat_games.played()
    legal = np.asarray(GAME.legal_mask(GAME.unpack(jnp.asarray(plies.board))))
    is_pass = legal[..., -1]
    assert is_pass.any()
    t, b = (index[0] for index in np.nonzero(is_pass[:-1]))
    assert plies.ply[t + 1, b] == plies.ply[t, b] + 1


def test_plies_are_counted_from_the_start_of_each_game():
    before, after, plies = flat_games.played()
    ply = np.concatenate([plies.ply, after.ply[None]])
    np.testing.assert_array_equal(ply[0], before.ply)
    expected = np.where(plies.discount == 0, 0, ply[:-1] + 1)
    np.testing.assert_array_equal(ply[1:], expected)


def test_the_recorded_policy_is_zero_on_illegal_moves():
    _, _, plies = flat_games.played()
    legal = np.asarray(GAME.legal_mask(GAME.unpack(jnp.asarray(plies.board))))
    assert (plies.policy[~legal] == 0).all()
    assert (plies.policy.max(axis=-1) == 255).all()


def test_the_same_key_repeats_the_games_and_another_does_not():
    again = jax.device_get(flat_games.begin_and_play(jax.random.key(0)))
    jax.tree.map(np.testing.assert_array_equal, flat_games.played(), again)
    other = flat_games.played(seed=1)
    assert (other[2].board != flat_games.played()[2].board).any()


@pytest.mark.parametrize("concentration", [0.05, 0.5, 5.0])
def test_a_policy_of_bytes_is_off_by_at_most_half_a_step(concentration):
    num_actions = 17
    rng = np.random.default_rng(0)
    policies = rng.dirichlet(np.full(num_actions, concentration), 500).astype(np.float32)
    quantised = ply_records.quantise(jnp.asarray(policies))
    assert quantised.dtype == jnp.uint8
    restored = np.asarray(ply_records.restore(quantised))
    np.testing.assert_allclose(restored.sum(axis=-1), 1, atol=1e-6)
    # Half a step of each entry, and of all others by way of the sum, which is at least 255.
    bound = (0.5 + policies * 0.5 * num_actions) / 255
    assert (np.abs(restored - policies) <= bound + 1e-6).all()


def test_a_certain_policy_and_visits_of_a_few_simulations_come_back_exactly():
    policies = jnp.array([[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.5, 0.5]])
    restored = ply_records.restore(ply_records.quantise(policies))
    np.testing.assert_allclose(restored, policies, atol=1e-7)


def test_new_games_begin_after_up_to_so_many_random_plies():
    game = othello.Othello(6)
    games = selfplay.new_games(game, jax.random.key(0), 600, max_opening_plies=5)
    counts = np.bincount(games.ply, minlength=6)
    assert len(counts) == 6
    assert counts.min() > 60  # 100 of each are expected
    discs = np.asarray((games.position.player | games.position.opponent).count())
    np.testing.assert_array_equal(discs, 4 + np.asarray(games.ply))  # nobody passes that early


def test_an_opening_that_would_end_the_game_is_not_played():
    game = tictactoe.TicTacToe()
    games = selfplay.new_games(game, jax.random.key(0), 200, max_opening_plies=9)
    assert not game.is_over(games.position).any()
    assert games.ply.max() > 4


TIC_TAC_TOE = tictactoe.TicTacToe()


@functools.partial(jax.jit, static_argnames=("evaluate", "search", "config"))
def play(key, evaluate, search, config):
    """Games of tic-tac-toe from their start."""
    games = ply_records.GamesInProgress(
        TIC_TAC_TOE.start(config.num_games), jnp.zeros(config.num_games, jnp.int32), None
    )
    return selfplay.play(
        TIC_TAC_TOE,
        evaluate,
        key,
        jax.random.fold_in(key, 1),
        games,
        search=search,
        config=config,
        iteration=6,
        actor_version=3,
    )[1]


def test_with_a_playout_cap_a_share_of_plies_is_searched_in_full_and_only_they_teach():
    evaluated = []

    def counting(key, position):
        # Every call adds its number of positions.
        num_positions = position.player.size
        jax.debug.callback(lambda: evaluated.append(num_positions))
        return fake_evaluation.hashed(TIC_TAC_TOE)(key, position)

    num_plies, share = 400, 0.25
    played = play(
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


def test_as_many_explored_positions_are_found_as_are_played():
    search = improvement.SearchConfig(algorithm="puct", num_simulations=16, c_puct=1.0)
    config = selfplay.SelfplayConfig(num_games=8, num_plies=3, explored_share=1.0)
    evaluate = fake_evaluation.hashed(TIC_TAC_TOE)
    played = play(jax.random.key(0), evaluate, search, config)
    assert played.explored.value.shape == played.plies.value.shape
    assert np.asarray(played.explored.is_valid).all()
    # They come from the trees of the first ply.
    search_key, *_ = jax.random.split(jax.random.split(jax.random.key(0), 3)[0], 3)

    @jax.jit
    def by_hand():
        start = TIC_TAC_TOE.start(8)
        found = improvement.search(
            TIC_TAC_TOE, evaluate, search_key, start, config=search, ply=jnp.zeros(8, jnp.int32)
        )
        return found.action, explored.most_visited(TIC_TAC_TOE, found.tree, found.action, 8)

    action, expected = by_hand()
    np.testing.assert_array_equal(played.plies.action[0], action)
    first = jax.tree.map(lambda x: x[0], played.explored)
    jax.tree.map(np.testing.assert_array_equal, first, expected)


def test_fast_plies_give_no_explored_positions():
    config = selfplay.SelfplayConfig(
        num_games=8, num_plies=6, full_search_share=0.5, fast_simulations=8, explored_share=1.0
    )
    search = improvement.SearchConfig(algorithm="puct", num_simulations=16, c_puct=1.0)
    played = play(jax.random.key(2), fake_evaluation.hashed(TIC_TAC_TOE), search, config)
    is_full = np.asarray(played.plies.is_example).all(axis=1)
    assert 0 < is_full.sum() < 6
    assert not np.asarray(played.explored.is_valid)[~is_full].any()
    assert np.asarray(played.explored.is_valid)[is_full].any(axis=1).all()


def test_plies_say_when_and_by_which_network_they_were_played():
    config = selfplay.SelfplayConfig(num_games=8, num_plies=3, explored_share=1.0)
    search = improvement.SearchConfig(algorithm="puct", num_simulations=16, c_puct=1.0)
    plies = play(jax.random.key(0), fake_evaluation.hashed(TIC_TAC_TOE), search, config).plies
    assert (np.asarray(plies.iteration) == 6).all()
    assert (np.asarray(plies.actor_version) == 3).all()
    evaluation = fake_evaluation.hashed(TIC_TAC_TOE)(None, TIC_TAC_TOE.unpack(plies.board))
    np.testing.assert_allclose(plies.raw_value, evaluation.value, atol=1e-3)  # float16


def test_new_games_begin_after_no_fewer_random_plies_than_asked_for():
    game = othello.Othello(6)
    games = selfplay.new_games(
        game, jax.random.key(0), 600, min_opening_plies=3, max_opening_plies=5
    )
    counts = np.bincount(games.ply, minlength=6)
    np.testing.assert_array_equal(counts[:3], 0)
    assert counts[3:].min() > 140  # 200 of each are expected
    with pytest.raises(ValueError, match="min_opening_plies is 6, more than max_opening_plies, 5"):
        selfplay.SelfplayConfig(min_opening_plies=6, max_opening_plies=5)
