"""Check of a network: everything that azo relies on, each on a few positions of a game."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.learning import initial_games, run_state
from azo.networks import base, network, pattern_network, pattern_tables

_BATCH = 6  # positions, an even number
_TOLERANCE = 1e-2  # of the largest entry: bfloat16 has 8 bits
_NOISE = 0.3  # added to fresh parameters, since many are 0 and hide what depends on them


def check_network(
    network_or_settings: Callable[..., Any] | network.NetworkConfig, game: protocol.Game
) -> tuple[network.Network, network.Variables, jax.Array]:
    """Checks all that `azo.check_network` does but the speed: see `training/network_speed.py`.

    Returns the network, variables with noise, and planes of some positions.
    """
    if isinstance(network_or_settings, network.NetworkConfig):
        model = network.build(game, network_or_settings)
    else:
        model = network.construct(network_or_settings, game, network.NetworkConfig(kind="residual"))
    games = _jit(lambda: initial_games.spread_games(game, jax.random.key(0), _BATCH))()
    planes = network.planes_of(game, model.config, games.position)
    variables = _checked_variables(model, planes)
    _check_play(game, model, variables, planes)
    _check_learning(model, variables, planes)
    return model, variables, planes


def _checked_variables(model: network.Network, planes: jax.Array) -> network.Variables:
    """Returns variables with noise."""
    variables = dict(_jit(model.init)(jax.random.key(1), planes[:1]))
    _require("params" in variables, "init gives no 'params'")
    others = ", ".join(variables.keys() - {"params", "batch_stats"})
    _require(not others, f"variables may be 'params' and 'batch_stats', not {others}")
    for path, x in jax.tree.leaves_with_path(variables):
        _require(x.dtype == jnp.float32, f"{_name(path)} is {x.dtype}, but should be float32")
    is_own = isinstance(model, pattern_network.PatternNetwork)
    reserved = pattern_tables.TABLES
    _require(is_own or reserved not in variables["params"], f"no parameter may be named {reserved}")
    draw = np.random.default_rng(0).normal
    params = jax.tree.map(
        lambda x: x + _NOISE * draw(size=x.shape).astype(np.float32), variables["params"]
    )
    return variables | {"params": params}


def _check_play(
    game: protocol.Game, model: network.Network, variables: network.Variables, planes: jax.Array
) -> None:
    """Checks the form for play: predictions, and that they depend on nothing else."""

    def evaluate(planes: jax.Array) -> Any:
        return model.apply(variables, planes)

    is_prediction = isinstance(jax.eval_shape(evaluate, planes), base.Prediction)
    _require(is_prediction, "__call__ returns no azo.Prediction")
    batched = _jit(evaluate)
    expected = batched(planes)
    _check_prediction(game, expected)
    _require_same(expected, batched(planes.astype(jnp.float32)), "the {} of float32 planes differs")
    alone = _jit(jax.vmap(lambda one: evaluate(one[None])))(planes)
    alone = jax.tree.map(lambda x: x[:, 0], alone)
    _require_same(expected, alone, "in play, the {} of a position depends on others in its batch")
    symbolic = jax.export.symbolic_shape("b")[0]
    argument = jax.ShapeDtypeStruct((symbolic, *planes.shape[1:]), jnp.float32)
    try:
        jax.export.export(jax.jit(evaluate))(argument)
    except Exception as error:
        raise ValueError(f"network: no program for a symbolic batch size: {error}") from error


def _check_prediction(game: protocol.Game, prediction: base.Prediction) -> None:
    numbers = {"prior_logits": (game.num_actions,), "score_logits": (len(game.scores),)}
    for name, x in vars(prediction).items():
        shape = [_BATCH, *numbers.get(name, ())]
        _require(list(x.shape) == shape, f"{name} is {list(x.shape)}, but should be {shape}")
        _require(x.dtype == jnp.float32, f"{name} is {x.dtype}, but should be float32")
        _require(np.isfinite(x).all(), f"{name} is not finite")
    for name in ("value", "score"):
        largest = np.abs(getattr(prediction, name)).max()
        _require(largest <= 1 + 1e-5, f"{name} is {largest:.3g}, but should be in [-1, 1]")


def _check_learning(
    model: network.Network, variables: network.Variables, planes: jax.Array
) -> None:
    """Checks the form for training: batch statistics, and gradients."""
    learner, spread = (
        model.clone(is_training=True, axis_name=axis_name) for axis_name in (None, run_state.AXIS)
    )

    def outputs(model: network.Network, params: Any, planes: jax.Array) -> Any:
        return model.apply(variables | {"params": params}, planes, mutable=["batch_stats"])

    def total(params: Any, model: network.Network) -> Any:
        draw = np.random.default_rng(1).normal
        leaves = jax.tree.leaves(outputs(model, params, planes)[0])
        return sum(((draw(size=x.shape) * x).sum() for x in leaves), jnp.float32(0))

    @_jit
    def compute(params: Any) -> Any:
        halves = planes.reshape(2, _BATCH // 2, *planes.shape[1:])
        on_device = functools.partial(outputs, spread, params)
        parts, _ = jax.vmap(on_device, axis_name=run_state.AXIS)(halves)
        parts = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), parts)
        # In training a bias before normalisation has no gradient.
        gradients = [jax.grad(total)(params, some) for some in (learner, model)]
        return outputs(learner, params, planes), parts, *gradients

    (prediction, updated), parts, gradient, of_play = compute(variables["params"])
    before, after = (
        jax.tree.map(lambda x: (x.shape, x.dtype), some.get("batch_stats", {}))
        for some in (variables, updated)
    )
    _require(before == after, "training changes the structure, shapes or types of batch_stats")
    _require_same(prediction, parts, "in training, the {} ignores the examples of other devices")
    for path, x in jax.tree.leaves_with_path(gradient):
        _require(np.isfinite(x).all(), f"the gradient of {_name(path)} is not finite")
    for path, x in jax.tree.leaves_with_path(of_play):
        _require(np.any(x), f"no gradient reaches the parameter {_name(path)}")


def _jit(function: Callable[..., Any]) -> Any:
    """Compiles a function that runs once, in the shortest time."""
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _require(is_kept: Any, broken: str) -> None:
    if not is_kept:
        raise ValueError(f"network: {broken}")


def _require_same(expected: base.Prediction, found: base.Prediction, broken: str) -> None:
    """Requires equal predictions; `broken` has a place for the name of an output."""
    for name, x in vars(expected).items():
        difference = np.abs(np.subtract(x, getattr(found, name))).max()
        _require(difference <= _TOLERANCE * np.abs(x).max(), broken.format(name))
