"""Variables that a run begins with: fresh ones, and layers carried over from another board."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.networks import network, network_config
from azo.process import code_identity


def init(
    game: protocol.Game, config: network_config.NetworkConfig, key: jax.Array
) -> network.Variables:
    """Returns fresh variables."""
    return _init(network.build(game, config), game, key)


@code_identity.jit(static_argnums=(0, 1))  # one program, not one for each operation
def _init(model: network.Network, game: protocol.Game, key: jax.Array) -> network.Variables:
    return dict(model.init(key, network.planes_of(game, model.config, game.start(1))))


def carry_over(
    config: network_config.NetworkConfig,
    variables: network.Variables,
    source: protocol.Game,
    target: protocol.Game,
) -> tuple[network.Variables, list[str]]:
    """Returns the layers of a network that fit another board, and the names of the others.

    A layer fits if all its arrays have the same shapes on both boards. Pooled heads hand on their
    outputs for final scores, too (`_resize_scores`): fresh ones would give every position a
    value near 0, and the first games would be played without the values that were learned.
    """
    params = dict(variables["params"])
    if config.kind == "residual" and config.heads == "pooled":
        params["score_output"] = _resize_scores(
            params["score_output"], source.scores, target.scores
        )
    of_source, of_target = (
        {name: jax.tree.map(lambda x: x.shape, layer) for name, layer in layers.items()}
        for layers in (params, network.shapes(target, config)["params"])
    )
    others = [name for name in of_target if of_source.get(name) != of_target[name]]
    carried = {name: layer for name, layer in params.items() if name not in others}
    return variables | {"params": carried}, others


def _resize_scores(output: dict[str, jax.Array], scores: np.ndarray, new: np.ndarray) -> Any:
    """Returns the layer of the logits of final scores for the final scores of another board.

    A logit is interpolated between those of the scores that are nearest by their share of the
    largest score, so a distribution keeps its shape. `output` is the kernel `[units, Z]` and bias
    `[Z]` of the layer for the ascending `scores` `[Z]`; the result is for the scores `new`.
    """
    parts = [np.interp(new / new[-1], scores / scores[-1], part) for part in np.eye(len(scores))]
    weights = jnp.asarray(parts, jnp.float32)  # [Z, Y]
    return jax.tree.map(lambda x: jnp.dot(x, weights, precision="highest"), output)
