"""Which changes of code make a compiled program run anew."""

import functools
import sys
import types

import jax
import jax.numpy as jnp
import pytest

import azo
from azo.games import game_config, registry, tictactoe
from azo.learning import pretraining, supervised
from azo.matches.tournament import rounds
from azo.networks import initial_variables, network_config
from azo.process import code_identity
from azo.search import improvement

CELL = """
import azo

LENGTH = {number}


def helper():
    return {number}


class Parent:
    def of_parent(self):
        return {number}


class Part(Parent):
    size = {number}

    def plain(self):
        return {number}

    def by_helper(self):
        return helper()

    def by_constant(self):
        return LENGTH

    def inner(self):
        return [helper() for _ in range(2)][0]

    @property
    def as_property(self):
        return {number}

    @classmethod
    def of_class(cls):
        return cls.size

    def __eq__(self, other):
        return type(other).__name__ == "Part"

    def __hash__(self):
        return 1


def closure(number):
    def act():
        return number

    return act


act = closure({number})
"""
USES = {
    "plain": lambda part: part.plain(),
    "by_helper": lambda part: part.by_helper(),
    "by_constant": lambda part: part.by_constant(),
    "inner": lambda part: part.inner(),
    "property": lambda part: part.as_property,
    "of_class": lambda part: part.of_class(),
    "of_parent": lambda part: part.of_parent(),
}


@pytest.fixture
def notebook():
    """A module whose cells are run again, as `__main__` of a notebook."""
    module = types.ModuleType("notebook_of_test")
    sys.modules[module.__name__] = module

    def run(number):
        exec(CELL.format(number=number), vars(module))
        return module

    yield run
    del sys.modules[module.__name__]


@code_identity.jit(static_argnums=(0, 1))
def use(how, part, x):
    return x + USES[how](part)


@pytest.mark.thorough
@pytest.mark.parametrize("how", USES)
def test_a_class_that_is_defined_again_is_another_one(how, notebook):
    assert use(how, notebook(1).Part(), 0) == 1
    assert use(how, notebook(2).Part(), 0) == 2  # equal to the first, and has its hash


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("plain", lambda module: setattr(module.Part, "plain", lambda self: 2)),
        ("of_parent", lambda module: setattr(module.Part, "of_parent", lambda self: 2)),
        ("of_parent", lambda module: setattr(module.Parent, "of_parent", lambda self: 2)),
        ("by_helper", lambda module: setattr(module, "helper", lambda: 2)),
        ("inner", lambda module: setattr(module, "helper", lambda: 2)),
        ("by_constant", lambda module: setattr(module, "LENGTH", 2)),
        ("of_class", lambda module: setattr(module.Part, "size", 2)),
        ("property", lambda module: setattr(module.Part, "as_property", property(lambda self: 2))),
        # As `%autoreload` of IPython does.
        ("by_helper", lambda module: setattr(module.helper, "__code__", (lambda: 2).__code__)),
    ],
)
def test_one_object_follows_its_code(how, change, notebook):
    module = notebook(1)
    part = module.Part()
    assert use(how, part, 0) == 1
    change(module)
    assert use(how, part, 0) == 2


def test_closures_defaults_and_wrapped_functions_count():
    traces = []

    @code_identity.jit(static_argnums=(0,))
    def call(function, x):
        traces.append(1)
        return function(x)

    def made(number):
        return lambda x: x + number

    def with_default(x, number=1):
        return x + number

    first = made(1)
    assert [call(first, 0), call(first, 0), call(made(2), 0)] == [1, 1, 2]
    assert len(traces) == 2
    assert call(with_default, 0) == 1
    with_default.__defaults__ = (5,)
    assert call(with_default, 0) == 5
    assert call(functools.partial(with_default, number=7), 0) == 7
    jitted = jax.jit(with_default)
    assert call(jitted, 0) == 5


def test_nothing_is_compiled_again_without_a_change(notebook):
    traces = []
    module = notebook(1)

    @code_identity.jit(static_argnums=(0,))
    def count(part, x):
        traces.append(part)
        return x + part.by_helper()

    for number in range(5):
        module.unrelated = number  # as the variables of a loop in a notebook
        assert count(module.Part(), number) == number + 1
    assert len(traces) == 1


def helper(x):
    return x + 1


def body(x):
    return helper(x)


INNER = {
    "scan": lambda x: jax.lax.scan(lambda_of_scan, x, None, length=1)[0],
    "cond": lambda x: jax.lax.cond(x > 0, body, body, x),
    "while_loop": lambda x: jax.lax.while_loop(lambda y: y < 1, body, x),
    "checkpoint": lambda x: jax.checkpoint(body)(x),
    "jit": lambda x: jitted(x),
}


def lambda_of_scan(x, _):
    return body(x), None


@jax.jit
def jitted(x):
    return helper(x)


@code_identity.jit(static_argnums=(0,))
def call_inner(function, x):
    return function(x)


@pytest.mark.parametrize("name", INNER)
def test_functions_inside_of_loops_and_branches_are_traced_again(name, monkeypatch):
    assert call_inner(INNER[name], jnp.float32(0.5)) == 1.5
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda x: x + 10)
    assert call_inner(INNER[name], jnp.float32(0.5)) == 10.5
    monkeypatch.undo()
    assert call_inner(INNER[name], jnp.float32(0.5)) == 1.5


def evaluate(key, position):
    del key
    return azo.Evaluation(jnp.zeros((len(position.player), 9)), jnp.zeros(len(position.player)))


CONFIG = network_config.NetworkConfig(kind="residual", num_blocks=0, num_channels=4, value_units=4)
GAME = tictactoe.TicTacToe()
PROGRAMS = {
    "search_moves": (
        "legal_mask",
        lambda: improvement.search_moves(
            GAME,
            evaluate,
            jax.random.key(0),
            GAME.start(2),
            config=azo.SearchConfig(num_simulations=2),
        ),
    ),
    "init": ("planes", lambda: initial_variables.init(GAME, CONFIG, jax.random.key(0))),
    "random_games": ("result", lambda: pretraining.random_games(GAME, jax.random.key(0), 4)),
    "replay": (
        "play",
        lambda: supervised._replay(GAME, jnp.zeros((2, 4), jnp.int32)),
    ),
    "tournament": (
        "is_over",
        lambda: rounds._advance(GAME, GAME.start(2), jnp.zeros(2, jnp.int32), jnp.zeros(2, bool)),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_azo_notice_a_method_that_is_replaced(name, monkeypatch):
    method, run = PROGRAMS[name]
    run()
    original, calls = getattr(tictactoe.TicTacToe, method), []

    def replaced(self, *arguments):
        calls.append(method)
        return original(self, *arguments)

    monkeypatch.setattr(tictactoe.TicTacToe, method, replaced)
    run()
    assert calls
    calls.clear()
    run()
    assert not calls  # the new program is kept


def test_the_registry_makes_the_game_of_the_class_that_there_is_now(notebook):
    source = "class G(azo.TicTacToe):\n    pass\n"
    config = game_config.GameConfig(name="notebook_of_test:G")
    module = notebook(1)
    exec(source, vars(module))
    first = registry.make(config)
    assert registry.make(config) is first
    exec(source, vars(module))
    assert type(registry.make(config)) is module.G
    assert type(registry.make(config)) is not type(first)
