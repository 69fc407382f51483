"""Statistics of an iteration, computed again in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import made_plies, random_games
from support.references import slow_board

from azo.games import othello
from azo.learning import statistics, targets, trajectories

GAME = othello.Othello(4)
NUM_GAMES = 10
RESIGNED = 3  # the game that is not played to its end


@pytest.fixture(scope="module")
def games():
    """Random games, one of them shorter, and their plies in one column with random values."""
    games = random_games.play(GAME, NUM_GAMES, seed=7)
    lengths = games.is_over.argmax(axis=0)
    lengths[RESIGNED] -= 4
    rng = np.random.default_rng(0)
    # Sixteenths are exact in float16.
    raw_value = rng.integers(-16, 17, (sum(lengths), 1)) / 16
    plies = made_plies.column(GAME, games, lengths, raw_value=raw_value)
    return games, lengths, plies


def predictions(num_plies):
    ply = jnp.arange(num_plies, dtype=jnp.float32)
    return {"policy_entropy": ply, "prior_divergence": 3 * ply}


@pytest.fixture(scope="module")
def figures(games):
    """The figures of two iterations together, as if two devices had had one each."""
    _, lengths, plies = games
    cut = int(lengths[:4].sum()) + 5  # within a game

    @jax.jit
    def gathered(plies):
        waiting, parts = trajectories.empty_history(GAME, 1), []
        for where in (slice(cut), slice(cut, None)):
            some = jax.tree.map(lambda x, where=where: x[where], plies)
            window, labels, waiting = targets.label(
                targets.TargetsConfig(value="outcome"), waiting, some
            )
            means = predictions(some.ply.shape[0])
            parts.append(statistics.gather(some, means, window, labels))
        return jax.tree.map(jnp.add, *parts)

    return statistics.describe(gathered(plies)), cut


def games_of(games):
    """Yields for each game its plies and the final board, or None if it was resigned."""
    _, lengths, plies = games
    for b, (length, end) in enumerate(zip(lengths, lengths.cumsum(), strict=True)):
        rows = slice(end - length, end)
        board = slow_board.start(4)
        for action in plies.action[rows, 0].tolist():
            board = slow_board.play(board, action)
        reward = float(plies.reward[end - 1, 0])
        outcome = reward * (-1.0) ** np.arange(length)[::-1]
        yield np.asarray(plies.raw_value[rows, 0], float), outcome, b != RESIGNED and board


@pytest.mark.thorough
def test_results_lengths_and_errors_of_values_are_those_of_numpy(games, figures):
    _, lengths, _ = games
    metrics, _ = figures
    results, pairs = [], []
    for values, outcome, board in games_of(games):
        results.append(outcome[0])
        pairs += zip(values, outcome, strict=True)
        if board:
            difference = slow_board.count(board, "X") - slow_board.count(board, "O")
            assert np.sign(difference) == outcome[0]
    counts = [results.count(result) for result in (1, 0, -1)]
    assert min(counts) > 0
    names = ("first_player_wins", "draws", "first_player_losses")
    assert [metrics[f"selfplay/{name}"] for name in names] == counts
    pairs = np.array(pairs)
    expected = {
        "first_player_score": (counts[0] + counts[1] / 2) / NUM_GAMES,
        "mean_plies": np.mean(lengths),
        "resigned_share": 1 / NUM_GAMES,
        "value_error": (pairs[:, 0] - pairs[:, 1]).mean(),
        "value_correlation": np.corrcoef(pairs.T)[0, 1],
    }
    for name, number in expected.items():
        assert metrics[f"selfplay/{name}"] == pytest.approx(number, abs=1e-5), name


def test_predictions_are_averaged_over_devices(games, figures):
    _, _, plies = games
    metrics, cut = figures
    means = np.mean([(n - 1) / 2 for n in (cut, len(plies.ply) - cut)])
    assert metrics["selfplay/policy_entropy"] == pytest.approx(means)
    assert metrics["selfplay/prior_divergence"] == pytest.approx(3 * means)


def test_without_a_finished_game_there_are_no_figures_but_no_errors():
    @jax.jit
    def gathered():
        plies = made_plies.make(GAME, (2, 1))
        history = trajectories.empty_history(GAME, 1)
        window, labels, _ = targets.label(targets.TargetsConfig(value="outcome"), history, plies)
        return statistics.gather(plies, predictions(2), window, labels)

    metrics = statistics.describe(gathered())
    assert metrics["selfplay/first_player_wins"] == 0
    for name in ("mean_plies", "value_error", "value_correlation"):
        assert np.isnan(metrics[f"selfplay/{name}"])
