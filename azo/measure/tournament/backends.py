"""Players of a tournament, each with a request for moves in many games at once.

`submit` hands a player all positions in which it is to move, and returns a function that waits for
its moves. So external engines search while the device searches.
"""

import concurrent.futures
import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from azo.games import bitboard, protocol
from azo.measure import classical, external_engines, players


@dataclasses.dataclass(frozen=True)
class Request:
    """A game in which a player is to move."""

    slot: int  # stays the same while the game lasts
    seed: int  # of the game
    actions: tuple[int, ...]  # since the start of the game


@dataclasses.dataclass(frozen=True)
class Reply:
    """The move of a player."""

    action: int
    positions: float | None  # number searched; None if unknown
    seconds: float


@dataclasses.dataclass(frozen=True)
class Forfeit:
    """The player has lost the game by a fault."""

    reason: str


PendingReplies = Callable[[], Sequence[Reply | Forfeit]]


class Backend(Protocol):
    """A player in a tournament."""

    def submit(self, position: protocol.Position, requests: Sequence[Request]) -> PendingReplies:
        """Starts to choose moves.

        Args:
          position: `[M]` positions on the host, with a choice for the player in each.
          requests: their `M` games, at least one.

        Returns:
          A function that waits for the replies, in the order of the requests.
        """

    def close(self) -> None:
        """Stops the player."""


class DeviceBackend:
    """A player of `players`, which searches in all its games side by side.

    It has a thread of its own, since one search keeps little more than one core busy.
    """

    def __init__(self, player: players.Player, seed: int):
        """Prepares the player; `seed` is that of its searches."""
        self._player, self._key = player, jax.random.key(seed)
        self._num_calls = 0
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        search = getattr(player, "search_config", None)
        self._positions = 0 if search is None else search.num_simulations
        if isinstance(player, players.PolicyPlayer):
            self._positions = 1

    def submit(self, position: protocol.Position, requests: Sequence[Request]) -> PendingReplies:
        """See `Backend`."""

        def choose() -> list[Reply]:
            start = time.perf_counter()
            count = len(requests)
            rows = np.minimum(np.arange(_padded(count)), count - 1)
            batch = jax.tree.map(lambda words: words[rows], position)
            self._num_calls += 1
            key = jax.random.fold_in(self._key, self._num_calls)
            actions = np.asarray(_choose(self._player, key, batch))[:count].tolist()
            seconds = (time.perf_counter() - start) / count
            return [Reply(action, self._positions, seconds) for action in actions]

        return self._thread.submit(choose).result

    def close(self) -> None:
        """See `Backend`; a search that runs is not awaited."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class ClassicalBackend:
    """A classical program of `classical`."""

    def __init__(self, program: classical.Program):
        """Prepares the program."""
        self._program = program

    def submit(self, position: protocol.Position, requests: Sequence[Request]) -> PendingReplies:
        """See `Backend`."""

        def choose() -> list[Reply]:
            start = time.perf_counter()
            player = np.array(bitboard.to_ints(position.player), np.uint64)
            opponent = np.array(bitboard.to_ints(position.opponent), np.uint64)
            seeds = np.array([request.seed for request in requests], np.int64)
            actions, positions = self._program.choose(player, opponent, seeds)
            seconds = (time.perf_counter() - start) / len(requests)
            pairs = zip(actions.tolist(), positions.tolist(), strict=True)
            return [Reply(action, searched, seconds) for action, searched in pairs]

        return choose

    def close(self) -> None:
        """See `Backend`."""


class EngineBackend:
    """An external engine in several processes; each game stays with one of them."""

    def __init__(self, make: Callable[[], external_engines.ExternalEngine], num_processes: int):
        """Starts `num_processes` engines with `make`."""
        self._engines = [make() for _ in range(num_processes)]
        self._threads = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(num_processes)]

    def submit(self, position: protocol.Position, requests: Sequence[Request]) -> PendingReplies:
        """See `Backend`."""
        futures = []
        for request in requests:
            process = request.slot % len(self._engines)
            engine = self._engines[process]
            futures.append(self._threads[process].submit(_reply, engine, request.actions))
        return lambda: [future.result() for future in futures]

    def close(self) -> None:
        """See `Backend`."""
        for thread in self._threads:
            thread.shutdown(cancel_futures=True)
        for engine in self._engines:
            engine.close()


def _reply(engine: external_engines.ExternalEngine, actions: tuple[int, ...]) -> Reply | Forfeit:
    start = time.perf_counter()
    try:
        choice = engine.choose(actions)
    except external_engines.EngineError as error:
        return Forfeit(error.reason)
    return Reply(choice.action, choice.positions, time.perf_counter() - start)


@jax.jit
def _choose(player: Any, key: jax.Array, position: protocol.Position) -> jax.Array:
    return player(key, position, 0)


def _padded(count: int) -> int:
    """Returns 1, or the next power of two from 4 on, so that few sizes are compiled."""
    return 1 if count == 1 else max(4, 1 << (count - 1).bit_length())
