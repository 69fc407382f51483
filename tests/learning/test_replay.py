"""The ring of positions: its rows, windows, draws and averages of copies."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import flat_games, made_plies

from azo.learning import replay, sharding, trajectories
from azo.learning.options import duplicates, unplayed
from azo.search import explored

GAME = flat_games.GAME


def test_only_rows_in_use_are_drawn_and_all_of_them_alike():
    size = 50
    buffer = replay.empty_buffer(GAME, 80)
    number = jnp.arange(80, dtype=jnp.uint32)
    buffer = buffer.replace(
        board=jnp.broadcast_to(number[:, None], buffer.board.shape),
        policy=jnp.ones_like(buffer.policy),
        value=(number / 100).astype(jnp.float16),
        size=jnp.array([size], jnp.int32),
    )
    buffer = dataclasses.replace(buffer, next_row=buffer.size)
    drawn = replay.take(buffer, replay.draw(buffer, jax.random.key(0), 50_000))
    count = np.bincount(np.asarray(drawn.board[:, 0]), minlength=80)
    assert (count[size:] == 0).all()
    # 1,000 expected of each: five standard deviations.
    np.testing.assert_allclose(count[:size], 1000, atol=5 * np.sqrt(1000))
    np.testing.assert_allclose(drawn.value, drawn.board[:, 0] / 100, atol=1e-3)
    np.testing.assert_allclose(drawn.policy.sum(axis=-1), 1, atol=1e-6)
    assert (drawn.policy.dtype, drawn.value.dtype) == (jnp.float32, jnp.float32)


@pytest.mark.parametrize("num_devices", [1, 3, 4])
def test_rings_are_dealt_out_evenly_from_the_oldest_position_to_the_newest(num_devices):
    # Two buffers of six rows: a full one that has gone round, and one with four positions.
    number = jnp.array([6, 7, 2, 3, 4, 5, 10, 11, 12, 13, 0, 0])
    # Five positions of this generation, eight of this and the last, more than all before.
    window_starts = jnp.full((2, replay.MAX_WINDOW), 99).at[:, :2].set(jnp.array([[3, 4], [2, 4]]))
    buffers = replay.ReplayBuffer(
        board=jnp.stack([number, number + 100], axis=1).astype(jnp.uint32),
        policy=jnp.broadcast_to(number[:, None], (12, 5)).astype(jnp.uint8),
        value=number.astype(jnp.float16),
        score=-number.astype(jnp.int8),
        iteration=number + 200,
        actor_version=number + 300,
        next_row=jnp.array([2, 4], jnp.int32),
        size=jnp.array([6, 4], jnp.int32),
        window_starts=window_starts,
    )
    from_the_oldest = np.array([2, 3, 4, 10, 5, 11, 6, 12, 7, 13])
    dealt = jax.jit(sharding.redistribute, static_argnums=1)(buffers, num_devices)
    assert jax.tree.map(lambda x: x.dtype, dealt) == jax.tree.map(lambda x: x.dtype, buffers)
    columns = [(dealt.board[:, 0], 0), (dealt.board[:, 1], 100), (dealt.policy[:, 4], 0)]
    columns += [(dealt.value, 0), (-dealt.score, 0)]
    columns += [(dealt.iteration, 200), (dealt.actor_version, 300)]
    num_rows = 12 // num_devices
    for i in range(num_devices):
        expected = from_the_oldest[i::num_devices]
        assert int(dealt.size[i]) == len(expected)
        assert int(dealt.next_row[i]) == len(expected) % num_rows
        here = slice(i * num_rows, i * num_rows + len(expected))
        for column, first in columns:
            np.testing.assert_array_equal(column[here], expected + first)
        # The window of a buffer holds its share of the newest positions, and nothing else.
        for window, num_newest in [(1, 5), (2, 8), (3, 10), (0, 10)]:
            count = int(replay.num_in_window(dealt, window)[i])
            assert count == np.isin(expected, from_the_oldest[10 - num_newest :]).sum(), window


MOST_NUMBERS = 16


def numbered(num_rows, capacity=100):
    """Returns a buffer after adding positions with the numbers from 0 on as values."""
    return add_numbers(replay.empty_buffer(GAME, capacity), range(num_rows))


def add_numbers(buffer, numbers):
    """Adds one position for each number, with this value, as one iteration would."""
    is_ready = np.arange(MOST_NUMBERS) < len(numbers)
    value = np.zeros(MOST_NUMBERS, np.float32)
    value[: len(numbers)] = numbers
    return _add_column(buffer, is_ready[:, None], value[:, None])


@jax.jit
def _add_column(buffer, is_ready, value):
    plies, labels = made_plies.make(GAME, value.shape), made_plies.labels(value)
    labels = dataclasses.replace(labels, is_new=is_ready)
    return replay.insert(buffer, replay.labelled_rows(plies, labels))


def drawn_numbers(buffer, window):
    """Returns all values that are ever drawn from a window; 4,000 draws of at most 60 rows."""
    row = _draw(buffer, jax.random.key(1), 4000, window)
    return sorted(set(np.asarray(buffer.value[row]).astype(int).tolist()))


_draw = jax.jit(replay.draw, static_argnums=(2, 3))


def test_only_the_window_of_generations_is_drawn_from():
    buffer = replay.begin_window(numbered(10))  # generation 0: 0 to 9
    assert [int(replay.num_in_window(buffer, k)[0]) for k in (1, 2)] == [0, 10]
    buffer = add_numbers(buffer, range(10, 15))  # generation 1, in two iterations
    buffer = add_numbers(buffer, range(15, 20))
    buffer = add_numbers(replay.begin_window(buffer), range(20, 22))  # generation 2
    # It may be widened at any time: from 1 generation to 2, to 3, to all.
    for window, first in ((1, 20), (2, 10), (3, 0), (5, 0), (0, 0)):
        assert drawn_numbers(buffer, window) == list(range(first, 22))
        assert int(replay.num_in_window(buffer, window)[0]) == 22 - first


def test_a_full_ring_keeps_the_latest_and_its_window_goes_round_with_it():
    buffer = numbered(15, capacity=20)
    buffer = add_numbers(replay.begin_window(buffer), range(15, 23))  # rows 15 to 19, then 0 to 2
    assert drawn_numbers(buffer, 1) == list(range(15, 23))
    assert drawn_numbers(buffer, 2) == list(range(3, 23))
    assert int(replay.num_in_window(buffer, 2)[0]) == 20


@pytest.mark.parametrize("shape", [(24,), (3, 8), (2, 3, 4)])
def test_valid_rows_enter_in_the_order_of_their_axes(shape):
    is_valid = np.random.default_rng(0).random(shape) < 0.6
    value = np.arange(24, dtype=np.float32).reshape(shape)
    rows = replay.NewRows(
        is_valid=jnp.array(is_valid),
        board=jnp.zeros(GAME.packed_words, jnp.uint32),
        policy=jnp.zeros(GAME.num_actions, jnp.uint8),
        value=jnp.array(value),
        score=jnp.int8(3),
        iteration=jnp.int32(7),
        actor_version=jnp.int32(5),
    )
    buffer = replay.insert(replay.empty_buffer(GAME, 10), rows)
    entered = value[is_valid]
    expected = np.zeros(10, np.float32)
    for number, x in enumerate(entered):
        expected[number % 10] = x
    assert np.asarray(buffer.value).tolist() == expected.tolist()
    assert (int(buffer.next_row[0]), int(buffer.size[0])) == (len(entered) % 10, 10)
    assert int(buffer.window_starts[0, 0]) == len(entered)


def test_duplicates_learn_the_mean_of_the_copies_of_the_same_network():
    """Rows 0 and 1 are copies, row 2 is of another network, row 3 alone and row 4 unused."""
    buffer = replay.empty_buffer(GAME, 5)
    policy = jnp.zeros((5, GAME.num_actions)).at[:, 0].set(1.0).at[jnp.array([0, 2]), 7].set(1.0)
    buffer = dataclasses.replace(
        buffer,
        board=buffer.board.at[3].set(9),
        policy=trajectories.quantise(policy),
        value=jnp.array([1.0, -0.5, 0.75, -1.0, 0.125], jnp.float16),
        actor_version=jnp.array([3, 3, 4, 3, 3], jnp.int32),
        size=jnp.array([4], jnp.int32),
        next_row=jnp.array([4], jnp.int32),
    )
    averaged = jax.jit(duplicates.averaged)(buffer)
    np.testing.assert_allclose(averaged.value[:4], [0.25, 0.25, 0.75, -1.0], atol=1e-3)  # float16
    # Every copy is kept, so a position has the weight of its copies; half a step of a byte is lost.
    shares = trajectories.restore(averaged.policy[:4])[:, 7]
    np.testing.assert_allclose(shares, [0.25, 0.25, 0.5, 0.0], atol=0.5 / 255)
    np.testing.assert_array_equal(averaged.board, buffer.board)
    assert (averaged.size, averaged.next_row) == (buffer.size, buffer.next_row)


@pytest.mark.thorough
def test_explored_positions_enter_with_the_values_of_the_search():
    buffer = add_numbers(replay.empty_buffer(GAME, 12), range(4))
    number = jnp.arange(6)
    policy = jax.nn.one_hot(number, GAME.num_actions)
    positions = explored.ExploredPositions(
        board=jnp.broadcast_to(number[:, None], (6, 4)).astype(jnp.uint32).reshape(2, 3, 4),
        policy=policy.reshape(2, 3, -1),
        value=(number / 8).astype(jnp.float32).reshape(2, 3),
        visits=jnp.ones((2, 3), jnp.int32),
        is_valid=jnp.array([[True, True, False], [True, False, True]]),
    )
    plies = made_plies.make(GAME, (1, 1), iteration=7, actor_version=5)
    after = replay.insert(buffer, unplayed.UnplayedPositions(GAME, None).rows(plies, positions))
    kept = np.array([0, 1, 3, 5])
    assert (int(after.size[0]), int(after.next_row[0])) == (8, 8)
    np.testing.assert_array_equal(after.board[4:8, 0], kept)
    np.testing.assert_array_equal(after.value[4:8], kept / 8)
    np.testing.assert_array_equal(trajectories.restore(after.policy[4:8]), policy[kept])
    np.testing.assert_array_equal(after.iteration[4:8], [7] * 4)
    np.testing.assert_array_equal(after.actor_version[4:8], [5] * 4)
    assert int(replay.num_in_window(after, 1)[0]) == 8
    # The ends of their games are unknown, and are not learned.
    examples = replay.take(after, jnp.arange(4, 8))
    np.testing.assert_array_equal(examples.score, [trajectories.UNKNOWN_SCORE] * 4)
