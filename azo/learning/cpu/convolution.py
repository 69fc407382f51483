"""A 3x3 convolution: Winograd's on the CPU, the hardware's in bfloat16 on accelerators.

Winograd's convolution is about twice as fast as XLA's on the CPU. XLA's kernel gradient there is
also 25 to 60 times slower inside a `while` body (https://github.com/jax-ml/jax/issues/12868), and
the learner is a scan.

Arrays are float32 outside. In bfloat16 both factors of a product are rounded, the matrix units sum
in float32, and the result is rounded once more. A float32 result would be slower: XLA has no
convolution of mixed types for NVIDIA GPUs and would convert both factors to float32
(`ConvBfloat16Support` in its nvptx_compiler.cc).
"""

import jax
import jax.numpy as jnp

from azo.learning import network_config
from azo.learning.cpu import winograd


def convolve(
    images: jax.Array,
    kernel: jax.Array,
    bias: jax.Array | None,
    precision: network_config.Precision,
) -> jax.Array:
    """Returns the same-size 3x3 convolution.

    Args:
      images: `[rows, columns, M, C]` float32.
      kernel: `[3, 3, C, D]` float32.
      bias: `[D]` float32, added to every square, or None.
      precision: of the factors, also in the gradients. "auto" is float32 in a program for the CPU
        and bfloat16 in others.

    Returns:
      `[rows, columns, M, D]` float32; squares beyond the edge count as zero.
    """

    def on_accelerator(images: jax.Array, kernel: jax.Array, bias: jax.Array | None) -> jax.Array:
        if precision != "float32":
            images, kernel = images.astype(jnp.bfloat16), kernel.astype(jnp.bfloat16)
        layout = ("HWNC", "HWIO", "HWNC")
        output = jax.lax.conv_general_dilated(
            images, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=layout
        ).astype(jnp.float32)
        return output if bias is None else output + jnp.broadcast_to(bias, output.shape)

    if precision == "bfloat16":
        return on_accelerator(images, kernel, bias)
    return jax.lax.platform_dependent(
        images, kernel, bias, cpu=winograd.convolve, default=on_accelerator
    )
