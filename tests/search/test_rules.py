"""Rules of your own by import path: the example, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.builders import random_games
from support.drivers import refusals
from support.fakes import fake_evaluation

import azo
from azo.search import gumbel, puct, rules, search_tree
from examples import forced_playouts

GAME = azo.TicTacToe()
OWN = "examples.forced_playouts:ForcedPlayouts"


def root_visits(algorithm, position, num_simulations=64):
    config = azo.SearchConfig(
        algorithm=algorithm, num_simulations=num_simulations, has_proofs=False, puct={"c_puct": 0.1}
    )
    tree = fake_evaluation.search(GAME, position, config).tree
    return search_tree.node_of(tree, jnp.zeros(len(tree.visits), jnp.int32))


def test_the_example_forces_visits_of_tried_moves_alone():
    position = random_games.positions(GAME, 1)
    usual, forced = (root_visits(name, position) for name in ("puct", OWN))
    needed = np.sqrt(forced_playouts.SCALE * np.exp(forced.logits) * forced.visits[:, None])
    tried = np.asarray(forced.move_visits > 0)
    # The last simulations may have raised the need by less than one visit.
    assert (np.asarray(forced.move_visits)[tried] > needed[tried] - 1).all()
    is_short = np.asarray((usual.move_visits > 0) & (usual.move_visits < needed - 1))
    assert is_short.any()  # what plain PUCT does not do


def test_a_section_of_settings_serves_the_rules_that_derive_from_it():
    config = azo.SearchConfig(algorithm=OWN, puct={"c_puct": 3.0})
    assert config.puct.c_puct == 3.0
    assert issubclass(rules.named(OWN), rules.named("puct"))


class WithoutDecision:
    """Lacks `decide`."""

    begin = select_at_root = select_below = staticmethod(lambda *_: None)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("WithoutDecision", "but should be a class with the methods of azo.search.rules.Rule"),
        ("root_visits", "but should be a class with the methods of azo.search.rules.Rule"),
        ("Absent", "but test_rules has no 'Absent'"),
    ],
)
def test_what_is_no_rule_is_one_line(name, start):
    path = f"{__name__}:{name}"
    azo.SearchConfig(algorithm=path)  # which allows it, as a user's own code does
    assert start in refusals.message_of(rules.named, path)


class _Forbidding:
    def select_at_root(self, root):
        return super().select_at_root(root.without(root.logits < root.logits.max() - 1e-6))


class ForbiddingGumbel(_Forbidding, gumbel.Gumbel):
    """Tries only the likeliest moves."""


class ForbiddingPuct(_Forbidding, puct.Puct):
    """Tries only the likeliest moves."""


class ForbiddingVisits(_Forbidding, puct.PuctOverVisits):
    """Tries only the likeliest moves."""


@pytest.mark.parametrize("has_proofs", [False, True])
@pytest.mark.parametrize("name", ["ForbiddingGumbel", "ForbiddingPuct", "ForbiddingVisits"])
def test_excluded_moves_of_the_root_have_no_visit(name, has_proofs):
    config = azo.SearchConfig(
        algorithm=f"{__name__}:{name}",
        num_simulations=32,
        has_proofs=has_proofs,
        puct={"root_noise_fraction": 0.0},
    )
    tree = fake_evaluation.search(GAME, GAME.start(1), config).tree
    root = search_tree.node_of(tree, jnp.zeros(1, jnp.int32))
    is_likeliest = root.logits == root.logits.max()
    assert not root.move_visits[~is_likeliest].any()
    assert root.move_visits.sum() > 16


def test_a_node_keeps_its_moves_if_all_are_excluded():
    tree = fake_evaluation.search(GAME, GAME.start(1), azo.SearchConfig(num_simulations=4)).tree
    root = search_tree.node_of(tree, jnp.zeros(1, jnp.int32))
    np.testing.assert_array_equal(root.without(root.is_legal).is_open(), root.is_open())
    first = jnp.arange(root.logits.shape[1]) == 0
    assert not root.without(first[None]).is_open()[0, 0]


def test_an_unknown_algorithm_is_named():
    with pytest.raises(ValueError, match="should be 'gumbel', 'puct', 'puct_over_visits', or an"):
        azo.SearchConfig(algorithm="alphabeta")


def test_a_batch_is_searched_by_a_rule_of_its_own():
    evaluate = fake_evaluation.hashed(GAME)
    config = azo.SearchConfig(algorithm=OWN, num_simulations=8)
    result = azo.search_moves(GAME, evaluate, jax.random.key(0), GAME.start(3), config=config)
    np.testing.assert_allclose(result.policy.sum(axis=-1), 1, rtol=1e-6)
