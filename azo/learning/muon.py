"""Muon for the hidden kernels of a network, AdamW for all its other parameters.

Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon) takes steps by the momentum of
a matrix with singular values near 1. A convolution's kernel counts as the matrix from the inputs of
all its squares to the outputs. Steps are scaled to the root mean square of AdamW's (Liu et al.,
2025, arXiv:2502.16982), so one learning rate serves both.

The state has one float32 for each entry of a hidden kernel and two for the others. AdamW alone has
two for all.
"""

from typing import Any

import jax
import optax
from optax import contrib

_ROOT_MEAN_SQUARE = 0.2  # of the steps, in learning rates: that of AdamW as measured by Liu et al.
_OUTPUTS = ("_logits", "_output", "_weights")  # ends of the names of output layers


def muon(rate: optax.Schedule, *, momentum: float, weight_decay: float) -> Any:
    """Returns the optimiser.

    Args:
      rate: learning rate by the number of steps taken.
      momentum: first decay of AdamW; Muon's momentum is 0.95.
      weight_decay: of hidden kernels; nothing else decays.
    """
    return contrib.muon(
        rate,
        weight_decay=weight_decay,
        adam_b1=momentum,
        muon_weight_dimension_numbers=hidden_kernels,
        consistent_rms=_ROOT_MEAN_SQUARE,
    )


def hidden_kernels(params: Any) -> Any:
    """Returns input and output axes of each hidden kernel, None for each other parameter."""

    def axes(path: tuple[Any, ...], x: jax.Array) -> contrib.MuonDimensionNumbers | None:
        layer, name = path[0].key, path[-1].key
        if layer.endswith(_OUTPUTS) or not name.endswith("kernel"):
            return None
        return contrib.MuonDimensionNumbers(tuple(range(x.ndim - 1)), x.ndim - 1)

    return jax.tree.map_with_path(axes, params)
