"""The ring against a plain Python one that reads the same columns of plies."""

import functools

import flat_games
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.games import othello
from azo.learning import replay, selfplay

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


def rows(ring, which):
    ring = jax.device_get(ring)
    return [
        (ring.board[i].tobytes(), ring.policy[i].tobytes(), float(ring.value[i])) for i in which
    ]


@functools.partial(jax.jit, static_argnums=1)
def fill(plies, capacity):
    """Adds the plies a few at a time; returns ring and history after each addition."""
    ring = replay.empty_ring(GAME, capacity)
    history = replay.empty_history(GAME, plies.reward.shape[1])
    slices = jax.tree.map(lambda x: x.reshape(-1, PLIES_AN_ITERATION, *x.shape[1:]), plies)

    def add(carry, some):
        carry = replay.add(*carry, some)
        return carry, carry[0]

    return jax.lax.scan(add, (ring, history), slices)


@pytest.fixture(scope="module")
def plies():
    return flat_games.played()[2]


def test_every_position_of_a_finished_game_enters_once_with_the_result_of_its_mover(plies):
    (ring, _), _ = fill(plies, CAPACITY)
    expected = list(slow_finished_positions(plies))
    assert int(ring.size[0]) == int(ring.next_row[0]) == len(expected)
    assert sorted(rows(ring, range(len(expected)))) == sorted(expected)
    assert {value for *_, value in expected} >= {-1.0, 1.0}


def test_a_position_enters_as_soon_as_its_game_has_ended(plies):
    _, rings = fill(plies, CAPACITY)
    for i in range(NUM_ITERATIONS):
        so_far = jax.tree.map(lambda x, i=i: x[: (i + 1) * PLIES_AN_ITERATION], plies)
        ring = jax.tree.map(lambda x, i=i: x[i], rings)
        expected = list(slow_finished_positions(so_far))
        assert sorted(rows(ring, range(int(ring.size[0])))) == sorted(expected)


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
    # A full ring holds the last rows of the large one, each at its place.
    where = [i % capacity for i in range(total - capacity, total)]
    assert rows(small, where) == rows(large, range(total - capacity, total))


def test_only_rows_in_use_are_drawn_and_all_of_them_alike():
    size = 50
    ring = replay.empty_ring(GAME, 80)
    number = jnp.arange(80, dtype=jnp.uint32)
    ring = ring.replace(
        board=jnp.broadcast_to(number[:, None], ring.board.shape),
        policy=jnp.ones_like(ring.policy),
        value=(number / 100).astype(jnp.float16),
        size=jnp.array([size], jnp.int32),
    )
    drawn = replay.sample(ring, jax.random.key(0), 50_000)
    count = np.bincount(np.asarray(drawn.board[:, 0]), minlength=80)
    assert (count[size:] == 0).all()
    # 1,000 expected of each: five standard deviations.
    np.testing.assert_allclose(count[:size], 1000, atol=5 * np.sqrt(1000))
    np.testing.assert_allclose(drawn.value, drawn.board[:, 0] / 100, atol=1e-3)
    np.testing.assert_allclose(drawn.policy.sum(axis=-1), 1, atol=1e-6)
    assert (drawn.policy.dtype, drawn.value.dtype) == (jnp.float32, jnp.float32)


@pytest.mark.parametrize(("size", "num_bytes"), [(8, 83), (6, 55)])
def test_a_position_takes_as_many_bytes_as_documented(size, num_bytes):
    ring = jax.eval_shape(lambda: replay.empty_ring(othello.Othello(size), 1000))
    stored = (ring.board, ring.policy, ring.value)
    assert sum(x.size * x.dtype.itemsize for x in stored) == 1000 * num_bytes
    assert f"{num_bytes}" in replay.__doc__


def test_a_waiting_ply_takes_thirteen_bytes_more():
    history = jax.eval_shape(lambda: replay.empty_history(GAME, 1))
    num_plies = GAME.max_plies
    bytes_of = {
        "plies": sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(history)) // num_plies,
        "ring": 4 * GAME.packed_words + GAME.num_actions,
    }
    assert bytes_of["plies"] - bytes_of["ring"] == 13
    assert isinstance(history.plies, selfplay.Plies)


@pytest.mark.parametrize("num_devices", [1, 2, 3, 4, 12])
def test_rings_are_dealt_out_evenly_from_the_oldest_position_to_the_newest(num_devices):
    # Two rings of six rows: a full one that has gone round, and one with four positions.
    number = jnp.array([6, 7, 2, 3, 4, 5, 10, 11, 12, 13, 0, 0])
    rings = replay.Replay(
        board=jnp.stack([number, number + 100], axis=1).astype(jnp.uint32),
        policy=jnp.broadcast_to(number[:, None], (12, 5)).astype(jnp.uint8),
        value=number.astype(jnp.float16),
        next_row=jnp.array([2, 4], jnp.int32),
        size=jnp.array([6, 4], jnp.int32),
    )
    from_the_oldest = [2, 3, 4, 10, 5, 11, 6, 12, 7, 13]
    dealt = jax.jit(replay.redistribute, static_argnums=1)(rings, num_devices)
    assert jax.tree.map(lambda x: x.dtype, dealt) == jax.tree.map(lambda x: x.dtype, rings)
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
