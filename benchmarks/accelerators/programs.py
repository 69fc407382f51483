"""The programs that are compiled, with the shapes of their arguments."""

import dataclasses
import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from azo.games import othello, registry
from azo.learning import iteration, run_state
from azo.networks import network
from azo.search import improvement
from azo.solver.device import batched
from azo.training import config
from benchmarks import baselines

GAME = othello.Othello(8)
TOWERS = {
    "5x128": network.NetworkConfig(kind="residual", num_blocks=5, num_channels=128),
    "8x128": network.NetworkConfig(kind="residual", num_blocks=8, num_channels=128),
    "patterns": network.NetworkConfig(kind="patterns"),
}


def whole(
    settings: config.Config, mesh: Mesh, kind: iteration.Kind = "play_and_learn"
) -> jax.stages.Lowered:
    """Returns the iteration of a run, lowered for the devices of a mesh."""
    game, recipe = registry.make(settings.game), settings
    create = functools.partial(
        run_state.create, game, recipe, seed=0, num_devices=mesh.devices.size
    )
    shapes, specs = jax.eval_shape(create), run_state.partition(recipe)

    def placed(field: str) -> Any:
        return _placed(mesh, getattr(shapes, field), getattr(specs, field) or PartitionSpec())

    fields = {field.name: placed(field.name) for field in dataclasses.fields(shapes)}
    state = dataclasses.replace(shapes, **fields)
    progress = _placed(mesh, jax.ShapeDtypeStruct((), jnp.float32), PartitionSpec())
    return iteration.build(game, recipe, mesh, kind=kind).lower(state, progress)


def search(
    by: str,
    mesh: Mesh,
    network_config: network.NetworkConfig,
    *,
    num_games: int,
    num_simulations: int,
    algorithm: str = "gumbel",
    kernels: Literal["auto", "on", "off"] = "auto",
) -> jax.stages.Lowered:
    """Returns a search by azo, by mctx on azo's rules, or as in Pgx's example, lowered."""
    settings = improvement.SearchConfig(
        algorithm=algorithm, num_simulations=num_simulations, kernels=kernels
    )

    def by_azo(variables: network.Variables, key: jax.Array, position: Any) -> Any:
        evaluate = network.folded_evaluator(GAME, network_config, variables)
        result = improvement.search(GAME, evaluate, key, position, config=settings)
        return result.action, result.policy, result.value

    def by_mctx(variables: network.Variables, key: jax.Array, position: Any) -> Any:
        predict = network.folded_evaluator(GAME, network_config, variables)

        def evaluate(key: jax.Array, position: Any) -> improvement.Evaluation:
            with jax.named_scope("evaluation"):
                return predict(key, position)

        output = baselines.mctx_search(GAME, evaluate, key, position, config=settings)
        return output.action, output.action_weights

    def by_pgx(variables: network.Variables, key: jax.Array, state: Any) -> Any:
        model, folded = network.fold(network.build(GAME, network_config), variables)
        predict = model.on_accelerator(folded)

        def apply(planes: jax.Array) -> improvement.Evaluation:
            with jax.named_scope("evaluation"):
                prediction = predict(planes)
            return improvement.Evaluation(prediction.prior_logits, prediction.value)

        output = baselines.pgx_search(
            baselines.pgx_othello(), apply, key, state, num_simulations=num_simulations
        )
        return output.action, output.action_weights

    functions = {"azo": by_azo, "mctx": by_mctx, "Pgx": by_pgx}
    key = jax.eval_shape(lambda: jax.random.key(0))
    positions = jax.eval_shape(functools.partial(GAME.start, num_games))
    if by == "Pgx":
        env = baselines.pgx_othello()
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), num_games))
        positions = jax.eval_shape(jax.vmap(env.init), keys)
    variables = network.shapes(GAME, network_config)
    arguments = _placed(mesh, (variables, key, positions), PartitionSpec())
    return jax.jit(functions[by]).lower(*arguments)


def solver(
    mesh: Mesh, *, num_positions: int, max_empties: int, num_lanes: int
) -> jax.stages.Lowered:
    """Returns the exact solution of endings, lowered."""
    positions = jax.eval_shape(functools.partial(GAME.start, num_positions))
    solve = functools.partial(batched.solve, GAME, max_empties=max_empties, num_lanes=num_lanes)
    return jax.jit(lambda position: solve(position)).lower(
        _placed(mesh, positions, PartitionSpec())
    )


def _placed(mesh: Mesh, shapes: Any, spec: PartitionSpec) -> Any:
    sharding = NamedSharding(mesh, spec)
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), shapes)
