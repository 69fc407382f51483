"""Optimisers beyond Optax's: Muon for hidden kernels, and steps of table rows that a batch meets.

Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon) takes steps by the momentum of
a matrix with singular values near 1. A convolution's kernel counts as the matrix from the inputs of
all its squares to the outputs. Steps are scaled to the root mean square of AdamW's (Liu et al.,
2025, arXiv:2502.16982), so one learning rate serves both.

Its state has one float32 for each entry of a hidden kernel, and two for the other parameters, which
take the steps of AdamW.
"""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax
from optax import contrib

ROOT_MEAN_SQUARE = 0.2  # of the steps, in learning rates: that of AdamW as measured by Liu et al.
_DECAY, _EPSILON = 0.999, 1e-8  # of the mean squares of rows
_OUTPUTS = ("_logits", "_output", "_weights")  # ends of the names of output layers


def hidden_kernels(params: Any) -> Any:
    """Returns input and output axes of each hidden kernel, None for each other parameter."""

    def axes(path: tuple[Any, ...], x: jax.Array) -> contrib.MuonDimensionNumbers | None:
        layer, name = path[0].key, path[-1].key
        if layer.endswith(_OUTPUTS) or not name.endswith("kernel"):
            return None
        return contrib.MuonDimensionNumbers(tuple(range(x.ndim - 1)), x.ndim - 1)

    return jax.tree.map_with_path(axes, params)


@flax.struct.dataclass
class RowState:
    """Averages over all steps."""

    squares: Any  # [..., R, W] float32 for each table `[..., R, W]`: of squared gradients
    num_steps: jax.Array  # [] int32


def scale_by_row_rms() -> optax.GradientTransformation:
    """Divides each entry of a gradient by the root of the mean of its squares, as RMSprop does.

    The means decay only at steps that meet their row, as in lazy forms of Adam: a row without a
    gradient keeps its entries and its means, however rare it is. All means begin at 0, and one
    correction for that serves all rows, so the first steps of a row met late are long.
    """

    def init(tables: Any) -> RowState:
        return RowState(jax.tree.map(jnp.zeros_like, tables), jnp.int32(0))

    def mean(gradient: jax.Array, old: jax.Array) -> jax.Array:
        is_met = (gradient != 0).any(axis=-1, keepdims=True)
        return jnp.where(is_met, _DECAY * old + (1 - _DECAY) * jnp.square(gradient), old)

    def update(gradient: Any, state: RowState, params: Any = None) -> tuple[Any, RowState]:
        del params
        num_steps = state.num_steps + 1
        scale = jnp.sqrt(1 - _DECAY ** num_steps.astype(jnp.float32))
        squares = jax.tree.map(mean, gradient, state.squares)
        updates = jax.tree.map(
            lambda g, mean: scale * g / (jnp.sqrt(mean) + _EPSILON), gradient, squares
        )
        return updates, RowState(squares, num_steps)

    return optax.GradientTransformation(init, update)
