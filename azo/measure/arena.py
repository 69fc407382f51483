"""Matches between two players, with all games side by side in one compiled program.

Deterministic players repeat one game, so every game starts from uniformly random legal plies. Each
opening is played twice, with the sides exchanged, so a lopsided opening favours neither player.

Passes are plies, so the sides alternate without exception. The games form two halves: at every ply
the first player moves in one half and the second player in the other, then the halves change
places. So every computed move is played, except in games that are over while longer ones continue.
"""

import dataclasses
import functools
import math
import operator
from typing import Any

import chex
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.measure import memory, players

# Openings that end the game are drawn again, this often. If 9 of 10 openings ended it, one in
# 700,000 would remain.
_MAX_DRAWS = 128
_NO_ACTION = -1
_Z95 = 1.959963984540054  # 97.5 % quantile of the normal distribution


@dataclasses.dataclass(frozen=True)
class MatchResult:
    """Games won, drawn and lost by the first player."""

    wins: int
    draws: int
    losses: int
    pair_scores: tuple[int, ...] | None = dataclasses.field(default=None, kw_only=True)
    """Number of openings whose two games gave the first player 0, 1/2, 1, 3/2 and 2 points."""

    def __add__(self, other: "MatchResult") -> "MatchResult":
        """Returns the result of all games of two matches of the same players."""
        pair_scores = None
        if self.pair_scores is not None and other.pair_scores is not None:
            pair_scores = tuple(map(operator.add, self.pair_scores, other.pair_scores))
        return MatchResult(
            self.wins + other.wins,
            self.draws + other.draws,
            self.losses + other.losses,
            pair_scores=pair_scores,
        )

    @property
    def num_games(self) -> int:
        """All games."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Points per game: 1 for a win, 1/2 for a draw."""
        return (self.wins + self.draws / 2) / self.num_games

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % Wilson interval of the score (Wilson, 1927, JASA 22:209-212).

        A draw counts as half a win and half a loss, so many draws make the interval a little too
        wide. All games count as independent. The two games of an opening are not quite, and equal
        openings between deterministic players repeat a game. So the interval is too narrow if there
        are more games than distinct openings.
        """
        n, p = self.num_games, self.score
        centre = p + _Z95**2 / (2 * n)
        spread = _Z95 * math.sqrt(p * (1 - p) / n + _Z95**2 / (4 * n**2))
        scale = 1 + _Z95**2 / n
        return max((centre - spread) / scale, 0.0), min((centre + spread) / scale, 1.0)

    def __str__(self) -> str:
        low, high = self.interval()
        return (
            f"{self.wins}/{self.draws}/{self.losses} "
            f"(score {self.score:.3f}, 95 % {low:.2f} to {high:.2f})"
        )


@flax.struct.dataclass
class MatchGames:
    """Finished games; `T` is the game's `max_plies`, `B` the number of games.

    Games `g` and `g + B / 2` share an opening. After it the first player moves first in the first
    half of the games, the second player in the second half.
    """

    actions: jax.Array  # [T, B] int32, opening included; -1 after the end of a game
    result: jax.Array  # [B] float32 in {-1, 0, 1}, as seen by the first player
    is_played: jax.Array  # [B] bool, false if all openings drawn for the game ended it


@flax.struct.dataclass
class Openings:
    """Positions to start games from."""

    position: protocol.Position  # [B]
    actions: jax.Array  # [opening_plies, B] int32, the plies that led there
    is_open: jax.Array  # [B] bool, the game continues


def play_match(
    game: protocol.Game,
    first: players.Player,
    second: players.Player,
    key: jax.Array,
    *,
    num_games: int,
    opening_plies: int,
    openings: Openings | None = None,
) -> MatchResult:
    """Plays a match; the same arguments always give the same result.

    Compiles once for each game, pair of player types and number of games: players that differ only
    in their arrays, such as the parameters of a network, share one program.

    Args:
      game: the rules.
      first: the player whose wins are counted.
      second: its opponent.
      key: random key, for the openings and for the players.
      num_games: positive and even, since openings are played in pairs.
      opening_plies: random plies before the players take over.
      openings: one for every two games, of so many plies, in place of random ones.

    Raises:
      ValueError: An odd or too small `num_games`, more games than fit into the memory, or openings
        that decide the game.
    """
    if num_games < 2 or num_games % 2:
        raise ValueError(f"num_games is {num_games}, but openings are played in pairs: 2, 4, ...")
    too_long = (
        f"opening_plies is {opening_plies}: random openings must leave {game.name} undecided, "
        "so choose fewer plies"
    )
    if not 0 <= opening_plies < game.max_plies:
        raise ValueError(too_long)
    search = [getattr(player, "search_config", None) for player in (first, second)]
    simulations = max([one.num_simulations for one in search if one], default=0)
    memory.check("a match", {"num_games": memory.tree_bytes(num_games, simulations)})
    games = play_games(
        game,
        first,
        second,
        key,
        num_games=num_games,
        opening_plies=opening_plies,
        openings=openings,
    )
    if not np.all(games.is_played):
        raise ValueError(too_long)
    result = np.asarray(games.result)
    losses, draws, wins = (int((result == value).sum()) for value in (-1, 0, 1))
    pairs = result.reshape(2, -1).sum(axis=0)  # of the two games of each opening
    pair_scores = tuple(int((pairs == value).sum()) for value in (-2, -1, 0, 1, 2))
    return MatchResult(wins, draws, losses, pair_scores=pair_scores)


@functools.partial(jax.jit, static_argnames=("game", "num_games", "opening_plies"))
def play_games(
    game: protocol.Game,
    first: players.Player,
    second: players.Player,
    key: jax.Array,
    *,
    num_games: int,
    opening_plies: int,
    openings: Openings | None = None,
) -> MatchGames:
    """Plays the games of a match to the end; arguments as in `play_match`, unchecked."""
    chex.assert_is_divisible(num_games, 2)
    opening_key, play_key = jax.random.split(key)
    if openings is None:
        openings = draw_openings(game, opening_key, num_games // 2, opening_plies)
    start = _Play(
        ply=jnp.int32(opening_plies),
        position=jax.tree.map(lambda x: jnp.stack([x, x]), openings.position),
        is_open=jnp.stack([openings.is_open, openings.is_open]),
        result=jnp.zeros((2, num_games // 2), jnp.float32),
        actions=jnp.full((game.max_plies, 2, num_games // 2), _NO_ACTION, jnp.int32),
    )
    end = jax.lax.while_loop(
        lambda play: play.is_open.any() & (play.ply < game.max_plies),
        functools.partial(_play_ply, game, first, second, play_key),
        start,
    )
    # Row 0 of `end` holds the games in which the first player is to move. Undo the exchanges, so
    # that it holds those in which the first player moved first.
    num_swaps = jnp.arange(game.max_plies) - opening_plies
    actions = jnp.where((num_swaps % 2)[:, None, None] == 1, end.actions[:, ::-1], end.actions)
    actions = actions.at[:opening_plies].set(openings.actions[:, None])
    result = jnp.where((end.ply - opening_plies) % 2 == 1, end.result[::-1], end.result)
    return MatchGames(
        actions=actions.reshape(game.max_plies, num_games),
        result=result.reshape(num_games),
        is_played=start.is_open.reshape(num_games),
    )


def draw_openings(
    game: protocol.Game, key: jax.Array, num_openings: int, opening_plies: int
) -> Openings:
    """Returns positions after uniformly random legal plies, from the start of the game.

    An opening that ends the game is drawn again, up to `_MAX_DRAWS` times.
    """

    def draw(draw_key: jax.Array) -> Openings:
        def step(position: Any, ply_key: jax.Array) -> tuple[Any, jax.Array]:
            action = game.random_action(ply_key, position).astype(jnp.int32)
            return game.step(position, action).position, action

        ply_keys = jax.random.split(draw_key, opening_plies)
        position, actions = jax.lax.scan(step, game.start(num_openings), ply_keys)
        return Openings(position, actions, ~game.is_over(position))

    axes: dict[str, Any] = {"position": 0, "actions": 1, "is_open": 0}
    batch_axes = Openings(**axes)

    @functools.partial(jax.vmap, in_axes=(0, batch_axes, batch_axes), out_axes=batch_axes)
    def select(is_old: jax.Array, old: Openings, new: Openings) -> Openings:
        return jax.tree.map(functools.partial(jnp.where, is_old), old, new)

    def redraw(state: tuple[jax.Array, Openings]) -> tuple[jax.Array, Openings]:
        num_draws, old = state
        new = draw(jax.random.fold_in(key, num_draws))
        return num_draws + 1, select(old.is_open, old, new)

    def is_needed(state: tuple[jax.Array, Openings]) -> jax.Array:
        num_draws, openings = state
        return (num_draws < _MAX_DRAWS) & ~openings.is_open.all()

    undrawn = Openings(
        position=game.start(num_openings),
        actions=jnp.zeros((opening_plies, num_openings), jnp.int32),
        is_open=jnp.zeros(num_openings, bool),
    )
    return jax.lax.while_loop(is_needed, redraw, (jnp.int32(0), undrawn))[1]


@flax.struct.dataclass
class _Play:
    """Games in progress; `H` is half their number.

    The first player is to move in row 0 of the axis of two, the second player in row 1.
    """

    ply: jax.Array  # [] int32, plies played so far, opening included
    position: protocol.Position  # [2, H]
    is_open: jax.Array  # [2, H] bool, the game continues
    result: jax.Array  # [2, H] float32, as seen by the first player; 0 until the game ends
    actions: jax.Array  # [T, 2, H] int32, row 0 by the first player, row 1 by the second


def _play_ply(
    game: protocol.Game, first: players.Player, second: players.Player, key: jax.Array, play: _Play
) -> _Play:
    """Plays one ply in all games and exchanges the halves."""
    ply_key = jax.random.fold_in(key, play.ply)
    first_key, second_key = jax.random.split(ply_key)
    first_position, second_position = (
        jax.tree.map(lambda x, row=row: x[row], play.position) for row in (0, 1)
    )
    action = jnp.stack(
        [
            first(first_key, first_position, play.ply),
            second(second_key, second_position, play.ply),
        ]
    ).astype(jnp.int32)
    step = game.step(play.position, action)
    first_reward = step.reward * jnp.array([[1.0], [-1.0]], jnp.float32)
    played = _Play(
        ply=play.ply + 1,
        position=step.position,
        is_open=play.is_open & (step.discount != 0),
        result=play.result + jnp.where(play.is_open, first_reward, 0.0),
        actions=play.actions.at[play.ply].set(jnp.where(play.is_open, action, _NO_ACTION)),
    )
    position, is_open, result = jax.tree.map(
        lambda x: x[::-1], (played.position, played.is_open, played.result)
    )
    return dataclasses.replace(played, position=position, is_open=is_open, result=result)
