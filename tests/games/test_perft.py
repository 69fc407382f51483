"""Leaf counts of the game tree from the start, counted with the batched rules.

Breadth first: every level is the set of its distinct positions, each with the number of ways that
lead to it. The last level is counted from its parents' legal moves and never made.

Where a pass is a ply, the published split between running and finished games was made by programs
that end a game at the second of two passes. The first of them is a ply there, so a game shows as
finished one ply later than with the rules here, which end it with its last disc. The number of
leaves is the same.
"""

import csv
import dataclasses
import functools
import pathlib

import jax
import numpy as np
import pytest

from azo.games import othello

_CHUNK = 2**13  # positions to a call: one shape, so one compilation for each board size
_FILE = pathlib.Path(__file__).parents[1] / "data" / "perft.csv"
_ROWS = list(csv.DictReader(_FILE.read_text().splitlines()))
_DEPTH = {8: 9, 6: 10, 4: 18}
_SLOW_DEPTH = {8: 11, 6: 12}  # 6 GB of memory; depth 12 of 8x8 takes 17 GB and four minutes


@dataclasses.dataclass(frozen=True)
class Level:
    """The distinct positions of games that are still going on, or have just ended."""

    packed: np.ndarray  # [n, 4] uint32
    num_ways: np.ndarray  # [n] int64


@functools.partial(jax.jit, static_argnums=0)
def _look(game, packed):
    position = game.unpack(packed)
    return game.legal_mask(position), game.is_over(position)


@functools.partial(jax.jit, static_argnums=0)
def _play(game, packed, action):
    return game.pack(game.play(game.unpack(packed), action))


def _in_chunks(function, *arrays):
    """Returns `function` of arrays `[n, ...]`, called on pieces of one size."""
    num_rows = len(arrays[0])
    pieces = []
    for first in range(0, num_rows, _CHUNK):
        piece = [array[first : first + _CHUNK] for array in arrays]
        missing = _CHUNK - len(piece[0])
        padded = [np.pad(p, [(0, missing)] + [(0, 0)] * (p.ndim - 1)) for p in piece]
        output = jax.device_get(function(*padded))
        pieces.append(jax.tree.map(lambda x, missing=missing: x[: _CHUNK - missing], output))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)


def _merge(packed, num_ways):
    """Returns a level with equal positions put together."""
    words = np.ascontiguousarray(packed).view(np.uint64)
    order = np.lexsort(words.T)
    words, num_ways = words[order], num_ways[order]
    is_first = np.ones(len(words), bool)
    is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
    return Level(
        packed=words[is_first].view(np.uint32),
        num_ways=np.add.reduceat(num_ways, np.flatnonzero(is_first)),
    )


def _pass_where_forced(game, level):
    """Returns the level with each position that must pass seen by the other side."""
    legal, is_over = _in_chunks(functools.partial(_look, game), level.packed)
    must_pass = legal[:, game.pass_action] & ~is_over
    packed = level.packed.copy()
    packed[must_pass] = packed[must_pass][:, [2, 3, 0, 1]]
    return _merge(packed, level.num_ways)


@functools.cache
def _counts(size, depth, is_pass_a_ply):
    """Returns the leaves at depths 1 to `depth`, and how many of them had finished before."""
    game = othello.Othello(size)
    level = Level(np.asarray(game.pack(game.start(1))), np.ones(1, np.int64))
    num_finished, leaves, finished = 0, [], []
    for ply in range(1, depth + 1):
        if not is_pass_a_ply and len(level.packed):
            level = _pass_where_forced(game, level)
        if not len(level.packed):
            leaves.append(num_finished)
            finished.append(num_finished)
            continue
        legal, is_over = _in_chunks(functools.partial(_look, game), level.packed)
        legal &= ~is_over[:, None]
        num_finished += int(level.num_ways[is_over].sum())
        leaves.append(num_finished + int((legal.sum(axis=1) * level.num_ways).sum()))
        finished.append(num_finished)
        if ply == depth:
            break
        parent, action = np.nonzero(legal)
        if len(parent):
            after = _in_chunks(
                functools.partial(_play, game), level.packed[parent], action.astype(np.int32)
            )
            level = _merge(after, level.num_ways[parent])
        else:
            level = Level(level.packed[:0], level.num_ways[:0])
    return leaves, finished


def _check(size, depth, is_pass_a_ply):
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


@pytest.mark.parametrize("is_pass_a_ply", [True, False], ids=["pass_a_ply", "pass_not_a_ply"])
@pytest.mark.parametrize("size", [4, pytest.param(6, marks=pytest.mark.slow), 8])
def test_number_of_games_from_the_start_matches_the_counts_of_others(size, is_pass_a_ply):
    _check(size, _DEPTH[size], is_pass_a_ply)


@pytest.mark.slow
@pytest.mark.parametrize("is_pass_a_ply", [True, False], ids=["pass_a_ply", "pass_not_a_ply"])
@pytest.mark.parametrize("size", [6, 8])
def test_number_of_longer_games_matches_the_counts_of_others(size, is_pass_a_ply):
    _check(size, _SLOW_DEPTH[size], is_pass_a_ply)


def test_four_by_four_has_60060_complete_games():
    leaves, finished = _counts(4, 20, True)
    assert leaves[-1] == finished[-1] == 60060
