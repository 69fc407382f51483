"""Plays the games of a tournament: many at a time, one ply of all of them after the other.

In each round every player is asked for its moves in all games where it is to move, whoever it
meets there. Openings, and moves where there is no other, are played without asking. When a game
ends the next one takes its place, so batches stay full.
"""

import collections
import dataclasses
import functools
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import othello, protocol
from azo.measure.tournament import backends, openings
from azo.measure.tournament.game_log import PlayedGame, ScheduledGame


@dataclasses.dataclass
class _Tally:
    """What a player did in one game."""

    num_moves: int = 0
    positions: float | None = 0.0
    seconds: float = 0.0

    def add(self, reply: backends.Reply) -> None:
        self.num_moves += 1
        self.seconds += reply.seconds
        if self.positions is not None:
            known = reply.positions
            self.positions = None if known is None else self.positions + known


@dataclasses.dataclass
class _Game:
    """A game under way."""

    scheduled: ScheduledGame
    opening: openings.Opening
    seed: int
    actions: list[int] = dataclasses.field(default_factory=list)
    tallies: tuple[_Tally, _Tally] = dataclasses.field(default_factory=lambda: (_Tally(), _Tally()))
    reason: str = ""  # why the side to move has lost it early

    @property
    def side(self) -> int:
        """0 while black is to move, 1 while white is."""
        return len(self.actions) % 2

    @property
    def mover(self) -> str:
        return (self.scheduled.black, self.scheduled.white)[self.side]


@flax.struct.dataclass
class _View:
    """What the rules say of `N` positions."""

    position: protocol.Position  # [N]
    legal_mask: jax.Array  # [N, A] bool
    is_over: jax.Array  # [N] bool
    result: jax.Array  # [N] float32, for the side to move
    score: jax.Array | None  # [N] int32, for the side to move; None for other games than Othello


def play(
    game: protocol.Game,
    schedule: Sequence[ScheduledGame],
    all_openings: Sequence[openings.Opening],
    players: Mapping[str, backends.Backend],
    *,
    games_at_once: int,
    on_end: Callable[[PlayedGame], None],
) -> None:
    """Plays all scheduled games; `on_end` gets each game as soon as it has ended.

    Args:
      game: the rules.
      schedule: in the order in which they begin.
      all_openings: by their numbers.
      players: by their names.
      games_at_once: games under way at a time.
      on_end: may raise, which ends the tournament.
    """
    waiting = collections.deque(schedule)
    num_slots = min(games_at_once, len(schedule))
    slots: list[_Game | None] = [None] * num_slots
    is_new = np.zeros(num_slots, bool)
    action = np.full(num_slots, -1, np.int32)
    view = _look(game, game.start(num_slots), action, is_new)
    while True:
        for slot, current in enumerate(slots):
            is_new[slot] = current is None and bool(waiting)
            if is_new[slot]:
                slots[slot] = _begin(waiting.popleft(), all_openings)
        if all(current is None for current in slots):
            return
        view = jax.device_get(_look(game, view.position, action, is_new))
        action = _round(view, slots, players)
        for slot, current in enumerate(slots):
            if current is not None and (current.reason or view.is_over[slot]):
                on_end(_record(current, view, slot))
                slots[slot] = None


def _begin(scheduled: ScheduledGame, all_openings: Sequence[openings.Opening]) -> _Game:
    text = f"{scheduled.opening} {scheduled.black} {scheduled.white}"
    return _Game(scheduled, all_openings[scheduled.opening], zlib.crc32(text.encode()))


def _round(
    view: _View, slots: Sequence[_Game | None], players: Mapping[str, backends.Backend]
) -> np.ndarray:
    """Returns the action `[N]` of each slot, -1 where none is played, and notes who lost early."""
    action = np.full(len(slots), -1, np.int32)
    asked: dict[str, list[int]] = {}
    for slot, current in enumerate(slots):
        if current is None or view.is_over[slot]:
            continue
        legal = np.flatnonzero(view.legal_mask[slot])
        if len(current.actions) < len(current.opening):
            action[slot] = current.opening[len(current.actions)]
        elif len(legal) == 1:
            action[slot] = legal[0]
        else:
            asked.setdefault(current.mover, []).append(slot)

    answers = {}
    for name, rows in asked.items():
        position = jax.tree.map(lambda words, rows=rows: words[rows], view.position)
        answers[name] = players[name].submit(position, [_request(slots, row) for row in rows])
    for name, rows in asked.items():
        for slot, answer in zip(rows, answers[name](), strict=True):
            current = slots[slot]
            assert current is not None
            if isinstance(answer, backends.Forfeit):
                current.reason = f"{name}: {answer.reason}"
                continue
            assert view.legal_mask[slot, answer.action], f"{name} played an illegal move"
            current.tallies[current.side].add(answer)
            action[slot] = answer.action
    for current, chosen in zip(slots, action.tolist(), strict=True):
        if current is not None and chosen >= 0:
            current.actions.append(chosen)
    return action


def _request(slots: Sequence[_Game | None], slot: int) -> backends.Request:
    current = slots[slot]
    assert current is not None
    return backends.Request(slot, current.seed, tuple(current.actions))


def _record(current: _Game, view: _View, slot: int) -> PlayedGame:
    """Returns the record of a game that is over on the board, or lost by the side to move."""
    sign = 1 if current.side == 0 else -1
    score = None if view.score is None else sign * int(view.score[slot])
    result = sign * int(view.result[slot])
    if current.reason:
        result, score = -sign, None
    black, white = current.tallies
    return PlayedGame(
        **dataclasses.asdict(current.scheduled),
        opening_plies=len(current.opening),
        actions=tuple(current.actions),
        result=result,
        score=score,
        ended=current.reason,
        num_moves=(black.num_moves, white.num_moves),
        positions=(black.positions, white.positions),
        seconds=(round(black.seconds, 4), round(white.seconds, 4)),
    )


@functools.partial(jax.jit, static_argnums=0)
def _look(
    game: protocol.Game, position: protocol.Position, action: jax.Array, is_new: jax.Array
) -> _View:
    """Plays the actions that are not negative, then puts new games at their start."""
    played = game.step(position, jnp.maximum(action, 0)).position

    @jax.vmap
    def kept(is_first: Any, is_played: Any, old: Any, after: Any, start: Any) -> Any:
        now = jax.tree.map(lambda old, after: jnp.where(is_played, after, old), old, after)
        return jax.tree.map(lambda now, start: jnp.where(is_first, start, now), now, start)

    now = kept(is_new, action >= 0, position, played, game.start(is_new.shape[0]))
    return _View(
        position=now,
        legal_mask=game.legal_mask(now),
        is_over=game.is_over(now),
        result=game.result(now),
        score=game.score(now) if isinstance(game, othello.Othello) else None,
    )
