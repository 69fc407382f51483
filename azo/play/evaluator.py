"""A network for single positions: compiled ahead for a few sizes of batches, for any thread.

Asking does not wait for the answer. On a CPU a small batch keeps one core busy, and JAX has as many
CPU devices as it is told (`num_streams`), so that batches on different ones run side by side: two
of 4 positions of 5 x 64 on 8x8 take 1.0 ms on two cores, one of 8 takes 1.8 ms and a position
alone 0.3 ms.
"""

import functools
import threading
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import othello
from azo.learning import network
from azo.measure import players
from azo.run import devices

Symmetry = Literal["none", "average"]

_MOST_STREAMS = 4


def packed(player: np.ndarray, opponent: np.ndarray, batch_size: int) -> np.ndarray:
    """Returns `[batch_size, 4]` uint32 of discs `[M]` uint64 as `Othello.pack`; zeros after `M`."""
    words = np.zeros((batch_size, 4), np.uint32)
    # Little-endian, as all machines that JAX runs on: the lower word comes first.
    words[: len(player), :2] = player[:, None].view(np.uint32)
    words[: len(player), 2:] = opponent[:, None].view(np.uint32)
    return words


class NetworkEvaluator:
    """What a network says of positions of Othello; engines and threads may share one."""

    def __init__(self, game: othello.Othello, trained: players.TrainedNetwork):
        """Prepares a network for the game that it was trained for; `compiled` compiles it."""
        self.game = game
        self._trained = trained
        self._lock = threading.Lock()
        self._programs: dict[tuple[Symmetry, int, int], jax.stages.Compiled] = {}
        local = jax.local_devices()
        if local[0].platform == "cpu":
            self._devices = local[: min(devices.num_cores(), _MOST_STREAMS)]
        else:
            self._devices = local[:1] * 2  # one batch is computed while another is gathered

    @property
    def num_streams(self) -> int:
        """How many batches are worth asking about at the same time."""
        return len(self._devices)

    def compiled(self, symmetry: Symmetry, batch_size: int, stream: int = 0) -> jax.stages.Compiled:
        """Returns the program for batches of one size; the first call for it takes seconds."""
        device = self._devices[stream]
        key = symmetry, batch_size, device.id
        if key in self._programs:  # so that no search waits while another program is compiled
            return self._programs[key]
        with self._lock:
            if key not in self._programs:
                place = jax.sharding.SingleDeviceSharding(device)
                words = jax.ShapeDtypeStruct((batch_size, 4), jnp.uint32, sharding=place)
                program = jax.jit(functools.partial(self._evaluate, symmetry))
                self._programs[key] = program.lower(words).compile()
            return self._programs[key]

    def ask(
        self,
        player: np.ndarray,
        opponent: np.ndarray,
        *,
        symmetry: Symmetry,
        batch_size: int,
        stream: int = 0,
    ) -> jax.Array:
        """Begins to evaluate positions; `numpy.asarray` of the answer waits for it.

        Args:
          player: `[M]` uint64, discs of the sides to move, bit `8 * row + column`.
          opponent: `[M]` uint64, the other sides'.
          symmetry: whether the network sees each position in all ways of turning it.
          batch_size: what the program is compiled for; `M` is not above it.
          stream: below `num_streams`; batches of one stream wait for each other.

        Returns:
          `[batch_size, A + 1]` float32, of which the first `M` rows count: logits, also of illegal
          moves, and in the last column values for the side to move.
        """
        return self.compiled(symmetry, batch_size, stream)(packed(player, opponent, batch_size))

    def _evaluate(self, symmetry: Symmetry, words: jax.Array) -> jax.Array:
        # The weights are constants of the program: with few positions at a time, folding and
        # transforming them would take longer than the rest (5 x 64, one position: 1.0 ms to 0.3).
        trained = self._trained
        judge = network.folded_evaluator(
            self.game, trained.network_config, trained.variables, symmetry=symmetry
        )
        found = judge(jax.random.key(0), self.game.unpack(words))
        return jnp.concatenate([found.prior_logits, found.value[:, None]], axis=1)
