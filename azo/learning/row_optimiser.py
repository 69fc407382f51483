"""Root-mean-square scaling for tables, of whose rows a batch meets few."""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import optax

_DECAY = 0.999
_EPSILON = 1e-8


@flax.struct.dataclass
class RowState:
    """Averages over all steps."""

    squares: Any  # [..., R, W] float32 for each table `[..., R, W]`: of squared gradients
    num_steps: jax.Array  # [] int32


def scale_met_rows() -> optax.GradientTransformation:
    """Divides each entry of a gradient by the root of the mean of its squares, as RMSprop does.

    The means decay only at steps that meet their row, as in lazy forms of Adam: a row without a
    gradient keeps its entries and its means, however rare it is. All means begin at 0, and one
    correction for that serves all rows, so the first steps of a row met late are long.
    """

    def init(tables: Any) -> RowState:
        return RowState(jax.tree.map(jnp.zeros_like, tables), jnp.int32(0))

    def update(gradient: Any, state: RowState, params: Any = None) -> tuple[Any, RowState]:
        del params
        num_steps = state.num_steps + 1
        scale = jnp.sqrt(1 - _DECAY ** num_steps.astype(jnp.float32))
        squares = jax.tree.map(_mean, gradient, state.squares)
        updates = jax.tree.map(
            lambda g, mean: scale * g / (jnp.sqrt(mean) + _EPSILON), gradient, squares
        )
        return updates, RowState(squares, num_steps)

    return optax.GradientTransformation(init, update)


def _mean(gradient: jax.Array, mean: jax.Array) -> jax.Array:
    is_met = (gradient != 0).any(axis=-1, keepdims=True)
    return jnp.where(is_met, _DECAY * mean + (1 - _DECAY) * jnp.square(gradient), mean)
