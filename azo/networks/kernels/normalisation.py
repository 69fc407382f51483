"""Batch normalisation (Ioffe and Szegedy, 2015, arXiv:1502.03167), fused with skip and rectifier.

The sum with the skip connection and the rectifier are part of it, so that the whole and its
gradient are one pass each over the board. On the CPU the gain is large: see `_in_one_pass`.
"""

import functools
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp

EPSILON = 1e-5  # added to variances
_MOMENTUM = 0.95  # of the running averages


class BatchNorm(nn.Module):
    """Normalises each channel by its mean and variance; variables have flax's names."""

    is_training: bool  # normalise by this batch and update the running averages, or use them
    axis_name: str | None  # in training, the mesh axis over which a batch is spread

    @nn.compact
    def __call__(
        self, x: jax.Array, skip: jax.Array | None = None, *, rectify: bool = True
    ) -> jax.Array:
        """Returns `relu(normalised x + skip)`, or without `relu` if not to `rectify`.

        Both are `[rows, columns, M, C]` float32; a `skip` of None is 0.
        """
        channels = x.shape[-1:]
        scale = self.param("scale", nn.initializers.ones, channels)
        bias = self.param("bias", nn.initializers.zeros, channels)
        average = self.variable("batch_stats", "mean", jnp.zeros, channels)
        average_variance = self.variable("batch_stats", "var", jnp.ones, channels)
        if not self.is_training:
            factor = scale * jax.lax.rsqrt(average_variance.value + EPSILON)
            return _apply(rectify, average.value, factor, bias, x, skip)
        output, mean, variance = _normalise(x, skip, scale, bias, rectify, self.axis_name)
        average.value = _MOMENTUM * average.value + (1 - _MOMENTUM) * mean
        average_variance.value = _MOMENTUM * average_variance.value + (1 - _MOMENTUM) * variance
        return output


_Outputs = tuple[jax.Array, jax.Array, jax.Array]
_Saved = tuple[jax.Array, bool, jax.Array, jax.Array, jax.Array, jax.Array]


@functools.partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def _normalise(
    x: jax.Array,
    skip: jax.Array | None,
    scale: jax.Array,
    bias: jax.Array,
    rectify: bool,
    axis_name: str | None,
) -> _Outputs:
    """Returns the output of `BatchNorm` in training, and the mean and variance of the batch.

    Mean and variance are for the running averages, and have no gradient.
    """
    return _forward(x, skip, scale, bias, rectify, axis_name)[0]


def _forward(
    x: jax.Array,
    skip: jax.Array | None,
    scale: jax.Array,
    bias: jax.Array,
    rectify: bool,
    axis_name: str | None,
) -> tuple[_Outputs, _Saved]:
    mean, square = _means(axis_name, x, x * x)
    variance = jnp.maximum(square - mean * mean, 0.0)
    inverse = jax.lax.rsqrt(variance + EPSILON)
    output = _in_one_pass(
        functools.partial(_apply, rectify, mean, scale * inverse, bias),
        *((x,) if skip is None else (x, skip)),
    )
    return (output, mean, variance), (x, skip is not None, scale, mean, inverse, output)


def _backward(
    rectify: bool, axis_name: str | None, saved: _Saved, gradients: _Outputs
) -> tuple[jax.Array, jax.Array | None, jax.Array, jax.Array]:
    x, has_skip, scale, mean, inverse, output = saved
    gradient = jnp.where(output > 0, gradients[0], 0.0) if rectify else gradients[0]
    # Sums over this device's examples are gradients of scale and bias: see `learner.learn`.
    of_bias, of_scale = _means(None, gradient, gradient * _centred(x, mean))
    of_scale *= inverse
    num_values = x.size // x.shape[-1]
    # Mean and variance depend on every value of the batch, on all devices.
    slope, drift = of_scale, of_bias
    if axis_name is not None:
        slope, drift = jax.lax.pmean((slope, drift), axis_name)
    factor = scale * inverse

    def of_input(gradient: jax.Array, x: jax.Array) -> jax.Array:
        moved = _wide(factor * inverse * slope) * _centred(x, mean)
        return _wide(factor) * gradient - moved - _wide(factor * drift)

    of_x = _in_one_pass(of_input, gradient, x)
    of_skip = gradient if has_skip else None
    return of_x, of_skip, of_scale * num_values, of_bias * num_values


_normalise.defvjp(_forward, _backward)


def _apply(
    rectify: bool,
    mean: jax.Array,
    factor: jax.Array,
    bias: jax.Array,
    x: jax.Array,
    skip: jax.Array | None = None,
) -> jax.Array:
    output = _centred(x, mean) * _wide(factor) + _wide(bias)
    if skip is not None:
        output += skip
    return jnp.maximum(output, 0.0) if rectify else output


def _means(axis_name: str | None, *arrays: jax.Array) -> tuple[jax.Array, ...]:
    """Returns the means `[C]` of arrays `[rows, columns, M, C]`, over all devices of the axis."""
    means = tuple(x.mean(axis=(0, 1, 2)) for x in arrays)
    return means if axis_name is None else jax.lax.pmean(means, axis_name)


def _centred(x: jax.Array, mean: jax.Array) -> jax.Array:
    return x - _wide(mean)


def _wide(x: jax.Array) -> jax.Array:
    """Returns a number for each channel `[C]` as `[1, 1, 1, C]`."""
    return x[None, None, None]


def _in_one_pass(compute: Callable[..., jax.Array], *arrays: jax.Array) -> jax.Array:
    """Returns `compute(*arrays)`, on the CPU as one loop over squares and channels.

    XLA's CPU compiler repeats cheap operations for each use of their result: per-channel numbers
    for every square, and in the gradient every block's sum from the stem on. It does not fuse
    through a conditional, so this one separates the loop. Its condition fails only for a batch that
    is not finite, which gives NaN in any case. A step of learning took 1.3 times as long without
    it.
    """

    def on_its_own(*arrays: jax.Array) -> jax.Array:
        def unknown(x: jax.Array, *_: jax.Array) -> jax.Array:
            return jnp.full_like(x, jnp.nan)

        return jax.lax.cond(arrays[-1][0, 0, 0, 0] < jnp.inf, compute, unknown, *arrays)

    return jax.lax.platform_dependent(*arrays, cpu=on_its_own, default=compute)
