"""Leaf evaluator of a live search: a network on small batches, for any thread.

A request returns before its predictions are computed. On a CPU a small batch keeps one core busy,
so batches of different streams run side by side on several JAX devices (5 x 64 on 8x8, two cores):
two batches of 4 positions take 1.0 ms, one batch of 8 takes 1.8 ms, one position 0.3 ms.
"""

import threading
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import othello
from azo.learning import network
from azo.measure import players
from azo.run import devices

_MOST_STREAMS = 4


class Evaluator(Protocol):
    """Evaluates leaves of live searches; engines and threads may share one."""

    game: othello.Othello
    num_streams: int  # batches that can be evaluated at the same time

    def compiled(self, batch_size: int, stream: int = 0) -> Any:
        """Makes the program for one batch size ready; the first call takes seconds."""

    def request(
        self, player: np.ndarray, opponent: np.ndarray, *, batch_size: int, stream: int = 0
    ) -> Any:
        """Begins to evaluate positions; `numpy.asarray` of the result waits for it.

        Args:
          player: `[M]` uint64, discs of the sides to move, bit `8 * row + column`.
          opponent: `[M]` uint64, discs of the other sides.
          batch_size: batch size of the compiled program, at least `M`.
          stream: below `num_streams`; batches of one stream run one after another.

        Returns:
          `[batch_size, A + 2]` float32, valid in the first `M` rows: logits, also of illegal moves,
          and in the last columns the expected result and the expected score for the side to move,
          see `azo.search.objective`.
        """


def packed(player: np.ndarray, opponent: np.ndarray, batch_size: int) -> np.ndarray:
    """Returns discs `[M]` uint64 as `Othello.pack` does, `[batch_size, 4]` uint32, padded by 0."""
    words = np.zeros((batch_size, 4), np.uint32)
    # Little-endian, like every machine that JAX supports: the lower word comes first.
    words[: len(player), :2] = player[:, None].view(np.uint32)
    words[: len(player), 2:] = opponent[:, None].view(np.uint32)
    return words


class NetworkEvaluator:
    """Any network for Othello, evaluated by JAX; see `Evaluator`."""

    def __init__(self, game: othello.Othello, trained: players.NetworkPlayer):
        """Prepares a network that was trained for `game`; `compiled` compiles it."""
        self.game = game
        self._trained = trained
        self._lock = threading.Lock()
        self._programs: dict[tuple[int, int], jax.stages.Compiled] = {}
        local = jax.local_devices()
        if local[0].platform == "cpu":
            self._devices = local[: min(devices.num_cores(), _MOST_STREAMS)]
        else:
            self._devices = local[:1] * 2  # one batch is computed while another is gathered
        self.num_streams = len(self._devices)  # batches that can be evaluated at the same time

    def compiled(self, batch_size: int, stream: int = 0) -> jax.stages.Compiled:
        """Returns the program for one batch size; the first call compiles it (seconds)."""
        device = self._devices[stream]
        key = batch_size, device.id
        if key in self._programs:  # without the lock, which is held during compilation
            return self._programs[key]
        with self._lock:
            if key not in self._programs:
                place = jax.sharding.SingleDeviceSharding(device)
                words = jax.ShapeDtypeStruct((batch_size, 4), jnp.uint32, sharding=place)
                self._programs[key] = jax.jit(self._evaluate).lower(words).compile()
            return self._programs[key]

    def request(
        self, player: np.ndarray, opponent: np.ndarray, *, batch_size: int, stream: int = 0
    ) -> jax.Array:
        """See `Evaluator.request`."""
        return self.compiled(batch_size, stream)(packed(player, opponent, batch_size))

    def _evaluate(self, words: jax.Array) -> jax.Array:
        # The weights are constants of the program: folding and transforming them in each call would
        # take longer than the evaluation of a small batch (5 x 64, one position: 1.0 ms for 0.3).
        trained = self._trained
        evaluate = network.folded_evaluator(
            self.game, trained.network_config, trained.variables, symmetry="none"
        )
        prediction = evaluate(jax.random.key(0), self.game.unpack(words))
        assert prediction.score is not None
        expected = jnp.stack([prediction.value, prediction.score], axis=1)
        return jnp.concatenate([prediction.prior_logits, expected], axis=1)
