"""Resignation on games with given values and results, against plain Python loops."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import tictactoe
from azo.learning import pending_plies, ply_records, resignation, selfplay, targets
from azo.search import improvement

ALL_PLAYED_OUT = resignation.ResignationConfig(is_enabled=True, played_out_share=1.0)
NUM_GAMES, NUM_PLIES = 40, 12


def recorded_games():
    """Returns values and results of games of 3 to 12 plies, for the player to move at each ply.

    Values drift towards the result with much noise, so that some who win have been near despair.
    """
    rng = np.random.default_rng(0)
    games = []
    for _ in range(NUM_GAMES):
        num_plies = int(rng.integers(3, NUM_PLIES + 1))
        result = int(rng.integers(-1, 2))  # of the player who began
        drift = np.linspace(0, 0.8 * result, num_plies) + rng.normal(0, 0.5, num_plies)
        sign = np.where(np.arange(num_plies) % 2 == 0, 1, -1)
        games.append((np.clip(sign * drift, -1, 1).astype(np.float32), result))
    return games


def counted_by_a_loop(games, threshold):
    """Returns the number of games with a resignation, and how many of them that player won."""
    resigned = won = 0
    for values, result in games:
        for ply, value in enumerate(values):
            if value < threshold:
                resigned += 1
                won += (result if ply % 2 == 0 else -result) == 1
                break
    return resigned, won


@functools.partial(jax.jit, static_argnums=0)
def ply(threshold, state, value, number, reward, discount):
    resigns, state = resignation.apply(state, value, number, jnp.float32(threshold))
    reward, discount = jnp.where(resigns, -1.0, reward), jnp.where(resigns, 0.0, discount)
    return state, reward, discount, resignation.count(state, number, reward, discount)


def watched(games, config, threshold=resignation.NEVER):
    """Returns the counts of games side by side, and the ply, reward and discount of their ends."""
    state = resignation.init_state(jax.random.key(0), len(games), config)
    counts, ends, is_going = (
        resignation.init_counts(),
        [None] * len(games),
        np.ones(len(games), bool),
    )
    for number in range(NUM_PLIES):
        value, reward, discount = np.zeros((3, len(games)), np.float32)
        for i, (values, result) in enumerate(games):
            is_last = number == len(values) - 1
            value[i] = values[number] if number < len(values) else 0
            reward[i] = (result if number % 2 == 0 else -result) if is_last else 0
            # Games that are over must not be counted again.
            discount[i] = 0 if is_last and is_going[i] else -1
        numbers = jnp.full(len(games), number)
        state, reward, discount, new = ply(threshold, state, value, numbers, reward, discount)
        counts = jax.tree.map(jnp.add, counts, new)
        for i in np.flatnonzero(is_going & (np.asarray(discount) == 0)):
            ends[i] = number, float(reward[i])
            is_going[i] = False
    assert not is_going.any()
    return counts, ends, np.asarray(state.is_played_out)


def test_false_positives_are_those_of_a_plain_count_for_every_threshold():
    games = recorded_games()
    counts, ends, _ = watched(games, ALL_PLAYED_OUT)
    expected = [counted_by_a_loop(games, x) for x in resignation.THRESHOLDS]
    np.testing.assert_array_equal(counts.resigned, [resigned for resigned, _ in expected])
    np.testing.assert_array_equal(counts.won, [won for _, won in expected])
    assert float(counts.num_games) == NUM_GAMES
    assert 3 < counts.won.max() < counts.resigned.max()
    for (values, result), (last, reward) in zip(games, ends, strict=True):
        assert last == len(values) - 1
        assert reward == (result if last % 2 == 0 else -result)


def test_the_threshold_in_use_is_the_highest_safe_one():
    games = recorded_games()
    counts, *_ = watched(games, ALL_PLAYED_OUT)
    for share, min_games in [(0.05, 5), (0.2, 5), (0.2, 20), (0.4, 1)]:
        config = resignation.ResignationConfig(max_false_positives=share, min_games=min_games)
        safe = []
        for x in resignation.THRESHOLDS:
            resigned, won = counted_by_a_loop(games, x)
            if resigned >= min_games and won / max(resigned, 1) < share:
                safe.append((float(x), won / resigned))
        chosen = [float(x) for x in resignation.threshold(counts, config)]
        np.testing.assert_allclose(chosen, max(safe) if safe else (resignation.NEVER, np.nan))


def test_nobody_resigns_before_enough_games_have_shown_that_it_is_safe():
    config = resignation.ResignationConfig(min_games=50)
    counts = resignation.init_counts()
    assert float(resignation.threshold(counts, config)[0]) == resignation.NEVER
    for resigned, expected in [(49.0, resignation.NEVER), (50.0, -0.99)]:
        counts = counts.replace(resigned=counts.resigned.at[0].set(resigned))
        assert float(resignation.threshold(counts, config)[0]) == pytest.approx(expected)
    counts = counts.replace(won=counts.won.at[0].set(2.5))  # 5 % is not fewer than 5 %
    assert float(resignation.threshold(counts, config)[0]) == resignation.NEVER


def test_an_earlier_game_counts_half_after_as_many_as_its_half_life():
    config = resignation.ResignationConfig(half_life=100)
    full = jnp.full(99, 8.0)
    old = resignation.ResignationCounts(num_games=jnp.float32(10), resigned=full, won=full / 2)
    new = resignation.ResignationCounts(num_games=jnp.float32(100), resigned=full / 8, won=0 * full)
    counts = resignation.update_counts(old, new, config)
    np.testing.assert_allclose(counts.num_games, 10 / 2 + 100, rtol=1e-6)
    np.testing.assert_allclose(counts.resigned, 8 / 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(counts.won, 4 / 2, rtol=1e-6)
    nothing = resignation.init_counts()
    jax.tree.map(
        np.testing.assert_array_equal, resignation.update_counts(old, nothing, config), old
    )


def test_hopeless_games_end_as_losses_and_those_played_out_never_end_early():
    games, threshold = recorded_games(), -0.4
    config = resignation.ResignationConfig(is_enabled=True, played_out_share=0.3)
    counts, ends, is_played_out = watched(games, config, threshold)
    num_early = 0
    for (values, result), (last, reward), stays in zip(games, ends, is_played_out, strict=True):
        first = next((i for i, value in enumerate(values) if value < threshold), None)
        if stays or first is None:
            assert last == len(values) - 1
            assert reward == (result if last % 2 == 0 else -result)
        else:
            assert (last, reward) == (first, -1.0)
            num_early += last < len(values) - 1
    assert num_early > 5
    assert 5 < is_played_out.sum() < NUM_GAMES / 2
    # Only the games played out are counted.
    expected = [game for game, stays in zip(games, is_played_out, strict=True) if stays]
    counted = [counted_by_a_loop(expected, x) for x in resignation.THRESHOLDS]
    np.testing.assert_array_equal(np.stack([counts.resigned, counts.won], axis=1), counted)
    assert float(counts.num_games) == len(expected)


def test_the_share_of_played_out_games_is_the_requested_one():
    state = resignation.init_state(jax.random.key(1), 10_000, resignation.ResignationConfig())
    # A tenth of 10,000, whose standard deviation is 30.
    assert abs(int(state.is_played_out.sum()) - 1000) < 5 * 30


def despair(key, position):
    """A network for tic-tac-toe that takes games for lost by who began, after two plies."""
    del key
    num_marks = tictactoe.TicTacToe().planes(position).sum(axis=(-1, -2, -3))
    value = jnp.where(num_marks % 2 == 0, -1.0, 1.0)
    return improvement.Evaluation(
        prior_logits=jnp.zeros((*value.shape, 9)), value=jnp.where(num_marks < 2, 0.0, value)
    )


def test_self_play_teaches_a_resigned_game_as_lost_and_plays_the_others_out():
    game, config = tictactoe.TicTacToe(), resignation.ResignationConfig(played_out_share=0.25)

    @jax.jit
    def play(key):
        state = resignation.init_state(key, 64, config)
        games = ply_records.GamesInProgress(game.start(64), jnp.zeros(64, jnp.int32), state)
        _, turns = selfplay.play(
            game,
            despair,
            key,
            games,
            jnp.float32(-0.5),
            search=improvement.SearchConfig(num_simulations=1, max_considered_actions=1),
            config=selfplay.SelfplayConfig(num_games=64, num_plies=20),
            resigning=config,
        )
        plies = turns.plies
        finalised, _ = pending_plies.finalise(pending_plies.empty(game, 64), plies)
        final = pending_plies.final_boards(game, finalised, turns.after)
        value = targets.value_targets(
            targets.TargetsConfig(),
            finalised.plies.reward,
            finalised.plies.discount,
            finalised.plies.value.astype(jnp.float32),
        )
        new = jax.tree.map(lambda x: x[game.max_plies :], (finalised, final, value))
        counts = resignation.count(turns.resignation, plies.ply, plies.reward, plies.discount)
        return *new, counts

    finalised, final, value, counts = jax.device_get(play(jax.random.key(3)))
    plies, resigned, played_out = finalised.plies, 0, 0
    for b in range(64):
        start = 0
        for t in np.flatnonzero(plies.discount[:, b] == 0):
            rows = slice(start, t + 1)
            if plies.ply[t, b] == 2:  # no player has three window_starts so early
                resigned += 1
                np.testing.assert_array_equal(value[rows, b], [-1, 1, -1])
                np.testing.assert_array_equal(final.sign[rows, b], [0, 0, 0])
            else:
                played_out += 1
                assert 4 <= plies.ply[t, b] <= 8
                sign = (-1) ** np.arange(t + 1 - start)
                np.testing.assert_array_equal(value[rows, b], (plies.reward[t, b] * sign)[::-1])
                np.testing.assert_array_equal(final.sign[rows, b], -sign[::-1])
            assert finalised.is_ready[rows, b].all()
            start = t + 1
        assert not finalised.is_ready[start:, b].any()
    assert resigned > 100
    assert played_out > 20
    # Who began despairs at every threshold in every game that is played out.
    assert int(counts.num_games) == played_out
    np.testing.assert_array_equal(counts.resigned, played_out)
    wins = ((plies.discount == 0) & (plies.ply % 2 == 0) & (plies.reward == 1)).sum()
    np.testing.assert_array_equal(counts.won, wins)
