"""Scores and values of whole games against plain Python, and policies of one byte an action."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import made_plies, random_games
from support.references import slow_board

from azo.games import othello
from azo.learning import replay, targets, trajectories

GAME = othello.Othello(4)
NUM_GAMES = 8


def boards_of(games, b):
    """Yields the boards of a game by the plain rules, its end included."""
    board = slow_board.start(4)
    for action in games.action[: games.is_over[:, b].argmax(), b]:
        yield board
        board = slow_board.play(board, int(action))
    assert slow_board.is_over(board)
    yield board


@pytest.mark.thorough
def test_every_ply_learns_the_end_as_its_mover_sees_it():
    games = random_games.play(GAME, NUM_GAMES, seed=4)
    lengths = games.is_over.argmax(axis=0)
    lengths[3] -= 4  # resigned: its end is unknown
    plies = made_plies.column(GAME, games, lengths)

    @jax.jit
    def ring_after(first, second):
        waiting = trajectories.empty_history(GAME, 1)
        buffer = replay.empty_buffer(GAME, 256)
        for some in (first, second):  # one game goes on from one iteration to the next
            window, labels, waiting = targets.label(
                targets.TargetsConfig(value="outcome"), waiting, some
            )
            buffer = replay.insert(buffer, replay.labelled_rows(window, labels))
        return replay.take(buffer, jnp.arange(sum(lengths))), buffer.size

    cut = int(lengths[:2].sum()) + 3
    first, second = (
        jax.tree.map(lambda x, rows=rows: x[rows], plies) for rows in (slice(cut), slice(cut, None))
    )
    examples, size = jax.device_get(ring_after(first, second))
    assert int(size[0]) == sum(lengths)
    np.testing.assert_array_equal(examples.board, plies.board[:, 0])
    row, results = 0, set()
    for b in range(NUM_GAMES):
        *boards, end = boards_of(games, b)
        for board in boards[: lengths[b]]:
            if b == 3:
                assert examples.score[row] == trajectories.UNKNOWN_SCORE
            else:
                sign = 1 if board.mover == end.mover else -1
                assert examples.score[row] == sign * slow_board.score(end)
                assert examples.value[row] == sign * slow_board.result(end, is_reversed=False)
                results.add(examples.value[row])
            row += 1
    assert results == {-1, 0, 1}
    assert len(set(lengths)) > 1
    assert (np.asarray(plies.action) == 16).any()  # some games have passes


@pytest.mark.thorough
def test_only_plies_of_decided_games_are_ready_and_each_once():
    discount = [[-1], [-1], [0], [-1], [-1], [-1], [0], [-1]]
    plies = made_plies.make(GAME, (8, 1), discount=discount, action=np.arange(8)[:, None])
    waiting, ready = trajectories.empty_history(GAME, 1), []
    for start in (0, 2, 4, 6):
        some = jax.tree.map(lambda x, start=start: x[start : start + 2], plies)
        window, labels, waiting = targets.label(
            targets.TargetsConfig(value="outcome"), waiting, some
        )
        chosen = np.asarray(labels.is_new[:, 0])
        ready.append(np.asarray(window.action[:, 0])[chosen].tolist())
    assert ready == [[], [0, 1, 2], [], [3, 4, 5, 6]]
    assert np.asarray(waiting.action)[np.asarray(waiting.is_waiting)].tolist() == [7]


@pytest.mark.parametrize("concentration", [0.05, 0.5, 5.0])
def test_a_policy_of_bytes_is_off_by_at_most_half_a_step(concentration):
    num_actions = 17
    rng = np.random.default_rng(0)
    policies = rng.dirichlet(np.full(num_actions, concentration), 500).astype(np.float32)
    quantised = trajectories.quantise(jnp.asarray(policies))
    assert quantised.dtype == jnp.uint8
    restored = np.asarray(trajectories.restore(quantised))
    np.testing.assert_allclose(restored.sum(axis=-1), 1, atol=1e-6)
    # Half a step of each entry, and of all others by way of the sum, which is at least 255.
    bound = (0.5 + policies * 0.5 * num_actions) / 255
    assert (np.abs(restored - policies) <= bound + 1e-6).all()
    # Visits of a few simulations come back exactly.
    exact = jnp.array([[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(trajectories.restore(trajectories.quantise(exact)), exact, atol=1e-7)
