"""An example of your own network: squares that attend to one another, learning tic-tac-toe.

    python examples/own_network.py --num-iterations 20

`azo train --network.kind own_network:Attention`, started in this folder or with it in PYTHONPATH,
trains it with other settings. `azo evaluate`, `azo report` and `azo export` find it again there.
"""

import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp

import azo


class Attention(azo.Network):
    """Layers of attention between squares; the settings of a tower give their number and width."""

    num_heads: int = 2

    @nn.compact
    def __call__(self, planes: jax.Array) -> azo.Prediction:
        """Evaluates planes `[M, rows, columns, num_planes]`."""
        rows, columns = self.board_shape
        x = planes.reshape(-1, rows * columns, planes.shape[-1]).astype(jnp.float32)
        width = self.config.num_channels
        places = self.param("places", nn.initializers.normal(0.1), (*x.shape[1:-1], width))
        x = nn.Dense(width, name="stem")(x) + places[None]
        for _ in range(self.config.num_blocks):
            x += nn.MultiHeadDotProductAttention(self.num_heads)(nn.LayerNorm()(x))
            x += nn.Dense(width)(nn.relu(nn.Dense(2 * width)(nn.LayerNorm()(x))))
        x = nn.LayerNorm()(x)
        logits = nn.Dense(1, name="policy_logits")(x)[..., 0]  # one of each square
        logits = jnp.pad(logits, ((0, 0), (0, self.num_actions - rows * columns)))  # and a pass
        scores = nn.Dense(len(self.scores), name="score_output")(x.mean(axis=1))
        return self.predict(logits, scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-iterations", type=int, default=20)
    parser.add_argument("--folder", default="runs/own_network")
    flags = parser.parse_args()
    azo.check_network(Attention, azo.TicTacToe())
    changes = {"network.kind": "own_network:Attention", "run.num_iterations": flags.num_iterations}
    folder = azo.run_training("tictactoe", changes, folder=flags.folder)
    network = azo.load_network(folder)
    start = network.evaluate(jax.random.key(0), network.game.start(1))
    print(f"value of the start: {float(start.value[0]):+.2f}")
