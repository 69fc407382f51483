"""The gradient of one global batch, as the learner takes it over all devices of a run.

As a program it writes the gradient to a file: `python global_gradient.py FILE [flags of a run]`.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec

from azo.cli import train
from azo.learning import learner, network, placement, ply_records, replay, run_state
from azo.run import config, devices
from support import random_games, tiny_run

BATCH_SIZE = 64


def of_run(settings: config.Config) -> dict[str, np.ndarray]:
    """Returns the gradient by the names of the parameters, and the new running averages."""
    recipe = settings.model_copy(
        update={"learner": learner.LearnerConfig(num_steps=1, augment=False, batch_size=BATCH_SIZE)}
    )
    num_devices = devices.prepare(recipe)
    mesh = placement.make_mesh(num_devices)
    game = tiny_run.game()
    net = network.build(game, recipe.network)
    # An optimiser that does nothing but remember: its state is the gradient.
    remember = optax.trace(decay=0.0)

    def step(start: learner.TrainState, examples: replay.Examples) -> learner.TrainState:
        after, _ = learner.learn(
            game,
            net.clone(is_training=True, axis_name=run_state.AXIS),
            remember,
            jax.random.key(0),
            start,
            lambda key: examples,  # the rows of this device as they are, in place of random ones
            config=recipe.learner,
            axis_name=run_state.AXIS,
        )
        return after

    batch = jax.device_get(_batch())

    # The usual initial values would take longer to compile than the gradient.
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: network.init(game, recipe.network, jax.random.key(0)))
    variables = jax.tree.map(lambda x: rng.uniform(-0.5, 0.5, x.shape).astype(x.dtype), shapes)

    def run() -> learner.TrainState:
        start = learner.init(remember, variables, recipe.learner)
        everywhere, split = PartitionSpec(), PartitionSpec(run_state.AXIS)
        spread = jax.shard_map(
            step, mesh=mesh, in_specs=(everywhere, split), out_specs=everywhere, check_vma=False
        )
        return spread(start, batch)

    after = jax.jit(run, out_shardings=NamedSharding(mesh, PartitionSpec()))()
    arrays = {"gradient": after.optimiser_state.trace, "averages": after.batch_stats}
    leaves = jax.tree.leaves_with_path(jax.device_get(arrays))
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _batch() -> replay.Examples:
    """Returns `BATCH_SIZE` positions of random games, the same in every process."""
    game = tiny_run.game()
    games = random_games.play(game, BATCH_SIZE, seed=0)
    position = jax.tree.map(lambda x: jnp.asarray(x[3]), games.position)
    rng = np.random.default_rng(0)
    weights = jnp.asarray(rng.random((BATCH_SIZE, game.num_actions)), jnp.float32)
    policy = ply_records.quantise(jnp.where(game.legal_mask(position), weights, 0.0))
    result = jnp.asarray(rng.choice([-1, 0, 1], BATCH_SIZE))
    return replay.Examples(
        board=game.pack(position),
        policy=ply_records.restore(policy),
        value=result.astype(jnp.float32),
        score=result,
    )


if __name__ == "__main__":
    file, *flags = sys.argv[1:]
    gradient = of_run(train.load(flags))
    if devices.is_first():
        np.savez(file, **gradient)
