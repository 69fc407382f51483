"""The convolution against JAX's own, forwards and backwards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.learning import convolution

# The sums have up to 128 * 20 terms of size 1, in another order.
_TOLERANCE = {"rtol": 1e-4, "atol": 1e-3}


def plain(images, kernel):
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=layout)


def images_and_kernel(batch):
    images_key, kernel_key = jax.random.split(jax.random.key(batch))
    images = jax.random.normal(images_key, (batch, 4, 5, 3))
    return images, jax.random.normal(kernel_key, (3, 3, 3, 6))


def gradients(convolve, images, kernel):
    """Of a sum that weighs every output differently."""
    shape = (*images.shape[:3], kernel.shape[-1])
    weight = jax.random.normal(jax.random.key(9), shape)
    return jax.jit(jax.grad(lambda x, k: (convolve(x, k) * weight).sum(), (0, 1)))(images, kernel)


def test_one_square_sees_its_neighbours_and_zeros_beyond_the_edge():
    images = jnp.arange(1.0, 10.0).reshape(1, 3, 3, 1)
    kernel = jnp.zeros((3, 3, 1, 1)).at[0, 1].set(1.0)  # what is above
    found = convolution.convolve(images, kernel)[0, :, :, 0]
    np.testing.assert_array_equal(found, [[0, 0, 0], [1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("batch", [1, 7])
def test_the_convolution_is_jaxs(batch):
    images, kernel = images_and_kernel(batch)
    np.testing.assert_array_equal(convolution.convolve(images, kernel), plain(images, kernel))


@pytest.mark.parametrize("batch", [7, 64, 128], ids="batch{}".format)
def test_gradients_are_those_of_automatic_differentiation(batch):
    images, kernel = images_and_kernel(batch)
    found = gradients(convolution.convolve, images, kernel)
    expected = gradients(plain, images, kernel)
    np.testing.assert_allclose(found[0], expected[0], **_TOLERANCE)
    np.testing.assert_allclose(found[1], expected[1], **_TOLERANCE)


def test_the_gradient_for_accelerators_is_the_same():
    images, _ = images_and_kernel(64)
    gradient = jax.random.normal(jax.random.key(1), (64, 4, 5, 6))
    np.testing.assert_allclose(
        convolution._gradient_by_convolution(images, gradient),
        convolution._gradient_by_product(images, gradient),
        **_TOLERANCE,
    )


def test_gradients_inside_a_scan_are_those_outside():
    images, kernel = images_and_kernel(64)

    def add(total, images):
        return total + gradients(convolution.convolve, images, kernel)[1], None

    inside, _ = jax.lax.scan(add, jnp.zeros_like(kernel), jnp.stack([images, -2 * images]))
    outside = -gradients(convolution.convolve, images, kernel)[1]
    np.testing.assert_allclose(inside, outside, **_TOLERANCE)
