"""The convolution against JAX's own, forwards and backwards: on the CPU this tests Winograd's."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azo.networks.kernels import convolution

# Of the largest entry: the transforms multiply by up to 8, and by up to 5 again.
_ROUNDING = 1e-5


def plain(images, kernel):
    layout = ("HWNC", "HWIO", "HWNC")
    return jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=layout)


def by_precision(precision):
    """Returns the convolution without a bias."""
    return functools.partial(convolution.convolve, bias=None, precision=precision)


convolve = by_precision("float32")


def images_and_kernel(batch, rows=4, columns=5):
    images_key, kernel_key = jax.random.split(jax.random.key(batch))
    images = jax.random.normal(images_key, (rows, columns, batch, 3))
    return images, jax.random.normal(kernel_key, (3, 3, 3, 6))


def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def weights(images, kernel):
    """Other ones for every output, all of which bfloat16 holds exactly."""
    return rounded(jax.random.normal(jax.random.key(9), (*images.shape[:3], kernel.shape[-1])))


def loss(convolve, images, kernel):
    return (convolve(images, kernel) * weights(images, kernel)).sum()


def gradients(convolve, images, kernel):
    return jax.jit(jax.grad(functools.partial(loss, convolve), (0, 1)))(images, kernel)


# Every size of board, in tiles of 3 and 4 squares, cut off at the edge and not; 1 x 1 takes 2.
_BOARDS = [(1, 1), (3, 3), (4, 4), (5, 5), (6, 6), (7, 7), (8, 8), (6, 8)]
_over_boards = pytest.mark.parametrize(
    ("rows", "columns"),
    [
        pytest.param(*board, marks=[] if board == (6, 6) else [pytest.mark.slow])
        for board in _BOARDS
    ],
)


def relative_error(actual, expected):
    return float(jnp.abs(actual - expected).max() / jnp.abs(expected).max())


@_over_boards
def test_the_convolution_and_its_gradients_are_jaxs(rows, columns):
    images, kernel = images_and_kernel(7, rows, columns)
    assert relative_error(convolve(images, kernel), plain(images, kernel)) < _ROUNDING
    actual, expected = (gradients(f, images, kernel) for f in (convolve, plain))
    for one, other in zip(actual, expected, strict=True):
        assert relative_error(one, other) < _ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_bias_is_added_to_every_square(precision):
    images, kernel = images_and_kernel(7)
    bias = jnp.arange(6.0) - 2
    weight = weights(images, kernel)

    def actual(bias):
        return convolution.convolve(images, kernel, bias, precision)

    without = convolution.convolve(images, kernel, None, precision)
    np.testing.assert_allclose(actual(bias), without + bias[None, None, None], atol=1e-4)
    gradient = jax.grad(lambda bias: (actual(bias) * weight).sum())(bias)
    np.testing.assert_allclose(gradient, weight.sum(axis=(0, 1, 2)), rtol=1e-5)


def products(convolve, images, kernel):
    """The convolution and both gradients, not jitted: compiled, the CPU would keep more bits."""
    gradient = jax.grad(functools.partial(loss, convolve), (0, 1))
    return convolve(images, kernel), *gradient(images, kernel)


def test_bfloat16_rounds_the_factors_and_the_results_alone():
    images, kernel = images_and_kernel(7)
    actual = products(by_precision("bfloat16"), images, kernel)
    exact = products(convolve, rounded(images), rounded(kernel))
    for one, other in zip(actual, exact, strict=True):
        assert one.dtype == jnp.float32
        np.testing.assert_array_equal(one, rounded(one))
        assert (one != other).any()
        # Eight bits: half of the last one is at most 2^-8 of the number.
        np.testing.assert_allclose(one, other, rtol=2**-8, atol=1e-3)


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
def test_auto_is_winograd_on_the_cpu_and_bfloat16_elsewhere(platform):
    both = jax.value_and_grad(functools.partial(loss, by_precision("auto")), (0, 1))
    traced = jax.jit(both).trace(*images_and_kernel(7))
    text = traced.lower(lowering_platforms=(platform,)).as_text()
    convolutions = [line for line in text.splitlines() if "stablehlo.convolution" in line]
    # The CPU has none: it multiplies matrices.
    assert len(convolutions) == (0 if platform == "cpu" else 3)
    assert set(re.findall(r"x(f32|bf16)>", " ".join(convolutions))) <= {"bf16"}
