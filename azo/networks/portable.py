"""Export of a trained network by `jax.export`, as a program that runs without azo.

The program is StableHLO with the parameters inside: planes in, logits and values out, as in
`network.Network`. Like `convolution.convolve`, it uses Winograd's convolution in float32 on the
CPU, and by default bfloat16 factors on other platforms.
"""

import contextlib
from collections.abc import Iterator, Sequence

import jax
import jax.export
import jax.numpy as jnp

from azo.games import protocol
from azo.networks import base, network

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def export(
    game: protocol.Game,
    config: network.NetworkConfig,
    variables: network.Variables,
    *,
    batch_size: int | None = None,
    platforms: Sequence[str] = PLATFORMS,
) -> jax.export.Exported:
    """Returns the program of a trained network, normalisation folded away.

    Its argument is `planes` `[B, rows, columns, C]` float32, in Othello 1 for a piece of the side
    to move, then 1 for a piece of the opponent. Networks that see moves have two more planes, 1
    where the side to move may play, then 1 where the opponent may. Its results are logits `[B, A]`
    float32 of all actions, and values `[B]` float32 in (-1, 1) for the side to move.

    `batch_size` is `B`; None for a symbolic size. A program for one platform and a fixed `B` has no
    dynamic shapes, which some compilers do not support. A program for several platforms has the
    branches of all of them.
    """
    model, folded = network.fold(network.build(game, config), variables)

    def evaluate(planes: jax.Array) -> tuple[jax.Array, jax.Array]:
        prediction = model.apply(folded, planes)
        assert isinstance(prediction, base.Prediction)
        return prediction.prior_logits, prediction.value

    size = jax.export.symbolic_shape("b")[0] if batch_size is None else batch_size
    planes = jax.ShapeDtypeStruct((size, *network.planes_shape(game, config)), jnp.float32)
    with _without_source_locations():
        return jax.export.export(jax.jit(evaluate), platforms=platforms)(planes)


@contextlib.contextmanager
def _without_source_locations() -> Iterator[None]:
    """Leaves paths of source files out of exported programs."""
    name = "jax_traceback_in_locations_limit"
    usual = getattr(jax.config, name)
    jax.config.update(name, 0)
    try:
        yield
    finally:
        jax.config.update(name, usual)
