"""Leaf evaluator of a live search by JAX, and the networks that need JAX to be loaded.

A request returns before its predictions are computed. On a CPU a small batch keeps one core busy,
so batches of different streams run side by side on several JAX devices (5 x 64 on 8x8, two cores):
two batches of 4 positions take 1.0 ms, one batch of 8 takes 1.8 ms, one position 0.3 ms.
"""

import contextlib
import pathlib
import threading

import jax
import jax.numpy as jnp
import numpy as np

from azo.engine.live_search import Evaluator
from azo.engine.pattern_evaluator import PatternEvaluator
from azo.games import othello, registry
from azo.networks import network, network_files
from azo.process import machine, program_cache

_MOST_STREAMS = 4


def load(folder: pathlib.Path) -> Evaluator:
    """Returns the network of an exported network or of a run.

    Raises:
      ValueError: One line: there is no such network, or it is not for Othello.
    """
    _prepare_jax()
    variables, run = network_files.load(folder)
    game = registry.make(run.game)
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{folder}: a network for {game.name}, but only Othello is played here")
    if run.network.kind == "patterns":
        return PatternEvaluator(game, run.network.patterns, jax.device_get(variables)["params"])
    return NetworkEvaluator(game, run.network, variables)


def packed(player: np.ndarray, opponent: np.ndarray, batch_size: int) -> np.ndarray:
    """Returns discs `[M]` uint64 as `Othello.pack` does, `[batch_size, 4]` uint32, padded by 0."""
    words = np.zeros((batch_size, 4), np.uint32)
    # Little-endian, like every machine that JAX supports: the lower word comes first.
    words[: len(player), :2] = player[:, None].view(np.uint32)
    words[: len(player), 2:] = opponent[:, None].view(np.uint32)
    return words


class NetworkEvaluator:
    """Any network for Othello, evaluated by JAX; see `Evaluator`."""

    simulate = None
    folder: pathlib.Path | None = None

    def __init__(
        self, game: othello.Othello, config: network.NetworkConfig, variables: network.Variables
    ):
        """Prepares a network that was trained for `game`; requests compile it."""
        self.game = game
        self._config, self._variables = config, variables
        self._lock = threading.Lock()
        self._programs: dict[tuple[int, int], jax.stages.Compiled] = {}
        local = jax.local_devices()
        if local[0].platform == "cpu":
            self._devices = local[: min(machine.num_cores(), _MOST_STREAMS)]
        else:
            self._devices = local[:1] * 2  # one batch is computed while another is gathered
        self.num_streams = len(self._devices)  # batches that can be evaluated at the same time

    def _program(self, batch_size: int, stream: int) -> jax.stages.Compiled:
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
        """Begins to evaluate positions; arguments and results as of `Evaluator.request`."""
        return self._program(batch_size, stream)(packed(player, opponent, batch_size))

    def _evaluate(self, words: jax.Array) -> jax.Array:
        # The weights are constants of the program: folding and transforming them in each call would
        # take longer than the evaluation of a small batch (5 x 64, one position: 1.0 ms for 0.3).
        evaluate = network.folded_evaluator(
            self.game, self._config, self._variables, symmetry="none"
        )
        prediction = evaluate(jax.random.key(0), self.game.unpack(words))
        assert prediction.score is not None
        expected = jnp.stack([prediction.value, prediction.score], axis=1)
        return jnp.concatenate([prediction.prior_logits, expected], axis=1)


def _prepare_jax() -> None:
    """Sets one CPU device a core, unless that is set, and keeps compiled programs."""
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", machine.num_cores())
    program_cache.enable()
