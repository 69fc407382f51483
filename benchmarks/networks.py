"""The networks of the benchmarks: by their size, as usually written, and evaluated alone."""

from typing import Annotated

import flax.linen as nn
import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.learning import network
from azo.search import improvement

# Residual blocks and channels, such as 5x64.
Size = Annotated[str, pydantic.Field(pattern=r"^\d+x\d+$")]
# `evaluate_alone` sees at least so many positions, and its batch at least so many times.
MIN_POSITIONS, MIN_TIMES = 1024, 4


def config(size: str) -> network.NetworkConfig:
    """Returns the settings of a network of this `Size`."""
    blocks, channels = size.split("x")
    return network.NetworkConfig(num_blocks=int(blocks), num_channels=int(channels))


def usual(variables: network.Variables, planes: jax.Array) -> improvement.Evaluation:
    """Evaluates planes `[B, 8, 8, 2]` by azo's network, written as projects usually do.

    It is the same function of the same variables, in float32 with XLA's own convolution, and with
    the batch normalisation at each evaluation.
    """
    params, statistics = variables["params"], variables["batch_stats"]

    def normalised(x: jax.Array, layer: str) -> jax.Array:
        norm = nn.BatchNorm(use_running_average=True)
        name = f"{layer}_norm"
        found = norm.apply({"params": params[name], "batch_stats": statistics[name]}, x)
        assert isinstance(found, jax.Array)
        return found

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
    return improvement.Evaluation(
        prior_logits=dense(projected(x, "policy_projection"), "policy_logits"),
        value=jnp.tanh(dense(value, "value_output"))[:, 0],
    )


def times_alone(batch: int) -> int:
    """Returns how often `evaluate_alone` is to evaluate a batch.

    More than once, as in a search: what does not depend on the positions, such as transforms of
    kernels, is then done once for all, and memory is asked for once.
    """
    return max(MIN_TIMES, MIN_POSITIONS // batch)


def evaluate_alone(
    evaluate: improvement.Evaluate, key: jax.Array, position: protocol.Position, times: int
) -> jax.Array:
    """Evaluates positions `[B]` several times in other orders; returns `[B]` float32, a sum."""

    def again(index: jax.Array, total: jax.Array) -> jax.Array:
        turned = jax.tree.map(lambda x: jnp.roll(x, index, axis=0), position)
        found = evaluate(jax.random.fold_in(key, index), turned)
        return total + found.value + found.prior_logits.sum(axis=-1)

    batch = jax.tree.leaves(position)[0].shape[0]
    return jax.lax.fori_loop(0, times, again, jnp.zeros(batch))
