"""Leaf evaluators of a live search: networks on small batches, for any thread.

`pattern_evaluator` evaluates pattern networks on the host, `network_evaluator` any network by JAX.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from azo.games import variant


class Evaluator(Protocol):
    """Evaluates leaves of live searches; engines and threads may share one."""

    num_streams: int  # batches that can be evaluated at the same time

    @property
    def simulate(self) -> Callable[..., tuple[int, int]] | None:
        """Runs whole simulations on the host; None: the search calls `request` for its leaves.

        Args: as of `live_simulation.gather`; the tree has room for the budget and one node more.

        Returns:
          Numbers of simulations, fewer than the budget if the root is proven, and of evaluations.
        """

    @property
    def game(self) -> variant.Variant:
        """The game that the network plays."""

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
          `[batch_size, A + 2]` float32, valid in the first `M` rows: logits, any number for illegal
          moves, and in the last columns the expected result and the expected score for the side to
          move, see `azo.search.objective`.
        """
