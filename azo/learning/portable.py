"""A trained network as a program that runs without azo, by `jax.export`.

The program is StableHLO with the parameters inside: planes in, logits and values out, as
`network.Network` has them. It keeps to what that does on each platform (`convolution.convolve`):
Winograd's convolution in float32 on the CPU, and by default bfloat16 factors elsewhere.
"""

import contextlib
from collections.abc import Iterator, Sequence

import jax
import jax.export
import jax.numpy as jnp

from azo.games import protocol
from azo.learning import network
from azo.search import improvement

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

    Its one argument is `planes` `[B, rows, columns, 2]` float32, 1 where the side to move has a
    piece, then 1 where the other side has. Its results are `(logits, value)`: `[B, A]` float32 of
    all actions, legal or not, and `[B]` float32 in (-1, 1) for the side to move.

    Args:
      game: Says the size of the board and the number of actions.
      config: Shape of the network.
      variables: As training leaves them.
      batch_size: `B`; None leaves it to the caller. A program for one platform and a fixed `B`
        has no dynamic shapes, which compilers other than JAX may not know.
      platforms: Where it will run. A program for several has the branches of all, and takes the
        number of the platform as another argument, which JAX fills in.
    """
    model, folded = network.fold(network.build(game, config), variables)

    def evaluate(planes: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = model.apply(folded, planes)
        assert isinstance(found, improvement.Evaluation)
        return found.prior_logits, found.value

    size = jax.export.symbolic_shape("b")[0] if batch_size is None else batch_size
    planes = jax.ShapeDtypeStruct((size, *game.board_shape, 2), jnp.float32)
    with _without_source_locations():
        return jax.export.export(jax.jit(evaluate), platforms=platforms)(planes)


@contextlib.contextmanager
def _without_source_locations() -> Iterator[None]:
    """Keeps the paths of this machine's source files out of a program that leaves it."""
    name = "jax_traceback_in_locations_limit"
    usual = getattr(jax.config, name)
    jax.config.update(name, 0)
    try:
        yield
    finally:
        jax.config.update(name, usual)
