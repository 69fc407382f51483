"""A 3x3 convolution whose gradient stays fast inside loops on the CPU.

XLA's CPU backend runs the usual kernel gradient of a convolution 25 to 60 times slower inside a
`while` body than outside (https://github.com/jax-ml/jax/issues/12868), and the learner is a scan
inside one compiled iteration. There the kernel gradient is a product of the images with the nine
shifted gradients side by side, a chunk of the batch at a time. On one core, for 32 channels and a
batch of 512 on 6x6: 5.2 ms, against 236 ms the usual way and 10.9 ms as nine products (the forward
pass takes 3.8 ms). Accelerators keep the usual way.
"""

import jax
import jax.numpy as jnp

_CHUNK = 64  # examples whose shifted gradients are held side by side


@jax.custom_vjp
def convolve(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns the same-size 3x3 convolution.

    Args:
      images: `[M, rows, columns, C]`.
      kernel: `[3, 3, C, D]`.

    Returns:
      `[M, rows, columns, D]`; squares beyond the edge count as zero.
    """
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        images, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=layout
    )


def _forward(images: jax.Array, kernel: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return convolve(images, kernel), (images, kernel)


def _backward(
    saved: tuple[jax.Array, jax.Array], gradient: jax.Array
) -> tuple[jax.Array, jax.Array]:
    images, kernel = saved
    mirrored = jnp.flip(kernel, axis=(0, 1)).swapaxes(2, 3)
    image_gradient = convolve(gradient, mirrored)
    kernel_gradient = jax.lax.platform_dependent(
        images, gradient, cpu=_gradient_by_product, default=_gradient_by_convolution
    )
    return image_gradient, kernel_gradient


def _gradient_by_product(images: jax.Array, gradient: jax.Array) -> jax.Array:
    """Sums over chunks of the batch, so that the shifted gradients stay in the cache."""
    batch, rows, columns, channels = images.shape
    chunk = _CHUNK if batch % _CHUNK == 0 else batch
    chunks = [x.reshape(-1, chunk, *x.shape[1:]) for x in (images, gradient)]

    def add(total: jax.Array, pair: list[jax.Array]) -> tuple[jax.Array, None]:
        images, gradient = pair
        padded = jnp.pad(gradient, ((0, 0), (1, 1), (1, 1), (0, 0)))
        shifted = [
            padded[:, 2 - i : 2 - i + rows, 2 - j : 2 - j + columns]
            for i in range(3)
            for j in range(3)
        ]
        side_by_side = jnp.concatenate(shifted, axis=-1).reshape(-1, total.shape[-1])
        return total + images.reshape(-1, channels).T @ side_by_side, None

    zeros = jnp.zeros((channels, 9 * gradient.shape[-1]), images.dtype)
    product, _ = jax.lax.scan(add, zeros, chunks)
    return product.reshape(channels, 3, 3, -1).transpose(1, 2, 0, 3)


def _gradient_by_convolution(images: jax.Array, gradient: jax.Array) -> jax.Array:
    """Convolves with batch and channels exchanged, as differentiating `convolve` would."""
    product = jax.lax.conv_general_dilated(
        images,
        gradient,
        window_strides=(1, 1),
        padding=((1, 1), (1, 1)),
        dimension_numbers=("CHWN", "IHWO", "NHWC"),
    )
    return product.transpose(1, 2, 0, 3)


convolve.defvjp(_forward, _backward)
