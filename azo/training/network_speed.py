"""Check of a user's network: the promises of `azo.Network`, and its speed in training."""

import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import network_check
from azo.networks import network

_TIMED_BATCH, _TIMED_STEPS = 48, 2
_SLOW = 4.0  # times as long in a loop as outside of it


def check_network(
    network_or_settings: Callable[..., Any] | network.NetworkConfig, game: protocol.Game
) -> None:
    """Checks in a few seconds that a network keeps the promises of `azo.Network`.

        azo.check_network(MyNetwork, azo.TicTacToe())

    Warns, with the measured times, if convolutions make learning slow on this CPU.

    Args:
      network_or_settings: a subclass of `azo.Network`, a function that makes one, or the section
        `network` of a run's settings, such as `azo.load_network(folder).settings.network`.
      game: the game whose positions the network evaluates.

    Raises:
      ValueError: One line: the promise that is broken, and what was found.
    """
    _check_speed(*network_check.check_network(network_or_settings, game))


def _check_speed(model: network.Network, variables: network.Variables, planes: jax.Array) -> None:
    """Warns if steps in a loop, as the learner takes them, are slower than single ones.

    On the CPU, XLA compiles gradients of convolutions in a loop to slow code (jax issue 12868).
    """
    planes = jnp.repeat(planes.astype(jnp.float32), -(-_TIMED_BATCH // len(planes)), axis=0)

    def gradient(params: Any) -> Any:
        def total(params: Any) -> jax.Array:
            prediction = model.apply(variables | {"params": params}, planes)
            return sum((x.sum() for x in jax.tree.leaves(prediction)), jnp.float32(0))

        return jax.grad(total)(params)

    def step(params: Any, _: Any = None) -> Any:
        return jax.tree.map(lambda x, g: x - 1e-9 * g, params, gradient(params)), None

    params = variables["params"]
    is_convolved = "conv_general_dilated" in str(jax.make_jaxpr(gradient)(params))
    if jax.default_backend() != "cpu" or not is_convolved:
        return
    loop = jax.jit(lambda params: jax.lax.scan(step, params, length=_TIMED_STEPS)[0])
    single = jax.jit(lambda params: step(params)[0])
    in_loop, alone = _seconds(loop, params) / _TIMED_STEPS, _seconds(single, params)
    if in_loop > _SLOW * alone:
        warnings.warn(
            f"network: a step of learning takes {1e3 * in_loop:.3g} ms in the loop of an iteration,"
            f" but {1e3 * alone:.3g} ms outside of it: {in_loop / alone:.0f} times as long, for"
            f" {len(planes)} positions. On a CPU the gradients of convolutions are slow in a loop:"
            " use azo.networks.kernels.convolution.convolve instead of nn.Conv (docs/extend.md)",
            stacklevel=3,
        )


def _seconds(function: Callable[[Any], Any], argument: Any) -> float:
    """Returns the shortest time of a call, once compiled."""
    jax.block_until_ready(function(argument))
    times = []
    for _ in range(2):
        start = time.perf_counter()
        jax.block_until_ready(function(argument))
        times.append(time.perf_counter() - start)
    return min(times)
