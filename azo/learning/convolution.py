"""A 3x3 convolution: Winograd's on the CPU, the hardware's in bfloat16 on accelerators.

On the CPU it is `azo.learning.winograd`, about twice as fast as XLA's convolution, whose kernel
gradient is moreover 25 to 60 times slower inside a `while` body than outside
(https://github.com/jax-ml/jax/issues/12868), and the learner is a scan.

Arrays are float32 outside. In bfloat16 both factors of a product are rounded, the matrix units sum
in float32, and the result is rounded once more. A float32 result is not asked for: XLA has no
convolution of mixed types for NVIDIA GPUs and would turn both factors back into float32
(`ConvBfloat16Support` in its nvptx_compiler.cc).
"""

import functools
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from azo.learning import winograd

Precision = Literal["auto", "float32", "bfloat16"]


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
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
        found = _in_precision(precision, _convolution, images, kernel)
        return found if bias is None else found + jnp.broadcast_to(bias, found.shape)

    if precision == "bfloat16":
        return elsewhere(images, kernel, bias)
    return jax.lax.platform_dependent(
        images, kernel, bias, cpu=winograd.convolve, default=elsewhere
    )


_Saved = tuple[jax.Array, jax.Array, jax.Array | None]


def _forward(
    images: jax.Array, kernel: jax.Array, bias: jax.Array | None, precision: Precision
) -> tuple[jax.Array, _Saved]:
    return convolve(images, kernel, bias, precision), (images, kernel, bias)


def _backward(
    precision: Precision, saved: _Saved, gradient: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array | None]:
    images, kernel, bias = saved
    mirrored = jnp.flip(kernel, axis=(0, 1)).swapaxes(2, 3)
    image_gradient = convolve(gradient, mirrored, None, precision)
    elsewhere = functools.partial(_in_precision, precision, _kernel_gradient)
    if precision == "bfloat16":
        kernel_gradient = elsewhere(images, gradient)
    else:
        kernel_gradient = jax.lax.platform_dependent(
            images, gradient, cpu=winograd.kernel_gradient, default=elsewhere
        )
    bias_gradient = None if bias is None else gradient.sum(axis=(0, 1, 2))
    return image_gradient, kernel_gradient, bias_gradient


def _in_precision(
    precision: Precision,
    product: Callable[[jax.Array, jax.Array], jax.Array],
    left: jax.Array,
    right: jax.Array,
) -> jax.Array:
    """Returns a product as accelerators form it: in bfloat16 but for `float32`."""
    if precision == "float32":
        return product(left, right)
    return product(left.astype(jnp.bfloat16), right.astype(jnp.bfloat16)).astype(jnp.float32)


def _convolution(images: jax.Array, kernel: jax.Array) -> jax.Array:
    layout = ("HWNC", "HWIO", "HWNC")
    return jax.lax.conv_general_dilated(
        images, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=layout
    )


def _kernel_gradient(images: jax.Array, gradient: jax.Array) -> jax.Array:
    """Convolves with examples and channels exchanged, as differentiating the other would."""
    return jax.lax.conv_general_dilated(
        images,
        gradient,
        window_strides=(1, 1),
        padding=((1, 1), (1, 1)),
        dimension_numbers=("HWCN", "HWIO", "HWNC"),
    )


convolve.defvjp(_forward, _backward)
