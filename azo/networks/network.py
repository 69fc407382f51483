"""Networks: from positions to policies and final scores.

A network gives logits for all actions; search and loss mask the illegal ones. There are two kinds:
residual towers, and sums over tables of patterns, which are many times faster to evaluate. Others
are classes of users, by import path: see `base.Network`.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from azo.games import protocol, variant
from azo.games.symmetry import inverse, move_planes, move_policy
from azo.networks import base, network_config, pattern_network, residual
from azo.networks.kernels import convolution
from azo.search import evaluations
from azo.settings import import_paths

Symmetry = Literal["none", "random", "average"]
NetworkConfig = network_config.NetworkConfig
Network = base.Network
Variables = dict[str, Any]  # flax collections: "params", and "batch_stats" unless folded


def build(game: protocol.Game, config: NetworkConfig) -> Network:
    """Returns the network for a game, in its form for play.

    ValueError, one line, for a form that does not suit the board, planes or actions of the game,
    and for an import path that leads to no `base.Network`.
    """
    needs_squares = config.kind == "patterns" or config.heads == "pooled"
    if needs_squares and not game.has_square_actions:
        raise ValueError(
            f"the actions of {game.name} are not the squares of its board: network.kind should be"
            " 'residual', and network.heads 'flat'"
        )
    if config.kind == "patterns" or config.input == "signed_plane":
        num_planes = jax.eval_shape(lambda: game.planes(game.start())).shape[-1]
        if num_planes != 2:
            raise ValueError(
                f"{game.name} has {num_planes} planes, not one per side: network.kind should be"
                " 'residual', and network.input 'two_planes'"
            )
    if config.kind == "residual":
        return construct(residual.ResidualNetwork, game, config)
    if config.kind != "patterns":
        return construct(import_paths.load("network.kind", config.kind), game, config)
    size, num_columns = game.board_shape
    if size != num_columns:
        raise ValueError(
            f"network.kind 'patterns' needs a square board, not {size} x {num_columns}"
        )
    if config.patterns.set != "small" and size < 4:
        raise ValueError(
            f"network.patterns.set {config.patterns.set!r} needs at least 4 rows, not {size}:"
            " set 'small'"
        )
    if config.patterns.has_move_counts and not isinstance(game, variant.Variant):
        raise ValueError(
            f"network.patterns.has_move_counts is for Othello, not {game.name}: set it to false"
        )
    return construct(pattern_network.PatternNetwork, game, config)


def construct(make: Callable[..., Any], game: protocol.Game, config: NetworkConfig) -> Network:
    """Returns the network that a class, or a function with such arguments, makes for a game."""
    network = None
    if callable(make) and not (isinstance(make, type) and not issubclass(make, base.Network)):
        network = make(
            config=config,
            board_shape=game.board_shape,
            num_actions=game.num_actions,
            scores=tuple(int(score) for score in game.scores),
        )
    if not isinstance(network, base.Network):
        raise ValueError(
            f"network.kind: {make!r} is not a subclass of azo.Network, and does not return one"
        )
    return network


def planes_of(game: protocol.Game, config: NetworkConfig, position: protocol.Position) -> jax.Array:
    """Returns a network's argument `[..., rows, columns, C]` bool or float32."""
    planes = game.planes(position)
    if not config.has_move_planes:
        return planes
    return jnp.concatenate([planes, game.legal_planes(position)], axis=-1)


def planes_shape(game: protocol.Game, config: NetworkConfig) -> tuple[int, ...]:
    """Returns rows, columns and planes of a network's argument."""
    return jax.eval_shape(lambda: planes_of(game, config, game.start())).shape


def shapes(game: protocol.Game, config: NetworkConfig) -> Variables:
    """Returns the shapes and types of variables, without making any."""
    init = build(game, config).init
    return dict(jax.eval_shape(init, jax.random.key(0), planes_of(game, config, game.start(1))))


def fold(model: Network, variables: Variables) -> tuple[Network, Variables]:
    """Returns an equal network that is faster to evaluate, and its variables."""
    if isinstance(model, residual.ResidualNetwork):
        return residual.fold(model, variables)
    if isinstance(model, pattern_network.PatternNetwork):
        return pattern_network.fold(model, variables)
    return model, variables


def folded_evaluator(
    game: protocol.Game,
    config: NetworkConfig,
    variables: Variables,
    *,
    symmetry: Symmetry = "none",
) -> evaluations.Evaluate:
    """Returns the evaluator of a trained network, which it folds."""
    return evaluator(game, *fold(build(game, config), variables), symmetry=symmetry)


def evaluator(
    game: protocol.Game,
    model: Network,
    variables: Variables,
    *,
    symmetry: Symmetry = "none",
) -> evaluations.Evaluate:
    """Returns the evaluator of a network for a search.

    It evaluates each position unchanged, moved by a random symmetry, or in all `K` images at the
    cost of `K` evaluations. It then averages probabilities, values and scores. Logits are moved
    back.
    """
    permutations = game.square_symmetries
    undo = inverse(game.action_symmetries)

    on_cpu = functools.partial(model.evaluate, variables)
    on_accelerator = model.on_accelerator(variables)

    def apply(planes: jax.Array) -> evaluations.Evaluation:
        prediction = convolution.apply_in_blocks(
            on_cpu, planes, block_size=model.block_size, on_accelerator=on_accelerator
        )
        return evaluations.Evaluation(prediction.prior_logits, prediction.value, prediction.score)

    def apply_moved(which: jax.Array, planes: jax.Array) -> evaluations.Evaluation:
        evaluation = apply(move_planes(permutations, which, planes))
        logits = move_policy(undo, which, evaluation.prior_logits)
        return dataclasses.replace(evaluation, prior_logits=logits)

    def evaluate(key: jax.Array, position: protocol.Position) -> evaluations.Evaluation:
        planes = planes_of(game, model.config, position)
        if symmetry == "none":
            return apply(planes)
        if symmetry == "random":
            which = jax.random.randint(key, planes.shape[:1], 0, len(permutations))
            return apply_moved(which, planes)
        which = jnp.repeat(jnp.arange(len(permutations)), planes.shape[0])
        images = apply_moved(which, jnp.tile(planes, (len(permutations), 1, 1, 1)))
        images = jax.tree.map(lambda x: x.reshape(len(permutations), -1, *x.shape[1:]), images)
        return evaluations.Evaluation(
            prior_logits=jnp.log(jax.nn.softmax(images.prior_logits).mean(axis=0)),
            value=images.value.mean(axis=0),
            score=None if images.score is None else images.score.mean(axis=0),
        )

    return evaluate
