"""Leaf counts of the game tree from the start, counted with the batched rules.

Breadth first: the last level is counted from its parents' legal moves and never made.

Where a pass is a ply, the published split between running and finished games was made by programs
that end a game at the second of two passes. The first of them is a ply there, so a game shows as
finished one ply later than with the rules here, which end it with its last disc. The number of
leaves is the same.
"""

import csv
import functools
import pathlib

import jax
import numpy as np
import pytest

from azo.games import othello

_CHUNK = 2**13  # positions to a call: one shape, so one compilation for each board size
_FILE = pathlib.Path(__file__).parents[1] / "data" / "perft.csv"
_ROWS = list(csv.DictReader(_FILE.read_text().splitlines()))


@functools.partial(jax.jit, static_argnums=0)
def _look(game, packed):
    position = game.unpack(packed)
    return game.legal_mask(position), game.is_over(position)


@functools.partial(jax.jit, static_argnums=0)
def _play(game, packed, action):
    return game.pack(game.play(game.unpack(packed), action))


def _in_chunks(function, *arrays):
    """Returns `function` of arrays `[n, ...]`, called on pieces of one size."""
    pieces = []
    for first in range(0, max(len(arrays[0]), 1), _CHUNK):
        piece = [array[first : first + _CHUNK] for array in arrays]
        length = len(piece[0])
        padded = [np.pad(p, [(0, _CHUNK - length)] + [(0, 0)] * (p.ndim - 1)) for p in piece]
        output = jax.device_get(function(*padded))
        pieces.append(jax.tree.map(lambda x, length=length: x[:length], output))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)


@functools.cache
def _counts(size, depth, is_pass_a_ply):
    """Returns the leaves at depths 1 to `depth`, and how many of them had finished before."""
    game = othello.Othello(size)
    look, play = (functools.partial(function, game) for function in (_look, _play))
    packed, num_finished, leaves, finished = np.asarray(game.pack(game.start(1))), 0, [], []
    for ply in range(1, depth + 1):
        legal, is_over = _in_chunks(look, packed)
        if not is_pass_a_ply:  # the other side moves at once
            must_pass = legal[:, game.pass_action] & ~is_over
            packed = np.where(must_pass[:, None], packed[:, [2, 3, 0, 1]], packed)
            legal, is_over = _in_chunks(look, packed)
        legal &= ~is_over[:, None]
        num_finished += int(is_over.sum())
        leaves.append(num_finished + int(legal.sum()))
        finished.append(num_finished)
        if ply < depth:
            parent, action = np.nonzero(legal)
            packed = _in_chunks(play, packed[parent], action.astype(np.int32))
    return leaves, finished


@pytest.mark.parametrize("is_pass_a_ply", [True, False], ids=["pass_a_ply", "pass_not_a_ply"])
@pytest.mark.parametrize(("size", "depth"), [(4, 18), (6, 9), (8, 9)])
def test_number_of_games_from_the_start_matches_the_counts_of_others(size, depth, is_pass_a_ply):
    rule, suffix = ("a_ply", "") if is_pass_a_ply else ("not_a_ply", "_2")
    leaves, finished = _counts(size, depth, is_pass_a_ply)
    if is_pass_a_ply:
        finished = [0, *finished[:-1]]
    rows = [row for row in _ROWS if int(row["board"]) == size and int(row["depth"]) <= depth]
    assert len(rows) == depth
    for row, num_leaves, num_finished in zip(rows, leaves, finished, strict=True):
        at = f"{size}x{size}, depth {row['depth']}, pass {rule}"
        assert num_leaves == int(row[f"leaves_pass_is_{rule}"]), at
        assert num_finished == int(row[f"of_these_finished_before_depth{suffix}"]), at


def test_four_by_four_has_60060_complete_games():
    leaves, finished = _counts(4, 20, True)
    assert leaves[-1] == finished[-1] == 60060
