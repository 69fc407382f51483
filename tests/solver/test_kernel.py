"""The solver's kernel for NVIDIA GPUs, interpreted on the CPU: scores and nodes are the lanes'."""

import functools

import jax
import numpy as np
import pytest
from support import thorough

from azo.games import othello
from azo.process import kernels
from azo.solver.device import batched, kernel, kernel_check, lanes

GAMES = (
    othello.Othello(8),
    othello.Othello(6),
    othello.Othello(4),
    othello.Othello(6, is_reversed=True),
)


@pytest.mark.parametrize("game", thorough.after_first(GAMES), ids=lambda game: game.name)
def test_scores_and_nodes_are_those_of_the_lanes(game):
    position = jax.jit(functools.partial(kernel_check.random_endings, game, 64, 8))(
        jax.random.key(0)
    )
    position = jax.tree.map(lambda x: x[:50], position)  # the last program has idle lanes
    is_included = (np.arange(50) % 5 != 0) & (game.num_empties(position) <= 8)
    searcher = lanes.Searcher(game, 8)
    by_lanes = functools.partial(batched.search_lanes, searcher, num_lanes=16)
    by_kernel = functools.partial(kernel.search, searcher, is_interpreted=True)
    one, other = (jax.jit(solve)(position, is_included) for solve in (by_lanes, by_kernel))
    jax.tree.map(np.testing.assert_array_equal, one, other)
    assert int(one[1].sum()) > 500


def test_solutions_come_from_the_kernel_once_it_is_trusted(interpreted, monkeypatch):
    game = othello.Othello(4)
    position = jax.jit(functools.partial(kernel_check.random_endings, game, 64, 8))(
        jax.random.key(1)
    )

    def solve():
        solver = functools.partial(batched.solve, game, max_empties=4, num_lanes=8)
        return jax.jit(solver)(position)

    expected = solve()
    assert not interpreted
    monkeypatch.setattr(kernels, "are_trusted", lambda: True)
    jax.tree.map(np.testing.assert_array_equal, solve(), expected)
    assert interpreted == ["search"]


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (None, ""),
        (
            lambda *x: (x[1] * 0 - 99, x[1] * 0),
            "the solver gives other scores for 64 of 64 endings",
        ),
        (lambda *x: 1 / 0, "the solver does not run: division by zero"),
    ],
)
def test_a_solver_that_does_not_agree_is_told_in_one_line(interpreted, monkeypatch, fault, line):
    if fault is not None:
        monkeypatch.setattr(kernel, "search", lambda *x, is_interpreted: fault(*x[1:]))
    assert kernel_check.difference(othello.Othello(4)) == line
