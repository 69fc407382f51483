"""A network for single positions: compiled ahead for a few sizes of batches, for any thread."""

import functools
import threading
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, othello
from azo.learning import network
from azo.measure import players

Symmetry = Literal["none", "average"]


class Oracle:
    """What a network says of positions of Othello; engines and threads may share one."""

    def __init__(self, game: othello.Othello, trained: players.TrainedNetwork):
        """Prepares a network for the game that it was trained for; `compiled` compiles it."""
        self.game = game
        self._trained = trained
        self._lock = threading.Lock()
        self._programs: dict[tuple[Symmetry, int], jax.stages.Compiled] = {}

    def compiled(self, symmetry: Symmetry, batch_size: int) -> jax.stages.Compiled:
        """Returns the program for batches of one size; the first call for it takes seconds."""
        with self._lock:
            if (symmetry, batch_size) not in self._programs:
                words = jax.ShapeDtypeStruct((batch_size, 4), jnp.uint32)
                program = jax.jit(functools.partial(self._evaluate, symmetry))
                self._programs[symmetry, batch_size] = program.lower(words).compile()
            return self._programs[symmetry, batch_size]

    def evaluate(
        self, player: np.ndarray, opponent: np.ndarray, *, symmetry: Symmetry, batch_size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Evaluates positions.

        Args:
          player: `[M]` uint64, discs of the sides to move, bit `8 * row + column`.
          opponent: `[M]` uint64, the other sides'.
          symmetry: whether the network sees each position in all ways of turning it.
          batch_size: what the program is compiled for; `M` is not above it.

        Returns:
          `[M, A]` float32 logits, also of illegal moves, and `[M]` float32 values for the side to
          move.
        """
        words = np.zeros((batch_size, 4), np.uint32)
        # Little-endian, as all machines that JAX runs on: the lower word comes first.
        words[: len(player), :2] = player[:, None].view(np.uint32)
        words[: len(player), 2:] = opponent[:, None].view(np.uint32)
        logits, value = jax.device_get(self.compiled(symmetry, batch_size)(words))
        return logits[: len(player)], value[: len(player)]

    def _evaluate(self, symmetry: Symmetry, words: jax.Array) -> tuple[jax.Array, jax.Array]:
        # The weights are constants of the program: with few positions at a time, folding and
        # transforming them would take longer than the rest (5 x 64, one position: 1.0 ms to 0.3).
        boards = [bitboard.Bitboard(words[:, i], words[:, i + 1]) for i in (0, 2)]
        trained = self._trained
        judge = network.folded_evaluator(
            self.game, trained.network_config, trained.variables, symmetry=symmetry
        )
        found = judge(jax.random.key(0), othello.Position(*boards))
        return found.prior_logits, found.value
