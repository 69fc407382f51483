import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import random_games

from azo.games import othello, symmetry, tictactoe
from azo.learning import duplicates


def test_duplicates_are_averaged_as_by_hand():
    # Rows 0, 2 and 5 are the same; row 1 differs in the second word, row 4 in the first alone.
    # Row 3 has the key of row 0 but is unused; rows 6 and 7 are a pair with the largest key.
    last = 2**32 - 1
    keys = [[7, 1], [7, 2], [7, 1], [7, 1], [3, 1], [7, 1], [last, last], [last, last]]
    values = [[1.0, 0.5], [9.0, 9.0], [0.0, 0.25], [np.nan, 5], [-4, 2], [-1, 0], [1, 1], [0, 0]]
    is_used = [True, True, True, False, True, True, True, True]
    means, count = jax.jit(duplicates.group_means)(
        jnp.array(keys, jnp.uint32), jnp.array(values, jnp.float32), jnp.array(is_used)
    )
    triple = [0.0, 0.25]  # (1 + 0 - 1) / 3 and (0.5 + 0.25 + 0) / 3
    expected = [triple, [9, 9], triple, [0, 0], [-4, 2], triple, [0.5, 0.5], [0.5, 0.5]]
    np.testing.assert_allclose(means, expected, atol=1e-7)
    np.testing.assert_array_equal(count, [3, 1, 3, 0, 1, 3, 2, 2])


def test_means_of_many_rows_equal_those_of_a_dictionary():
    generator = np.random.default_rng(0)
    keys = generator.integers(0, 4, (300, 3)).astype(np.uint32) * np.uint32(1_234_567_890)
    values = generator.normal(size=(300, 2)).astype(np.float32)
    is_used = generator.random(300) < 0.8
    rows_of: dict = {}
    for row in np.flatnonzero(is_used):
        rows_of.setdefault(tuple(keys[row]), []).append(row)
    means, count = jax.jit(duplicates.group_means)(keys, values, is_used)
    groups = jax.jit(duplicates.groups)(keys, is_used)
    for rows in rows_of.values():
        expected = np.broadcast_to(values[rows].mean(axis=0), (len(rows), 2))
        # The order of a sum of up to a dozen normal values.
        np.testing.assert_allclose(np.asarray(means)[rows], expected, atol=1e-6)
        np.testing.assert_array_equal(np.asarray(count)[rows], len(rows))
        assert list(np.asarray(groups.is_first)[rows]) == [True] + [False] * (len(rows) - 1)
        assert len(set(np.asarray(groups.index)[rows].tolist())) == 1
    np.testing.assert_array_equal(np.asarray(means)[~is_used], 0.0)
    np.testing.assert_array_equal(np.asarray(count)[~is_used], 0)
    assert int(groups.is_first.sum()) == len(rows_of)


def test_without_used_rows_there_are_no_groups():
    keys = jnp.zeros((3, 1), jnp.uint32)
    means, count = duplicates.group_means(keys, jnp.ones((3, 1)), jnp.zeros(3, bool))
    np.testing.assert_array_equal(means, np.zeros((3, 1)))
    np.testing.assert_array_equal(count, [0, 0, 0])


def _packed_by_hand(planes):
    """Returns the words of planes `[rows, columns, 2]`: bit 2 * square + plane, 32 a word."""
    number = sum(1 << i for i, is_set in enumerate(planes.reshape(-1)) if is_set)
    words = -(-planes.size // 32)
    return tuple(number >> 32 * word & 0xFFFFFFFF for word in range(words))


@pytest.mark.parametrize("game", [tictactoe.TicTacToe(), othello.Othello(6)], ids=lambda g: g.name)
def test_the_key_is_the_least_image_by_rotating_and_mirroring(game):
    games = random_games.play(game, 8, seed=3)
    position = jax.tree.map(lambda x: jnp.asarray(x[5]), games.position)
    board = game.pack(position)
    keys, which = jax.jit(lambda board: duplicates.canonical_keys(game, board))(board)
    for row, planes in enumerate(np.asarray(game.planes(position))):
        images = [
            _packed_by_hand(np.rot90(mirrored, turns))
            for mirrored in (planes, planes[:, ::-1])
            for turns in range(4)
        ]
        assert tuple(np.asarray(keys)[row].tolist()) == min(images)
        assert int(which[row]) == images.index(min(images))


def test_images_of_a_position_are_averaged_up_to_symmetry():
    game = othello.Othello(6)
    # The four first moves lead to images of one another.
    moves = np.flatnonzero(game.legal_mask(game.start()))
    after = game.step(game.start(4), jnp.asarray(moves)).position
    keys, which = duplicates.canonical_keys(game, game.pack(after))
    groups = duplicates.groups(keys, jnp.ones(4, bool))
    np.testing.assert_array_equal(groups.count, [4, 4, 4, 4])
    # Each policy is one on its own first legal move; moved to the key's image, averaged and back.
    policy = jax.nn.one_hot(jnp.argmax(game.legal_mask(after), axis=-1), game.num_actions)
    there = symmetry.move_policy(game.square_symmetries, which, policy)
    means = duplicates.means(groups, there)
    back = symmetry.move_policy(symmetry.inverse(game.square_symmetries), which, means)
    np.testing.assert_allclose(back.sum(axis=-1), 1.0, atol=1e-6)
    assert not np.any(np.asarray(back) * ~np.asarray(game.legal_mask(after)))
    np.testing.assert_array_equal(symmetry.move_policy(game.square_symmetries, which, back), means)
