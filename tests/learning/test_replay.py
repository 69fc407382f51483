"""The buffer against a plain Python one that reads the same columns of plies."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import flat_games, made_plies

from azo.games import othello
from azo.learning import pending_plies, ply_records, replay, targets
from azo.search import explored

GAME = flat_games.GAME
CAPACITY = 4096
PLIES_AN_ITERATION = 5
NUM_ITERATIONS = flat_games.NUM_PLIES // PLIES_AN_ITERATION


def slow_finished_positions(plies):
    """Yields board, policy and value of every ply of every finished game, as a set of tuples."""
    num_plies, num_games = plies.reward.shape
    for b in range(num_games):
        game = []
        for t in range(num_plies):
            game.append((plies.board[t, b].tobytes(), plies.policy[t, b].tobytes()))
            if plies.discount[t, b] == 0:
                for i, position in enumerate(game):
                    is_last_mover = (len(game) - 1 - i) % 2 == 0
                    reward = float(plies.reward[t, b])
                    yield (*position, reward if is_last_mover else -reward)
                game = []


def rows(buffer, which):
    buffer = jax.device_get(buffer)
    return [
        (buffer.board[i].tobytes(), buffer.policy[i].tobytes(), float(buffer.value[i]))
        for i in which
    ]


@functools.partial(jax.jit, static_argnums=1)
def fill(plies, capacity):
    """Adds the plies a few at a time; returns buffer and history after each addition."""
    buffer = replay.empty_buffer(GAME, capacity)
    history = pending_plies.empty(GAME, plies.reward.shape[1])
    slices = jax.tree.map(lambda x: x.reshape(-1, PLIES_AN_ITERATION, *x.shape[1:]), plies)

    def add(carry, some):
        buffer, history = carry
        finalised, history = pending_plies.finalise(history, some)
        buffer = replay.insert(buffer, replay.played_rows(finalised, finalised.outcome))
        return (buffer, history), buffer

    return jax.lax.scan(add, (buffer, history), slices)


@pytest.fixture(scope="module")
def plies():
    return flat_games.played()[2]


def test_every_position_of_a_finished_game_enters_once_with_the_result_of_its_mover(plies):
    (buffer, _), _ = fill(plies, CAPACITY)
    expected = list(slow_finished_positions(plies))
    assert int(buffer.size[0]) == int(buffer.next_row[0]) == len(expected)
    assert sorted(rows(buffer, range(len(expected)))) == sorted(expected)
    assert {value for *_, value in expected} >= {-1.0, 1.0}


def test_a_position_enters_as_soon_as_its_game_has_ended(plies):
    _, buffers = fill(plies, CAPACITY)
    for i in range(NUM_ITERATIONS):
        so_far = jax.tree.map(lambda x, i=i: x[: (i + 1) * PLIES_AN_ITERATION], plies)
        buffer = jax.tree.map(lambda x, i=i: x[i], buffers)
        expected = list(slow_finished_positions(so_far))
        assert sorted(rows(buffer, range(int(buffer.size[0])))) == sorted(expected)


def test_what_waits_is_what_belongs_to_unfinished_games(plies):
    (_, history), _ = fill(plies, CAPACITY)
    num_waiting = int(history.is_waiting.sum())
    assert num_waiting == plies.reward.size - len(list(slow_finished_positions(plies)))
    assert num_waiting > 0


def test_a_full_ring_keeps_the_latest(plies):
    (large, _), _ = fill(plies, CAPACITY)
    total, capacity = int(large.size[0]), 200
    (small, _), _ = fill(plies, capacity)
    assert capacity < total < 2 * capacity  # it has wrapped
    assert int(small.size[0]) == capacity
    assert int(small.next_row[0]) == total % capacity
    # A full buffer holds the last rows of the large one, each at its place.
    where = [i % capacity for i in range(total - capacity, total)]
    assert rows(small, where) == rows(large, range(total - capacity, total))


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
    drawn = replay.take(GAME, buffer, replay.draw(buffer, jax.random.key(0), 50_000))
    count = np.bincount(np.asarray(drawn.board[:, 0]), minlength=80)
    assert (count[size:] == 0).all()
    # 1,000 expected of each: five standard deviations.
    np.testing.assert_allclose(count[:size], 1000, atol=5 * np.sqrt(1000))
    np.testing.assert_allclose(drawn.value, drawn.board[:, 0] / 100, atol=1e-3)
    np.testing.assert_allclose(drawn.policy.sum(axis=-1), 1, atol=1e-6)
    assert (drawn.policy.dtype, drawn.value.dtype) == (jnp.float32, jnp.float32)


@pytest.mark.parametrize(("size", "num_bytes"), [(8, 92), (6, 64)])
def test_a_position_takes_as_many_bytes_as_documented(size, num_bytes):
    buffer = jax.eval_shape(lambda: replay.empty_buffer(othello.Othello(size), 1000))
    names = ("board", "policy", "value", "score", "iteration", "actor_version")
    stored = [getattr(buffer, name) for name in names]
    assert sum(x.size * x.dtype.itemsize for x in stored) == 1000 * num_bytes
    with_final = jax.eval_shape(
        lambda: replay.empty_buffer(othello.Othello(size), 1000, has_final=True)
    )
    final = jax.tree.leaves(with_final.final)
    assert sum(x.size * x.dtype.itemsize for x in final) == 1000 * (4 * 4 + 1)
    assert f"{num_bytes}" in replay.__doc__


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4, 12])
def test_rings_are_dealt_out_evenly_from_the_oldest_position_to_the_newest(num_devices):
    # Two buffers of six rows: a full one that has gone round, and one with four positions.
    number = jnp.array([6, 7, 2, 3, 4, 5, 10, 11, 12, 13, 0, 0])
    window_starts = jnp.zeros((2, replay.MAX_WINDOW), jnp.int32)
    buffers = replay.ReplayBuffer(
        board=jnp.stack([number, number + 100], axis=1).astype(jnp.uint32),
        policy=jnp.broadcast_to(number[:, None], (12, 5)).astype(jnp.uint8),
        value=number.astype(jnp.float16),
        score=-number.astype(jnp.int8),
        iteration=number + 200,
        actor_version=number + 300,
        final=None,
        regret=None,
        next_row=jnp.array([2, 4], jnp.int32),
        size=jnp.array([6, 4], jnp.int32),
        # Five positions of this generation, eight of this and the last, more than all before.
        window_starts=window_starts.at[:, 0]
        .set(jnp.array([3, 2]))
        .at[:, 1]
        .set(4)
        .at[:, 2:]
        .set(99),
    )
    from_the_oldest = [2, 3, 4, 10, 5, 11, 6, 12, 7, 13]
    dealt = jax.jit(replay.redistribute, static_argnums=1)(buffers, num_devices)
    assert jax.tree.map(lambda x: x.dtype, dealt) == jax.tree.map(lambda x: x.dtype, buffers)
    num_rows = 12 // num_devices
    for i in range(num_devices):
        expected = from_the_oldest[i::num_devices]
        assert int(dealt.size[i]) == len(expected)
        assert int(dealt.next_row[i]) == len(expected) % num_rows
        here = slice(i * num_rows, i * num_rows + len(expected))
        np.testing.assert_array_equal(dealt.board[here, 0], expected)
        np.testing.assert_array_equal(dealt.board[here, 1], np.array(expected) + 100)
        np.testing.assert_array_equal(dealt.policy[here, 4], expected)
        np.testing.assert_array_equal(dealt.value[here], expected)
        np.testing.assert_array_equal(-dealt.score[here], expected)
        np.testing.assert_array_equal(dealt.iteration[here], np.array(expected) + 200)
        np.testing.assert_array_equal(dealt.actor_version[here], np.array(expected) + 300)
        # The window of a buffer holds its share of the newest positions, and nothing else.
        for window, num_newest in [(1, 5), (2, 8), (3, 10), (0, 10)]:
            kept = set(from_the_oldest[10 - num_newest :])
            count = int(replay.num_in_window(dealt, window)[i])
            assert count == len(kept & set(expected)), window


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
    finalised = made_plies.finalised(made_plies.make(GAME, value.shape), value)
    finalised = dataclasses.replace(finalised, is_ready=is_ready)
    return replay.insert(buffer, replay.played_rows(finalised, value))


def drawn_numbers(buffer, window):
    """Returns all values that are ever drawn from a window; 4,000 draws of at most 60 rows."""
    row = _draw(buffer, jax.random.key(1), 4000, window)
    return sorted(set(np.asarray(buffer.value[row]).astype(int).tolist()))


_draw = jax.jit(replay.draw, static_argnums=(2, 3))


def test_only_the_window_of_generations_is_drawn_from():
    buffer = numbered(10)  # generation 0: 0 to 9
    assert drawn_numbers(buffer, 1) == list(range(10))
    buffer = add_numbers(
        replay.begin_window(buffer), range(10, 15)
    )  # generation 1, in two iterations
    buffer = add_numbers(buffer, range(15, 20))
    buffer = add_numbers(replay.begin_window(buffer), range(20, 22))  # generation 2
    # It may be widened at any time: from 1 generation to 2, to 3, to all.
    assert drawn_numbers(buffer, 1) == [20, 21]
    assert drawn_numbers(buffer, 2) == list(range(10, 22))
    assert drawn_numbers(buffer, 3) == list(range(22))
    assert drawn_numbers(buffer, 5) == drawn_numbers(buffer, 0) == list(range(22))
    assert [int(replay.num_in_window(buffer, k)[0]) for k in (1, 2, 3, 0)] == [2, 12, 22, 22]


def test_a_window_of_one_is_empty_as_a_generation_begins():
    buffer = replay.begin_window(numbered(10))
    assert int(replay.num_in_window(buffer, 1)[0]) == 0
    assert int(replay.num_in_window(buffer, 2)[0]) == 10


def test_the_window_goes_round_with_the_ring_and_never_exceeds_it():
    buffer = numbered(15, capacity=20)
    buffer = add_numbers(replay.begin_window(buffer), range(15, 23))  # rows 15 to 19, then 0 to 2
    assert drawn_numbers(buffer, 1) == list(range(15, 23))
    assert drawn_numbers(buffer, 2) == list(range(3, 23))
    assert int(replay.num_in_window(buffer, 2)[0]) == 20


def test_windows_longer_than_those_remembered_are_refused():
    with pytest.raises(ValueError, match="less than or equal to 64"):
        replay.ReplayConfig(window_generations=65)
    with pytest.raises(ValueError, match="both set: set one of them to 0"):
        replay.ReplayConfig(window_generations=2, window_iterations=2)


def images(game, position):
    """Returns the position and itself turned by half, `[2]`, and the symmetry that turned it."""
    half_turn = np.arange(16)[::-1]
    (which,) = (k for k, source in enumerate(game.square_symmetries) if (source == half_turn).all())
    planes = np.asarray(game.planes(position)).reshape(16, 2)
    weight = 1 << (8 * (np.arange(16) // 4) + np.arange(16) % 4)
    both = [planes, planes[half_turn]]
    words = [[int(weight[p[:, side]].sum()) for side in (0, 1)] for p in both]
    packed = [[mine, 0, theirs, 0] for mine, theirs in words]  # 4x4 lies in the lower words
    return np.array(packed, np.uint32), half_turn, which


def ring_for_averages():
    """Returns six rows: 0 and 1 the same; 2 their image; 3 of another network; 4 alone; 5 unused.

    Policies have one number a square and 0 for the pass.
    """
    after = GAME.step(
        GAME.start(), jnp.int32(int(np.argmax(GAME.legal_mask(GAME.start()))))
    ).position
    (packed, turned_packed), half_turn, _ = images(GAME, after)
    np.testing.assert_array_equal(packed, GAME.pack(after))
    start = np.asarray(GAME.pack(GAME.start()))
    board = np.stack([packed, packed, turned_packed, packed, start, packed])
    one = np.zeros(17)
    one[[0, 7]] = 1  # two squares: shares 1/2, 1/2
    other = np.zeros(17)
    other[0] = 1
    image = np.zeros(17)
    image[:16] = other[:16][half_turn]  # `other` moved to the image
    policy = np.stack([one, other, image, one, one, one])
    buffer = replay.empty_buffer(GAME, 6)
    buffer = dataclasses.replace(
        buffer,
        board=jnp.asarray(board, jnp.uint32),
        policy=ply_records.quantise(jnp.asarray(policy, jnp.float32)),
        value=jnp.array([1.0, -0.5, 0.25, 0.75, -1.0, 0.125], jnp.float16),
        actor_version=jnp.array([3, 3, 3, 4, 3, 3], jnp.int32),
        size=jnp.array([5], jnp.int32),
        next_row=jnp.array([5], jnp.int32),
    )
    return buffer, one / 2, other, image


@pytest.mark.parametrize("kind", ["none", "same"])
def test_duplicates_learn_the_mean_of_the_copies_of_the_same_network(kind):
    buffer, one, other, image = ring_for_averages()
    config = targets.TargetsConfig(average_duplicates=kind)
    averaged = jax.jit(replay.averaged, static_argnums=1)(buffer, config)
    if kind == "none":
        policy, value = [one, other, image, one, one], [1.0, -0.5, 0.25, 0.75, -1.0]
    else:
        mean = (one + other) / 2
        policy, value = [mean, mean, image, one, one], [0.25, 0.25, 0.25, 0.75, -1.0]
    np.testing.assert_allclose(averaged.value[:5], value, atol=1e-3)  # float16
    # Every copy is kept, so a position has the weight of its copies; half a step of a byte is lost.
    np.testing.assert_allclose(ply_records.restore(averaged.policy[:5]), policy, atol=0.5 / 255)
    np.testing.assert_array_equal(averaged.board, buffer.board)
    np.testing.assert_array_equal(
        (averaged.size, averaged.next_row), (buffer.size, buffer.next_row)
    )
    drawn = replay.take(GAME, averaged, jnp.arange(5))
    assert np.isfinite(drawn.policy).all()


def test_explored_positions_enter_with_the_values_of_the_search():
    buffer = add_numbers(replay.empty_buffer(GAME, 12, has_final=True), range(4))
    number = jnp.arange(6)
    policy = jax.nn.one_hot(number, GAME.num_actions)
    positions = explored.ExploredPositions(
        board=jnp.broadcast_to(number[:, None], (6, 4)).astype(jnp.uint32).reshape(2, 3, 4),
        policy=policy.reshape(2, 3, -1),
        value=(number / 8).astype(jnp.float32).reshape(2, 3),
        visits=jnp.ones((2, 3), jnp.int32),
        is_valid=jnp.array([[True, True, False], [True, False, True]]),
    )
    after = replay.insert(
        buffer, replay.explored_rows(positions, iteration=jnp.int32(7), actor_version=jnp.int32(5))
    )
    kept = np.array([0, 1, 3, 5])
    assert (int(after.size[0]), int(after.next_row[0])) == (8, 8)
    np.testing.assert_array_equal(after.board[4:8, 0], kept)
    np.testing.assert_array_equal(after.value[4:8], kept / 8)
    np.testing.assert_array_equal(ply_records.restore(after.policy[4:8]), policy[kept])
    np.testing.assert_array_equal(after.iteration[4:8], [7] * 4)
    np.testing.assert_array_equal(after.actor_version[4:8], [5] * 4)
    assert int(replay.num_in_window(after, 1)[0]) == 8
    # The ends of their games are unknown, and are not learned.
    examples = replay.take(GAME, after, jnp.arange(4, 8))
    np.testing.assert_array_equal(examples.score, [ply_records.UNKNOWN_SCORE] * 4)
    np.testing.assert_array_equal(examples.ownership, np.zeros((4, 16)))
