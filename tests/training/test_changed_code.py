"""A second run in one process uses the code that there is now."""

import sys
import types

import pytest
from support.builders import tiny_run

import azo
from azo.learning import targets
from azo.networks import base
from azo.training import metrics

CELL = """
import jax.numpy as jnp
import azo

LENGTH = {length}


def length():
    return LENGTH


class Nim(azo.Game):
    board_shape, num_actions, max_plies = (1, 8), 2, 8

    def start(self, *batch_shape):
        return jnp.full(batch_shape, length(), jnp.int32)

    def legal_mask(self, stones):
        return jnp.stack([k < jnp.maximum(stones, 1) for k in range(2)], axis=-1)

    def is_over(self, stones):
        return stones == 0

    def play(self, stones, action):
        return jnp.maximum(stones - action - 1, 0)

    def result(self, stones):
        return jnp.where(stones == 0, -1.0, 0.0)

    def planes(self, stones):
        return jnp.stack([k < stones for k in range(8)], axis=-1)[..., None, :, None]
"""
BY_NAME = """
    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)
"""


@pytest.fixture
def notebook():
    module = types.ModuleType("notebook_of_runs")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.fixture
def train(tmp_path):
    """A function that trains one iteration in a folder of its own; returns its figures."""
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(tiny_run.toml(network={"num_blocks": 0}))
    count = iter(range(9))

    def run(**settings):
        named = {name.replace("__", "."): value for name, value in settings.items()}
        limits = {"run.num_iterations": 1, "search.gumbel.max_considered_actions": 2}
        limits |= {"evaluation.every": 0}
        folder = azo.run_training(recipe, limits | named, folder=tmp_path / f"run{next(count)}")
        (event,) = metrics.read(folder, "iteration")
        return event

    return run


# Eight games side by side, four plies of each.
def games_of(train):
    return train(game__name="notebook_of_runs:Nim")["selfplay/games"]


@pytest.mark.thorough
@pytest.mark.parametrize("equality", ["", BY_NAME], ids=["by identity", "by name"])
def test_a_game_that_is_defined_again_is_trained_by_its_new_rules(equality, notebook, train):
    exec(CELL.format(length=8) + equality, vars(notebook))
    assert games_of(train) < 8
    exec(CELL.format(length=1) + equality, vars(notebook))
    assert games_of(train) == 32  # each ends after its first ply


@pytest.mark.thorough
def test_what_a_game_uses_in_its_module_may_change(notebook, train):
    exec(CELL.format(length=8), vars(notebook))
    assert games_of(train) < 8
    notebook.LENGTH = 1
    assert games_of(train) == 32
    notebook.length = lambda: 8
    assert games_of(train) < 8


@pytest.mark.thorough
def test_a_patched_function_of_azo_is_used_and_an_unpatched_one_again(train, monkeypatch):
    train()
    calls, original = [], targets.outcome_targets

    def patched(*arguments, **settings):
        calls.append(1)
        return original(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(targets, "outcome_targets", patched)
        train()
        assert calls
    calls.clear()
    train()
    assert not calls


@pytest.mark.thorough
def test_a_patched_method_of_a_network_is_used(train, monkeypatch):
    train()
    calls, original = [], base.predict

    def patched(*arguments, **settings):
        calls.append(1)
        return original(*arguments, **settings)

    monkeypatch.setattr(base, "predict", patched)
    train()
    assert calls


@pytest.mark.thorough
def test_equal_code_shares_its_program(train, capsys):
    train()
    assert "compiling, half" in capsys.readouterr().out
    train(learner__learning_rate=2e-3)
    assert "compiling, half" not in capsys.readouterr().out
