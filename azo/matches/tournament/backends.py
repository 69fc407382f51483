"""Players of matches, each with a request for moves in many games at once.

A started player is a function, `Submit`. It takes all positions in which the player is to move, and
returns a function that waits for its moves. So external engines search while the device searches.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from azo.games import bitboard, othello, protocol
from azo.learning import supervised
from azo.opponents import classical, engine_protocols, external_engines, players
from azo.process import code_identity


@dataclasses.dataclass(frozen=True)
class Request:
    """A game in which a player is to move."""

    seed: int  # of the game
    actions: tuple[int, ...]  # since the start of the game


@dataclasses.dataclass(frozen=True)
class Reply:
    """The move of a player."""

    action: int  # -1 with a fault
    positions: float | None  # number searched; None if unknown
    seconds: float
    fault: str = ""  # by which the player has lost the game


PendingReplies = Callable[[], Sequence[Reply]]
Submit = Callable[[protocol.Position, Sequence[Request]], PendingReplies]
"""Starts to choose moves for `[M]` positions on the host, each with a choice, and their `M` games,
at least one. Returns a function that waits for the replies, in the same order."""
Choose = Callable[[Sequence[int]], external_engines.Choice]
"""Returns the move after the actions since the start of a game."""


@dataclasses.dataclass(frozen=True)
class ProgramPlayer:
    """A player that is a program, which plays one game at a time, such as an external engine."""

    start: Callable[[contextlib.ExitStack], Choose]  # the stack ends the program


Contender = players.Player | classical.Program | ProgramPlayer


def external(engine: engine_protocols.ExternalEngineConfig, game: protocol.Game) -> ProgramPlayer:
    """Returns an external engine as a player; raises ValueError if it does not play the game."""
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{engine.name} plays Othello, not {game.name}")

    def begin(stack: contextlib.ExitStack) -> Choose:
        return stack.enter_context(external_engines.ExternalEngine(engine, game)).choose

    return ProgramPlayer(begin)


def start(
    player: Contender, seed: int, stack: contextlib.ExitStack, *, rows: int | None = None
) -> Submit:
    """Starts a player, with a seed for its searches; the stack ends its processes and threads.

    `rows` is the batch of a player on the device, so that one size is compiled; by default the
    batches grow with the number of games.

    Raises:
      ValueError: An engine does not play the game.
      engine_protocols.EngineError: An engine fails at its start.
    """
    if isinstance(player, ProgramPlayer):
        return _process(player, stack)
    if isinstance(player, classical.Program):
        program = player  # computes when its replies are awaited, and so beside the device
        return lambda *args: functools.partial(_host_replies, program, *args)
    # A thread of its own, since one search keeps little more than one core busy.
    thread = concurrent.futures.ThreadPoolExecutor(1)
    stack.callback(thread.shutdown, wait=False, cancel_futures=True)  # awaits no search that runs
    keys = map(functools.partial(jax.random.fold_in, jax.random.key(seed)), itertools.count(1))

    def submit(position: protocol.Position, requests: Sequence[Request]) -> PendingReplies:
        size = rows or _padded(len(requests))
        return thread.submit(_device_replies, player, keys, position, size).result

    return submit


def _device_replies(
    player: players.Player,
    keys: Iterator[jax.Array],
    position: protocol.Position,
    size: int,
) -> list[Reply]:
    """Returns the moves of a search in up to `size` positions side by side."""
    start = time.perf_counter()
    actions = choose(player, keys, position, size).tolist()
    seconds = (time.perf_counter() - start) / len(actions)
    search = getattr(player, "search_config", None)
    positions = search.num_simulations if search else int(isinstance(player, players.NetworkPlayer))
    return [Reply(action, positions, seconds) for action in actions]


def choose(
    player: players.Player, keys: Iterator[jax.Array], position: protocol.Position, size: int
) -> np.ndarray:
    """Returns moves `[M]` int32 in positions `[M]`, `size` of them side by side.

    Matches with as many rows share its compiled program.
    """
    return supervised.in_batches(lambda batch: _choose(player, next(keys), batch), position, size)


def _host_replies(
    program: classical.Program, position: protocol.Position, requests: Sequence[Request]
) -> list[Reply]:
    start = time.perf_counter()
    player = np.array(bitboard.to_ints(position.player), np.uint64)
    opponent = np.array(bitboard.to_ints(position.opponent), np.uint64)
    seeds = np.array([request.seed for request in requests], np.int64)
    actions, positions = program.choose(player, opponent, seeds)
    seconds = (time.perf_counter() - start) / len(requests)
    pairs = zip(actions.tolist(), positions.tolist(), strict=True)
    return [Reply(action, searched, seconds) for action, searched in pairs]


def _process(player: ProgramPlayer, stack: contextlib.ExitStack) -> Submit:
    """Starts a program, and a thread that asks it for one move after the other."""
    choose, thread = player.start(stack), concurrent.futures.ThreadPoolExecutor(1)
    stack.callback(thread.shutdown, cancel_futures=True)

    def submit(_: protocol.Position, requests: Sequence[Request]) -> PendingReplies:
        futures = [thread.submit(_reply, choose, request.actions) for request in requests]
        return lambda: [future.result() for future in futures]

    return submit


def _reply(choose: Choose, actions: tuple[int, ...]) -> Reply:
    start = time.perf_counter()
    try:
        choice = choose(actions)
    except engine_protocols.EngineError as error:
        return Reply(-1, None, 0.0, error.reason)
    return Reply(choice.action, choice.positions, time.perf_counter() - start)


@code_identity.jit
def _choose(player: Any, key: jax.Array, position: protocol.Position) -> jax.Array:
    return player(key, position)


def _padded(count: int) -> int:
    """Returns 1, or the next power of two from 4 on, so that few sizes are compiled."""
    return 1 if count == 1 else max(4, 1 << (count - 1).bit_length())
