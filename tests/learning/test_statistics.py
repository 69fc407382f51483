"""Statistics of an iteration, computed again in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import made_plies, random_games, slow_board

from azo.games import othello
from azo.learning import pending_plies, ply_records, statistics

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
    return ply_records.PredictionStatistics(
        policy_entropy=ply,
        prior_entropy=2 * ply,
        prior_divergence=3 * ply,
        legal_mass=ply / num_plies,
    )


@pytest.fixture(scope="module")
def figures(games):
    """The figures of two iterations together, as if two devices had had one each."""
    _, lengths, plies = games
    cut = int(lengths[:4].sum()) + 5  # within a game

    @jax.jit
    def gathered(plies):
        waiting, parts = pending_plies.empty(GAME, 1), []
        for where in (slice(cut), slice(cut, None)):
            some = jax.tree.map(lambda x, where=where: x[where], plies)
            finalised, waiting = pending_plies.finalise(waiting, some)
            turns = made_plies.turns(GAME, some, predictions(some.ply.shape[0]))
            parts.append(statistics.gather(GAME, turns, finalised, turns.predictions))
        return jax.tree.map(jnp.add, *parts)

    return statistics.describe(gathered(plies)), cut


def games_of(games):
    """Yields for each game its plies and the final board, or None if it was resigned."""
    _, lengths, plies = games
    start = 0
    for b, length in enumerate(lengths):
        rows = slice(start, start + length)
        columns = {
            name: np.asarray(getattr(plies, name)[rows, 0]).astype(float)
            for name in ("raw_value", "reward", "action")
        }
        board = slow_board.start(4)
        for action in columns["action"]:
            board = slow_board.play(board, int(action))
        yield columns, (None if b == RESIGNED else board)
        start += length


@pytest.mark.slow
def test_results_and_lengths_are_counted(games, figures):
    _, lengths, _ = games
    metrics, _ = figures
    results = []
    for columns, board in games_of(games):
        last = len(columns["reward"]) - 1
        result = columns["reward"][-1] * (1 if last % 2 == 0 else -1)
        results.append(result)
        if board is not None:
            difference = slow_board.count(board, "X") - slow_board.count(board, "O")
            assert np.sign(difference) == result
    counts = [results.count(result) for result in (1, 0, -1)]
    assert min(counts) > 0
    names = ("first_player_wins", "draws", "first_player_losses")
    assert [metrics[f"selfplay/{name}"] for name in names] == counts
    score = (counts[0] + counts[1] / 2) / NUM_GAMES
    assert metrics["selfplay/first_player_score"] == pytest.approx(score)
    assert metrics["selfplay/mean_plies"] == pytest.approx(np.mean(lengths))
    assert metrics["selfplay/resigned_share"] == pytest.approx(1 / NUM_GAMES)


def test_the_error_of_the_value_and_its_correlation_with_the_result_are_those_of_numpy(
    games, figures
):
    metrics, _ = figures
    pairs = []
    for columns, _ in games_of(games):
        num_plies = len(columns["reward"])
        outcome = columns["reward"][-1] * (-1.0) ** np.arange(num_plies)[::-1]
        pairs += zip(columns["raw_value"], outcome, strict=True)
    pairs = np.array(pairs)
    error = (pairs[:, 0] - pairs[:, 1]).mean()
    assert metrics["selfplay/value_error"] == pytest.approx(error, abs=1e-6)
    correlation = np.corrcoef(pairs.T)[0, 1]
    assert metrics["selfplay/value_correlation"] == pytest.approx(correlation, abs=1e-5)


def test_predictions_are_averaged_over_devices(games, figures):
    _, _, plies = games
    metrics, cut = figures
    means = np.mean([(n - 1) / 2 for n in (cut, len(plies.ply) - cut)])
    assert metrics["selfplay/policy_entropy"] == pytest.approx(means)
    assert metrics["selfplay/prior_entropy"] == pytest.approx(2 * means)
    assert metrics["selfplay/prior_divergence"] == pytest.approx(3 * means)


def test_without_a_finished_game_there_are_no_figures_but_no_errors():
    @jax.jit
    def gathered():
        plies = made_plies.make(GAME, (2, 1))
        finalised, _ = pending_plies.finalise(pending_plies.empty(GAME, 1), plies)
        turns = made_plies.turns(GAME, plies, predictions(2))
        return statistics.gather(GAME, turns, finalised, turns.predictions)

    metrics = statistics.describe(gathered())
    assert metrics["selfplay/first_player_wins"] == 0
    for name in ("mean_plies", "value_error", "value_correlation"):
        assert np.isnan(metrics[f"selfplay/{name}"])
