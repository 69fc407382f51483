"""A 3x3 convolution: Winograd's on the CPU, the hardware's in bfloat16 on accelerators.

On the CPU it is `azo.learning.winograd`, about twice as fast as XLA's convolution, whose kernel
gradient is moreover 25 to 60 times slower inside a `while` body than outside
(https://github.com/jax-ml/jax/issues/12868), and the learner is a scan.

Arrays are float32 outside. In bfloat16 both factors of a product are rounded, the matrix units sum
in float32, and the result is rounded once more. A float32 result is not asked for: XLA has no
convolution of mixed types for NVIDIA GPUs and would turn both factors back into float32
(`ConvBfloat16Support` in its nvptx_compiler.cc).
"""

from typing import Literal

import jax
import jax.numpy as jnp

from azo.learning.cpu import winograd

Precision = Literal["auto", "float32", "bfloat16"]


def convolve(
    images: jax.Array, kernel: jax.Array, bias: jax.Array | None, precision: Precision
) -> jax.Array:
    """Returns the same-size 3x3 convolution.

    Args:
      images: `[rows, columns, M, C]` float32.
      kernel: `[3, 3, C, D]` float32.
      bias: `[D]` float32, added to every square, or None.
      precision: of the factors, in the gradients too. "auto" is float32 where the program is
        lowered for the CPU, bfloat16 elsewhere; one process may do both.

    Returns:
      `[rows, columns, M, D]` float32; squares beyond the edge count as zero.
    """

    def elsewhere(images: jax.Array, kernel: jax.Array, bias: jax.Array | None) -> jax.Array:
        found = _convolution(images, kernel, precision)
        return found if bias is None else found + jnp.broadcast_to(bias, found.shape)

    if precision == "bfloat16":
        return elsewhere(images, kernel, bias)
    return jax.lax.platform_dependent(
        images, kernel, bias, cpu=winograd.convolve, default=elsewhere
    )


def _convolution(images: jax.Array, kernel: jax.Array, precision: Precision) -> jax.Array:
    """Returns the convolution as accelerators form it: in bfloat16 but for `float32`."""
    if precision != "float32":
        images, kernel = images.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16)
    layout = ("HWNC", "HWIO", "HWNC")
    found = jax.lax.conv_general_dilated(
        images, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=layout
    )
    return found.astype(jnp.float32)
