"""The kernels for NVIDIA GPUs, interpreted on the CPU: the trees are those of XLA's loops."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import thorough
from support.builders import random_games, tiny_run

import azo
from azo.process import kernels
from azo.search import improvement, rules, search_tree
from azo.search.kernels import check, expansion
from azo.solver.device import kernel_check
from azo.training import devices
from benchmarks import search as search_benchmark

GAMES = (azo.Othello(6), azo.TicTacToe(), azo.Othello(4), azo.Othello(8))


@pytest.fixture
def untrusted():
    """Programs do not use the kernels at first, and not after the test."""
    kernels._TRUSTED.clear()
    yield
    kernels._TRUSTED.clear()


def tree_of(game, position, **settings):
    evaluate = functools.partial(search_benchmark.hashed_evaluation, game)
    config = improvement.SearchConfig(**settings)
    search = functools.partial(improvement.search, game, evaluate, config=config)
    result = jax.jit(search)(jax.random.key(3), position)
    return jax.device_get((result.action, result.policy, result.tree))


def late_positions(game):
    """Positions of which some are a few plies from the end, and some beyond it."""
    plies = game.max_plies // 2 if isinstance(game, azo.Othello) else game.max_plies
    parts = [random_games.positions(game, max(1, plies - back), 4) for back in (1, 4, 8, 20)]
    return jax.tree.map(lambda *x: jnp.concatenate(x), *parts)


@pytest.mark.parametrize("game", thorough.after_first(GAMES), ids=lambda game: game.name)
@pytest.mark.parametrize("algorithm", ["gumbel", "puct", "puct_over_visits"])
@pytest.mark.parametrize("has_proofs", [True, False])
def test_trees_are_those_of_loops_bit_for_bit(interpreted, game, algorithm, has_proofs):
    position = late_positions(game)
    settings = {"algorithm": algorithm, "has_proofs": has_proofs, "num_simulations": 24}
    found = tree_of(game, position, kernels="on", **settings)
    assert set(interpreted) == {"descend", "add_leaf"}
    interpreted.clear()
    expected = tree_of(game, position, kernels="off", **settings)
    assert not interpreted
    jax.tree.map(np.testing.assert_array_equal, found, expected)
    if has_proofs:
        tree = expected[-1]
        # Bounds pass up from a node that is no leaf, and paths end at proven nodes.
        has_children = (tree.child >= 0).any(axis=-1)
        assert (tree.bounds.is_proven() & has_children).any()
        assert ((tree.visits > 1) & ~has_children).any()


def test_several_leaves_and_rules_of_ones_own_have_no_kernel(interpreted):
    game = azo.TicTacToe()
    tree_of(game, game.start(2), kernels="on", leaves_per_step=2, num_simulations=4)
    assert not interpreted

    class Own(rules.named("gumbel")):
        pass

    assert Own not in rules.OF_AZO


@pytest.mark.parametrize("num_slots", [1, 4, 12])
def test_the_likeliest_moves_are_the_same_with_and_without_a_condition(num_slots):
    rng = np.random.default_rng(num_slots)
    for share in (0.1, 0.5):
        legal = jnp.asarray(rng.random((50, 20)) < share) | (jnp.arange(20) == 7)[None]
        logits = jnp.asarray(rng.integers(0, 6, (50, 20)), jnp.float32)  # many are equal
        action = jnp.sort(jnp.where(legal, jnp.arange(20)[None], 99), axis=1)[:, :num_slots]
        action = jnp.where(action == 99, -1, action)
        one, other = (
            choose(action, legal, logits)
            for choose in (search_tree._likeliest_if_full, search_tree._likeliest_by_rank)
        )
        np.testing.assert_array_equal(one, other)


def test_a_run_on_a_gpu_trusts_kernels_that_agree(interpreted, untrusted, monkeypatch):
    game = tiny_run.game()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert devices.check_kernels(tiny_run.settings(), game) == ""
    assert kernels.are_trusted()
    interpreted.clear()
    tree_of(game, game.start(2), num_simulations=4)
    assert interpreted


def test_without_a_gpu_nothing_is_checked(interpreted, untrusted):
    assert devices.check_kernels(tiny_run.settings(), tiny_run.game()) == ""
    assert not interpreted
    assert not kernels.are_trusted()


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (lambda *x: x[1], "they grow other trees in 64 of 64 positions"),
        (lambda *x: 1 / 0, "they do not run: division by zero"),
    ],
)
def test_kernels_that_do_not_agree_are_told_in_one_line(
    interpreted, untrusted, monkeypatch, fault, line
):
    def add_leaf(*arguments, is_interpreted):
        return fault(*arguments)

    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(expansion, "add_leaf", add_leaf)
    note = devices.check_kernels(tiny_run.settings(), tiny_run.game())
    assert note == f"search.kernels: {line}, so the run uses XLA's loops, which are slower"
    assert not kernels.are_trusted()
    assert check.difference(tiny_run.game(), tiny_run.settings().search) == line


def test_a_run_of_othello_compares_the_solver_too(interpreted, untrusted, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(check, "difference", lambda game, config: "")
    differences = ["", "the solver gives other scores for 3 of 64 endings"]
    monkeypatch.setattr(kernel_check, "difference", lambda game: differences[-1])
    settings, game = tiny_run.settings(), azo.Othello(4)
    note = devices.check_kernels(settings, game)
    assert note.startswith(f"search.kernels: {differences.pop()}, so the run")
    assert not kernels.are_trusted()
    assert devices.check_kernels(settings, game) == ""
    assert kernels.are_trusted()


def test_a_search_for_cuda_has_two_kernels_in_place_of_two_loops():
    game = azo.Othello(8)
    evaluate = functools.partial(search_benchmark.hashed_evaluation, game)

    def text(kernels):
        config = improvement.SearchConfig(kernels=kernels)
        search = functools.partial(improvement.search, game, evaluate, config=config)
        traced = jax.jit(lambda key, position: search(key, position).action).trace(
            jax.random.key(0), game.start(4)
        )
        return traced.lower(lowering_platforms=("cuda",)).as_text()

    by_kernels, by_loops = text("on"), text("off")
    assert by_kernels.count("stablehlo.while") == by_loops.count("stablehlo.while") - 2
    names = ("descent", "expansion")
    assert [by_kernels.count(f'name = "{name}"') for name in names] == [1, 1]
    assert not any(name in by_loops for name in names)
