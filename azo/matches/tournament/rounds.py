"""Plays the games of a tournament: many at a time, one ply of each game in every round.

In a round each player gets one request for all games in which it is to move, against any opponent.
Openings and forced moves need no request. When a game ends, the next one takes its slot, so batches
stay full.
"""

import collections
import contextlib
import dataclasses
import zlib
from collections.abc import Callable, Mapping, Sequence

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import othello, protocol
from azo.matches.tournament import backends, game_log, openings
from azo.process import code_identity


@dataclasses.dataclass
class _CurrentGame:
    """A game in a slot."""

    scheduled: game_log.ScheduledGame
    opening: openings.Opening
    actions: list[int] = dataclasses.field(default_factory=list)
    replies: tuple[list[backends.Reply], ...] = dataclasses.field(  # of black, of white
        default_factory=lambda: ([], [])
    )
    forfeit: str = ""  # why the side to move has lost the game early

    @property
    def side(self) -> int:
        """0 if black is to move, 1 if white is."""
        return len(self.actions) % 2

    @property
    def mover(self) -> str:
        """The player to move."""
        return (self.scheduled.black, self.scheduled.white)[self.side]

    @property
    def seed(self) -> int:
        """A number that is the same whenever this game is played."""
        text = f"{self.scheduled.opening} {self.scheduled.black} {self.scheduled.white}"
        return zlib.crc32(text.encode())

    def finished(self, rules: "_Rules", slot: int) -> game_log.PlayedGame:
        """Returns the game, which is over on the board or lost by the side to move."""
        sign = 1 if self.side == 0 else -1
        result = sign * int(rules.result[slot])
        score = None if rules.score is None else sign * int(rules.score[slot])
        if self.forfeit:
            result, score = -sign, None
        black, white = self.replies
        return game_log.PlayedGame(
            **dataclasses.asdict(self.scheduled),
            opening_plies=len(self.opening),
            actions=tuple(self.actions),
            result=result,
            score=score,
            ended=self.forfeit,
            num_moves=(len(black), len(white)),
            positions=(_positions(black), _positions(white)),
            seconds=(_seconds(black), _seconds(white)),
        )


def _seconds(replies: Sequence[backends.Reply]) -> float:
    return round(sum(one.seconds for one in replies), 4)


def _positions(replies: Sequence[backends.Reply]) -> float | None:
    counts = [one.positions for one in replies if one.positions is not None]
    return sum(counts) if len(counts) == len(replies) else None


@flax.struct.dataclass
class _Rules:
    """The rules' verdict on `N` positions."""

    position: protocol.Position  # [N]
    legal_mask: jax.Array  # [N, A] bool
    is_over: jax.Array  # [N] bool
    result: jax.Array  # [N] float32, for the side to move
    score: jax.Array | None  # [N] int32, for the side to move; None for other games than Othello


def play(
    game: protocol.Game,
    schedule: Sequence[game_log.ScheduledGame],
    all_openings: Sequence[openings.Opening],
    contenders: Mapping[str, tuple[backends.Contender, int]],
    *,
    games_at_once: int,
    rows: int | None = None,
    on_end: Callable[[game_log.PlayedGame], None],
) -> None:
    """Plays all games of a schedule, in its order, by opening numbers and names of players.

    `on_end` is called with each game as soon as it has ended; an exception ends the tournament.
    Contenders come with the seeds of their searches; see `backends.start`, also for its errors.
    """
    waiting = collections.deque(schedule)
    num_slots = min(games_at_once, len(schedule))
    slots: list[_CurrentGame | None] = [None] * num_slots
    is_new = np.zeros(num_slots, bool)
    action = np.full(num_slots, -1, np.int32)
    rules = _advance(game, game.start(num_slots), action, is_new)
    players: dict[str, backends.Submit] = {}
    with contextlib.ExitStack() as stack:
        for name in dict.fromkeys(name for one in schedule for name in (one.black, one.white)):
            player, seed = contenders[name]
            players[name] = backends.start(player, seed, stack, rows=rows)
        while True:
            for slot, current in enumerate(slots):
                is_new[slot] = current is None and bool(waiting)
                if is_new[slot]:
                    scheduled = waiting.popleft()
                    slots[slot] = _CurrentGame(scheduled, all_openings[scheduled.opening])
            games = {slot: current for slot, current in enumerate(slots) if current is not None}
            if not games:
                return
            rules = jax.device_get(_advance(game, rules.position, action, is_new))
            action = _play_round(rules, games, players)
            for slot, current in games.items():
                if current.forfeit or rules.is_over[slot]:
                    on_end(current.finished(rules, slot))
                    slots[slot] = None


def _play_round(
    rules: _Rules, games: Mapping[int, _CurrentGame], players: Mapping[str, backends.Submit]
) -> np.ndarray:
    """Plays a ply of each game, or notes a forfeit.

    Returns:
      The action `[N]` of each slot, -1 where none was played.
    """
    action = np.full(len(rules.is_over), -1, np.int32)
    slots_of: dict[str, list[int]] = {}  # by player to move
    for slot, current in games.items():
        if rules.is_over[slot]:
            continue
        legal = np.flatnonzero(rules.legal_mask[slot])
        if len(current.actions) < len(current.opening):
            action[slot] = current.opening[len(current.actions)]
        elif len(legal) == 1:
            action[slot] = legal[0]
        else:
            slots_of.setdefault(current.mover, []).append(slot)

    pending = {}
    for name, slots in slots_of.items():
        position = jax.tree.map(lambda words, slots=slots: words[slots], rules.position)
        requests = [
            backends.Request(games[slot].seed, tuple(games[slot].actions)) for slot in slots
        ]
        pending[name] = players[name](position, requests)
    for name, slots in slots_of.items():
        for slot, reply in zip(slots, pending[name](), strict=True):
            if reply.fault:
                games[slot].forfeit = f"{name}: {reply.fault}"
                continue
            assert rules.legal_mask[slot, reply.action], f"{name} played an illegal move"
            games[slot].replies[games[slot].side].append(reply)
            action[slot] = reply.action
    for slot, current in games.items():
        if action[slot] >= 0:
            current.actions.append(int(action[slot]))
    return action


@code_identity.jit(static_argnums=(0,))
def _advance(
    game: protocol.Game, position: protocol.Position, action: jax.Array, is_new: jax.Array
) -> _Rules:
    """Plays the actions that are not negative, then puts new games at their start."""
    played = game.step(position, jnp.maximum(action, 0)).position
    now = protocol.where(action >= 0, played, position)
    now = protocol.where(is_new, game.start(len(is_new)), now)
    return _Rules(
        position=now,
        legal_mask=game.legal_mask(now),
        is_over=game.is_over(now),
        result=game.result(now),
        score=game.score(now) if isinstance(game, othello.Othello) else None,
    )
