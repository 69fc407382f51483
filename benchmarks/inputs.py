"""Inputs of the benchmarks: games at chosen plies, and networks by size.

The plies matter to mctx. In a game that is nearly over mctx searches below the end, one node deeper
with each simulation, and the whole batch waits. azo stops at the end of the game. Networks are also
written plainly, as in most projects, and evaluated without a search.
"""

from collections.abc import Callable
from typing import Annotated, Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from azo.games import protocol
from azo.networks import network
from azo.search import improvement

# Games are at plies before this one. None: all plies of a game.
BeforePly = Annotated[int, pydantic.Field(ge=1)] | None
# Residual blocks and channels, such as 5x64.
Size = Annotated[str, pydantic.Field(pattern=r"^\d+x\d+$")]
# Minimum number of positions and of repetitions of one `evaluate_repeatedly`.
MIN_POSITIONS, MIN_REPEATS = 1024, 4


def spread(begin: Callable[[int], Any], num_squares: int, batch: int, before_ply: BeforePly) -> Any:
    """Returns `batch` games at plies 0, 1, ... `before_ply - 1`, then again.

    Args:
      begin: function that returns a number of games, game `i` at ply `i % num_squares`, as a pytree
        of arrays.
      num_squares: squares of the board.
      batch: number of games.
      before_ply: at most `num_squares`; None means `num_squares`.
    """
    plies = min(before_ply or num_squares, num_squares)
    number = -(-batch // plies) * num_squares
    games = begin(number)
    kept = np.flatnonzero(np.arange(number) % num_squares < plies)[:batch]
    return jax.tree.map(lambda x: x[kept], games)


def config(size: str) -> network.NetworkConfig:
    """Returns the settings of a network of this `Size`."""
    blocks, channels = size.split("x")
    return network.NetworkConfig(
        kind="residual", num_blocks=int(blocks), num_channels=int(channels)
    )


def evaluate_plainly(variables: network.Variables, planes: jax.Array) -> improvement.Evaluation:
    """Evaluates planes `[B, 8, 8, 2]` by azo's network, written as in most projects.

    The function and the variables are those of azo's network. The arithmetic is float32 with XLA's
    own convolution, and batch normalisation is computed at each evaluation.
    """
    params, statistics = variables["params"], variables["batch_stats"]

    def normalised(x: jax.Array, layer: str) -> jax.Array:
        norm = nn.BatchNorm(use_running_average=True)
        name = f"{layer}_norm"
        output = norm.apply({"params": params[name], "batch_stats": statistics[name]}, x)
        assert isinstance(output, jax.Array)
        return output

    def convolved(x: jax.Array, layer: str) -> jax.Array:
        x = jax.lax.conv_general_dilated(
            x,
            params[f"{layer}_kernel"],
            window_strides=(1, 1),
            padding="SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        return normalised(x, layer)

    def dense(x: jax.Array, layer: str) -> jax.Array:
        product = x @ params[layer]["kernel"]
        bias = params[layer].get("bias")
        return product if bias is None else product + jnp.broadcast_to(bias, product.shape)

    def projected(x: jax.Array, layer: str) -> jax.Array:
        x = nn.relu(normalised(dense(x, layer), layer))
        return x.reshape(x.shape[0], -1)

    x = nn.relu(convolved(planes.astype(jnp.float32), "stem"))
    num_blocks = sum(name.endswith("_first_kernel") for name in params)
    for block in range(num_blocks):
        y = nn.relu(convolved(x, f"block{block}_first"))
        x = nn.relu(convolved(y, f"block{block}_second") + x)
    value = nn.relu(dense(projected(x, "value_projection"), "value_hidden"))
    chances = jax.nn.softmax(dense(value, "score_output"))  # of all final scores, ascending
    num_scores = chances.shape[-1]
    return improvement.Evaluation(
        prior_logits=dense(projected(x, "policy_projection"), "policy_logits"),
        value=chances @ jnp.sign(jnp.arange(num_scores) - num_scores // 2.0),
    )


def num_repeats(batch: int) -> int:
    """Returns the number of evaluations of a batch by `evaluate_repeatedly`.

    It is more than one, as in a search. XLA then computes everything that does not depend on the
    positions once, such as transforms of kernels, and allocates memory once.
    """
    return max(MIN_REPEATS, MIN_POSITIONS // batch)


def evaluate_repeatedly(
    evaluate: improvement.Evaluate, key: jax.Array, position: protocol.Position, repeats: int
) -> jax.Array:
    """Evaluates positions `[B]` several times in different orders.

    Returns:
      `[B]` float32, a sum over all outputs, so that no evaluation is optimised away.
    """

    def again(index: jax.Array, total: jax.Array) -> jax.Array:
        rolled = jax.tree.map(lambda x: jnp.roll(x, index, axis=0), position)
        evaluation = evaluate(jax.random.fold_in(key, index), rolled)
        return total + evaluation.value + evaluation.prior_logits.sum(axis=-1)

    batch = jax.tree.leaves(position)[0].shape[0]
    return jax.lax.fori_loop(0, repeats, again, jnp.zeros(batch))
