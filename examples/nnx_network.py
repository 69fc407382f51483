"""A network written in Flax's NNX: `nnx.bridge.to_linen` makes it a module that azo takes.

azo train --config tictactoe --network.kind examples.nnx_network:Network --minutes 2
"""

import flax.linen as nn
from flax import nnx

import azo


class Layers(nnx.Module):
    """A hidden layer and two outputs."""

    def __init__(self, num_inputs, num_actions, num_scores, *, rngs):
        self.hidden = nnx.Linear(num_inputs, 64, rngs=rngs)
        self.policy = nnx.Linear(64, num_actions, rngs=rngs)
        self.score = nnx.Linear(64, num_scores, rngs=rngs)

    def __call__(self, planes):
        """Returns logits of actions and scores for planes `[M, rows, columns, C]`."""
        x = nnx.relu(self.hidden(planes.reshape(planes.shape[0], -1).astype("float32")))
        return self.policy(x), self.score(x)


class Network(azo.Network):
    """The layers, with the outputs that azo needs."""

    @nn.compact
    def __call__(self, planes):
        """See `azo.Network`."""
        sizes = planes[0].size, self.num_actions, len(self.scores)
        return self.predict(*nnx.bridge.to_linen(Layers, *sizes, name="layers")(planes))
