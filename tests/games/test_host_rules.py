"""The host's symmetries against those of the device."""

import random

import numpy as np
import pytest

from azo.games import board_symmetry, symmetry
from azo.games.host import host_rules

_SIZES = [4, 6, 8]


def _random_position(rng, squares):
    P = sum(1 << square for square in squares if rng.random() < 0.4)
    return P, sum(1 << square for square in squares if rng.random() < 0.4) & ~P


@pytest.mark.parametrize("size", _SIZES)
def test_each_symmetry_of_the_host_is_that_of_the_device_with_the_same_number(size):
    rng = random.Random(size)
    squares = [8 * row + column for row in range(size) for column in range(size)]
    permutations = board_symmetry.square_permutations(size)
    places = symmetry.inverse(permutations)
    assert len(permutations) == host_rules.NUM_SYMMETRIES
    for k in range(host_rules.NUM_SYMMETRIES):
        for _ in range(20):
            board, _ = _random_position(rng, squares)
            cells = np.array([board >> square & 1 for square in squares])
            moved = int(host_rules.turned(np.uint64(board), k, size))
            assert [moved >> square & 1 for square in squares] == cells[permutations[k]].tolist()
            assert moved.bit_count() == board.bit_count()
        moved_actions = [host_rules.turned_action(action, k, size) for action in range(size**2)]
        assert moved_actions == places[k].tolist()
        assert host_rules.turned_action(size * size, k, size) == size * size
