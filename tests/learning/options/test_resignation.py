"""Resignation on games with given values and results, against plain Python loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import tiny_run

from azo.games import tictactoe
from azo.learning import selfplay, targets, trajectories
from azo.learning.options import resignation
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


@jax.jit
def ply(state, value, number, reward, discount):
    _, state = resignation.apply(state, value, number, jnp.float32(resignation.NEVER))
    return state, resignation.count(state, number, reward, discount)


def counts_of(games):
    """Returns the counts of games side by side that are all played out."""
    state = resignation.init_state(jax.random.key(0), len(games), ALL_PLAYED_OUT)
    counts = resignation.init_counts()
    for number in range(NUM_PLIES):
        value, reward, discount = np.zeros((3, len(games)), np.float32)
        for i, (values, result) in enumerate(games):
            is_last = number == len(values) - 1
            value[i] = values[number] if number < len(values) else 0
            reward[i] = (result if number % 2 == 0 else -result) if is_last else 0
            discount[i] = 0 if is_last else -1  # games that are over are not counted again
        state, new = ply(state, value, jnp.full(len(games), number), reward, discount)
        counts = jax.tree.map(jnp.add, counts, new)
    return counts


def test_the_threshold_in_use_is_the_highest_safe_one(monkeypatch):
    games = recorded_games()
    counts = counts_of(games)
    expected = [counted_by_a_loop(games, x) for x in resignation.THRESHOLDS]
    np.testing.assert_array_equal(np.stack([counts.resigned, counts.won], axis=1), expected)
    for share, min_games in [(0.05, 5), (0.2, 5), (0.2, 20), (0.4, 1)]:
        monkeypatch.setattr(resignation, "_MIN_GAMES", min_games)
        config = resignation.ResignationConfig(max_false_positives=share)
        safe = [
            (float(x), won / resigned)
            for x, (resigned, won) in zip(resignation.THRESHOLDS, expected, strict=True)
            if resigned >= min_games and won / resigned < share
        ]
        chosen = [float(x) for x in resignation.threshold(counts, config)]
        np.testing.assert_allclose(chosen, max(safe) if safe else (resignation.NEVER, np.nan))


def test_nobody_resigns_before_enough_games_have_shown_that_it_is_safe():
    config = resignation.ResignationConfig()
    # Of the lowest threshold; 5 % is not fewer than 5 %.
    for resigned, won, expected in [(0, 0, -2), (49, 0, -2), (50, 0, -0.99), (50, 2.5, -2)]:
        counts = resignation.init_counts()
        counts = counts.replace(resigned=counts.resigned.at[0].set(resigned))
        counts = counts.replace(won=counts.won.at[0].set(won))
        assert float(resignation.threshold(counts, config)[0]) == pytest.approx(expected)


def test_an_earlier_game_counts_half_after_as_many_as_its_half_life():
    full = jnp.full(99, 8.0)
    old = resignation.ResignationCounts(num_games=jnp.float32(10), resigned=full, won=full / 2)
    new = resignation.ResignationCounts(
        num_games=jnp.float32(2000), resigned=full / 8, won=0 * full
    )
    counts = resignation.update_counts(old, new)
    np.testing.assert_allclose(counts.num_games, 10 / 2 + 2000, rtol=1e-6)
    np.testing.assert_allclose(counts.resigned, 8 / 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(counts.won, 4 / 2, rtol=1e-6)
    nothing = resignation.init_counts()
    jax.tree.map(np.testing.assert_array_equal, resignation.update_counts(old, nothing), old)


def despair(key, position):
    """A network for tic-tac-toe that takes games for lost by who began, after two plies."""
    del key
    num_marks = tictactoe.TicTacToe().planes(position).sum(axis=(-1, -2, -3))
    value = jnp.where(num_marks % 2 == 0, -1.0, 1.0)
    return improvement.Evaluation(
        prior_logits=jnp.zeros((*value.shape, 9)), value=jnp.where(num_marks < 2, 0.0, value)
    )


def test_self_play_teaches_a_resigned_game_as_lost_and_plays_the_others_out():
    game = tictactoe.TicTacToe()
    rules = {"is_enabled": True, "played_out_share": 0.25, "max_false_positives": 0.99}
    option = resignation.Resignation(game, tiny_run.settings(resignation=rules))
    # Half of the games below each threshold up to -0.5 were won.
    is_safe = jnp.asarray(resignation.THRESHOLDS) <= -0.5
    before = resignation.init_counts().replace(
        resigned=jnp.full(99, 100.0), won=jnp.where(is_safe, 50.0, 100.0)
    )

    @jax.jit
    def play(key):
        parts = {"resignation": option.begin_games(key, 64)}
        games = trajectories.GamesInProgress(game.start(64), jnp.zeros(64, jnp.int32), parts)
        _, played, records = selfplay.play(
            game,
            despair,
            key,
            games,
            {"resignation": before},
            search=improvement.SearchConfig(
                num_simulations=1, gumbel={"max_considered_actions": 1}
            ),
            config=selfplay.SelfplayConfig(num_games=64, num_plies=20),
            options=[option],
        )
        history = trajectories.empty_history(game, 64)
        _, labels, _ = targets.label(targets.TargetsConfig(value="outcome"), history, played)
        nothing = resignation.init_counts()
        counts = option.next_state(nothing, played, records["resignation"], lambda x: x)
        return played, jax.tree.map(lambda x: x[game.max_plies :], labels), counts

    plies, labels, counts = jax.device_get(play(jax.random.key(3)))
    outcome = labels.outcome
    num_resigned = num_played_out = 0
    for t, b in np.argwhere(plies.discount == 0):
        rows = slice(t - plies.ply[t, b], t + 1)
        assert labels.is_new[rows, b].all()
        if plies.ply[t, b] == 2:  # no player has three in a row so early
            num_resigned += 1
            np.testing.assert_array_equal(outcome[rows, b], [-1, 1, -1])
            assert (labels.score[rows, b] == trajectories.UNKNOWN_SCORE).all()
        else:
            num_played_out += 1
            assert 4 <= plies.ply[t, b] <= 8
            sign = (-1) ** np.arange(plies.ply[t, b], -1, -1)
            np.testing.assert_array_equal(outcome[rows, b], plies.reward[t, b] * sign)
    assert num_resigned > 100
    assert num_played_out > 20
    # Who began despairs at every threshold in every game that is played out.
    assert int(counts.num_games) == num_played_out
    np.testing.assert_array_equal(counts.resigned, num_played_out)
    wins = ((plies.discount == 0) & (plies.ply % 2 == 0) & (plies.reward == 1)).sum()
    np.testing.assert_array_equal(counts.won, wins)
