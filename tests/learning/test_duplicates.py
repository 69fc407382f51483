import jax
import jax.numpy as jnp
import numpy as np

from azo.learning import duplicates


def test_duplicates_are_averaged_as_by_hand():
    # Rows 0, 2 and 5 are the same; row 1 differs in the second word, row 4 in the first alone.
    # Row 3 has the key of row 0 but is unused; rows 6 and 7 are a pair with the largest key.
    last = 2**32 - 1
    keys = [[7, 1], [7, 2], [7, 1], [7, 1], [3, 1], [7, 1], [last, last], [last, last]]
    values = [[1.0, 0.5], [9.0, 9.0], [0.0, 0.25], [np.nan, 5], [-4, 2], [-1, 0], [1, 1], [0, 0]]
    is_used = [True, True, True, False, True, True, True, True]
    rows = jax.jit(duplicates.groups)(jnp.array(keys, jnp.uint32), jnp.array(is_used))
    means = jax.jit(duplicates.means)(rows, jnp.array(values, jnp.float32))
    triple = [0.0, 0.25]  # (1 + 0 - 1) / 3 and (0.5 + 0.25 + 0) / 3
    expected = [triple, [9, 9], triple, [0, 0], [-4, 2], triple, [0.5, 0.5], [0.5, 0.5]]
    np.testing.assert_allclose(means, expected, atol=1e-7)
    np.testing.assert_array_equal(rows.count, [3, 1, 3, 0, 1, 3, 2, 2])


def test_means_of_many_rows_equal_those_of_a_dictionary():
    generator = np.random.default_rng(0)
    keys = generator.integers(0, 4, (300, 3)).astype(np.uint32) * np.uint32(1_234_567_890)
    values = generator.normal(size=(300, 2)).astype(np.float32)
    is_used = generator.random(300) < 0.8
    rows_of: dict = {}
    for row in np.flatnonzero(is_used):
        rows_of.setdefault(tuple(keys[row]), []).append(row)
    groups = jax.jit(duplicates.groups)(keys, is_used)
    means, count = jax.jit(duplicates.means)(groups, values), groups.count
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
    rows = duplicates.groups(keys, jnp.zeros(3, bool))
    np.testing.assert_array_equal(duplicates.means(rows, jnp.ones((3, 1))), np.zeros((3, 1)))
    np.testing.assert_array_equal(rows.count, [0, 0, 0])
