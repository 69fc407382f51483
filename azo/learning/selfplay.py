"""Self-play: `B` games side by side, each searched, moved and restarted as it ends.

Everything stays on the device. A ply is recorded as packed words and a policy of one byte per
action; whoever needs more works it out from the position again.
"""

import dataclasses
from typing import Annotated

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import othello, protocol
from azo.learning import endings, resignation
from azo.search import explored, improvement

Fraction = Annotated[float, pydantic.Field(ge=0, le=1)]


class SelfplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """How much is played in an iteration, and by whom."""

    num_games: pydantic.PositiveInt = 128
    """Games side by side, over all devices."""
    num_plies: pydantic.PositiveInt = 16
    """Plies of each game in an iteration."""
    min_opening_plies: pydantic.NonNegativeInt = 0
    """Games begin after at least so many random plies: with many, only endings are played."""
    max_opening_plies: pydantic.NonNegativeInt = 0
    """Games begin after at most so many, drawn evenly: a wider choice of openings."""
    full_search_share: Annotated[float, pydantic.Field(gt=0, le=1)] = 1.0
    """Playout cap: share of plies with all simulations and noise; only they are learned from."""
    fast_simulations: pydantic.PositiveInt = 8
    """Playout cap: simulations of the other plies."""
    explored_share: Annotated[float, pydantic.Field(ge=0, le=8)] = 0.0
    """Positions searched but not played to learn from, for each played one: the most visited."""
    teacher: str | None = None
    """Folder of a network that plays in place of the one that learns."""

    @pydantic.model_validator(mode="after")
    def _check_openings(self) -> "SelfplayConfig":
        if self.min_opening_plies > self.max_opening_plies:
            raise ValueError(
                f"min_opening_plies is {self.min_opening_plies}, more than max_opening_plies,"
                f" {self.max_opening_plies}"
            )
        return self


@flax.struct.dataclass
class GamesInProgress:
    """Games under way."""

    position: protocol.Position  # [B], never over
    ply: jax.Array  # [B] int32, plies played so far
    resignation: resignation.ResignationState | None  # [B], if games may be resigned


@flax.struct.dataclass
class Plies:
    """Recorded plies, time first."""

    board: jax.Array  # [T, B, words] uint32, the position before the move, packed
    policy: jax.Array  # [T, B, A] uint8, the search's policy, see `quantise`
    action: jax.Array  # [T, B] int16, the move played
    ply: jax.Array  # [T, B] int32, plies played before, even for the first player
    value: jax.Array  # [T, B] float16, the search's value for the player who moved
    raw_value: jax.Array  # [T, B] float16, the network's own value of the same
    is_example: jax.Array  # [T, B] bool, to be learned from
    iteration: jax.Array  # [T, B] int32, when it was played
    actor_version: jax.Array  # [T, B] int32, iterations done when the actor became the actor
    reward: jax.Array  # [T, B] float32, result for the player who moved; 0 until a game ends
    discount: jax.Array  # [T, B] float32, -1 while a game goes on, 0 on its last ply


@flax.struct.dataclass
class PredictionStatistics:
    """How network and search see the positions of each ply, means over the games."""

    policy_entropy: jax.Array  # [T] float32, nats, of the searched policy
    prior_entropy: jax.Array  # [T] float32, nats, of the network's policy over legal moves
    prior_divergence: jax.Array  # [T] float32, nats, KL of the searched policy from the network's
    legal_mass: jax.Array  # [T] float32, share of the network's policy that is on legal moves
    num_evaluations: jax.Array  # [T] int32, of each game


@flax.struct.dataclass
class Adjudicated:
    """Where games were adjudicated, and how they go on from there."""

    begin: jax.Array  # [T, B] bool, after this ply
    lines: endings.ExactLines  # [K, T * B]


@flax.struct.dataclass
class Played:
    """What an iteration of self-play gives."""

    plies: Plies  # [T, B]
    explored: explored.ExploredPositions | None  # [T, M], if they are asked for
    predictions: PredictionStatistics  # [T]
    counts: resignation.ResignationCounts | None  # of games played out in spite of a hopeless value
    adjudicated: Adjudicated | None  # of adjudicated games, if there are any


@flax.struct.dataclass
class _Searched:
    """What is kept of a search, whatever the size of its tree."""

    action: jax.Array  # [B] int32
    policy: jax.Array  # [B, A] uint8
    value: jax.Array  # [B] float32
    raw_value: jax.Array  # [B] float32
    explored: explored.ExploredPositions | None  # [M]
    predictions: PredictionStatistics  # []


@flax.struct.dataclass
class _End:
    """What a ply left, should its game end there."""

    position: protocol.Position  # [B], seen by the side that would move next
    is_solved: jax.Array  # [B] bool, the game is adjudicated
    resignation: resignation.ResignationState | None  # [B]


def quantise(policy: jax.Array) -> jax.Array:
    """Returns policies `[..., A]` float32 as uint8, the largest entry as 255.

    What is below 1 / 510 of the largest entry is lost.
    """
    largest = policy.max(axis=-1, keepdims=True)
    return jnp.round(policy / largest * 255).astype(jnp.uint8)


def restore(quantised: jax.Array) -> jax.Array:
    """Returns the policies `[..., A]` float32, summing to 1, that `quantise` was given."""
    weights = quantised.astype(jnp.float32)
    return weights / weights.sum(axis=-1, keepdims=True)


def begin(
    game: protocol.Game, key: jax.Array, num_games: int, *, adjudicate_empties: int = 0
) -> GamesInProgress:
    """Returns games at plies spread evenly over a game's length, after random moves.

    Games that all begin at once would also all end at once, and the replay would then hold one
    stage of the game at a time.
    """
    start = GamesInProgress(
        position=game.start(num_games), ply=jnp.zeros(num_games, jnp.int32), resignation=None
    )
    rows, columns = game.board_shape
    target = jnp.arange(num_games) % (rows * columns)

    def advance(ply: jax.Array, games: GamesInProgress) -> GamesInProgress:
        action = game.random_action(jax.random.fold_in(key, ply), games.position)
        step = game.step(games.position, action)
        step, _ = endings.adjudicate(game, step, adjudicate_empties)
        after = restarted(game, key, step, games.ply)
        return _where(ply < target, after, games)

    return jax.lax.fori_loop(0, rows * columns, advance, start)


def restarted(
    game: protocol.Game,
    key: jax.Array,
    step: protocol.Step,
    ply: jax.Array,
    *,
    min_opening_plies: int = 0,
    max_opening_plies: int = 0,
    adjudicate_empties: int = 0,
) -> GamesInProgress:
    """Returns the games after a step, new ones where it was the last; without `resignation`.

    A new game's random opening counts as played plies. A random ply that would end the game, or
    have it adjudicated, is not played.
    """
    fresh = GamesInProgress(
        position=game.start(*ply.shape), ply=jnp.zeros_like(ply), resignation=None
    )
    num_plies = jax.random.randint(key, ply.shape, min_opening_plies, max_opening_plies + 1)

    def advance(index: jax.Array, games: GamesInProgress) -> GamesInProgress:
        action = game.random_action(jax.random.fold_in(key, index), games.position)
        step, _ = endings.adjudicate(game, game.step(games.position, action), adjudicate_empties)
        after = GamesInProgress(step.position, games.ply + 1, None)
        return _where((index < num_plies) & (step.discount != 0), after, games)

    opened = jax.lax.fori_loop(0, max_opening_plies, advance, fresh)
    return _where(step.discount == 0, opened, GamesInProgress(step.position, ply + 1, None))


def play(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    shared_key: jax.Array,
    games: GamesInProgress,
    threshold: jax.Array | None = None,
    *,
    search: improvement.SearchConfig,
    config: SelfplayConfig,
    resigning: resignation.ResignationConfig,
    adjudicate_empties: int = 0,
    iteration: jax.Array | int = 0,
    actor_version: jax.Array | int = 0,
) -> tuple[GamesInProgress, Played]:
    """Plays `config.num_plies` plies `T` of every game.

    Args:
      game: the rules.
      evaluate: the network, or what stands in for it.
      key: for the search of every ply.
      shared_key: the same on every device: which plies are searched in full.
      games: the games so far.
      threshold: `[]` float32, below which a value is hopeless; None if nobody resigns.
      search: how moves are searched.
      config: how many plies, and how games begin.
      resigning: which games are played out all the same.
      adjudicate_empties: games are solved when no more squares are empty; 0 if never.
      iteration: what to record as the time of these plies.
      actor_version: version of the actor to record.

    Returns:
      The games as they stand, and what was played; games may follow one another in a column.
    """
    num_explored = round(config.explored_share * games.ply.shape[0])
    fast = search.model_copy(
        update={"num_simulations": config.fast_simulations, "root_noise_fraction": 0.0}
    )

    def searched(
        key: jax.Array, games: GamesInProgress, search: improvement.SearchConfig
    ) -> _Searched:
        found = improvement.search(
            game, evaluate, key, games.position, config=search, ply=games.ply
        )
        extra = None
        if num_explored:
            extra = explored.most_visited(game, found.tree, found.action, num_explored)
        return _Searched(
            action=found.action,
            policy=quantise(found.policy),
            value=found.value,
            raw_value=found.raw_value,
            explored=extra,
            predictions=_opinions(found, search.num_simulations + 1),
        )

    def play_ply(
        games: GamesInProgress, inputs: tuple[jax.Array, jax.Array]
    ) -> tuple[
        GamesInProgress, tuple[Plies, explored.ExploredPositions | None, PredictionStatistics, _End]
    ]:
        key, is_full = inputs
        search_key, opening_key, resignation_key = jax.random.split(key, 3)
        if config.full_search_share < 1:
            found = jax.lax.cond(
                is_full,
                lambda: searched(search_key, games, search),
                lambda: searched(search_key, games, fast),
            )
        else:
            found = searched(search_key, games, search)
        extra = found.explored
        if extra is not None:
            extra = dataclasses.replace(extra, is_valid=extra.is_valid & is_full)

        step = game.step(games.position, found.action)
        state = games.resignation
        if state is not None:
            assert threshold is not None
            step, state = resignation.apply(state, found.value, games.ply, threshold, step)
        step, is_solved = endings.adjudicate(game, step, adjudicate_empties)
        end = _End(step.position, is_solved, state)
        record = Plies(
            board=game.pack(games.position),
            policy=found.policy,
            action=found.action.astype(jnp.int16),
            ply=games.ply,
            value=found.value.astype(jnp.float16),
            raw_value=found.raw_value.astype(jnp.float16),
            is_example=jnp.broadcast_to(is_full, games.ply.shape),
            iteration=jnp.full_like(games.ply, iteration),
            actor_version=jnp.full_like(games.ply, actor_version),
            reward=step.reward,
            discount=step.discount,
        )
        after = restarted(
            game,
            opening_key,
            step,
            games.ply,
            min_opening_plies=config.min_opening_plies,
            max_opening_plies=config.max_opening_plies,
            adjudicate_empties=adjudicate_empties,
        )
        if state is not None:
            fresh = resignation.begin(resignation_key, step.discount.shape[0], resigning)
            state = _where(step.discount == 0, fresh, state)
        after = dataclasses.replace(after, resignation=state)
        return after, (record, extra, found.predictions, end)

    is_full = jax.random.uniform(shared_key, (config.num_plies,)) < config.full_search_share
    keys = jax.random.split(key, config.num_plies)
    games, (plies, extra, predictions, end) = jax.lax.scan(play_ply, games, (keys, is_full))
    adjudicated = counts = None
    if adjudicate_empties:
        solve_key = jax.random.fold_in(key, config.num_plies)
        plies, adjudicated = _adjudicate(game, solve_key, plies, end, adjudicate_empties)
    if end.resignation is not None:
        counts = resignation.count(end.resignation, plies.ply, plies.reward, plies.discount)
    return games, Played(
        plies=plies, explored=extra, predictions=predictions, counts=counts, adjudicated=adjudicated
    )


def _adjudicate(
    game: protocol.Game, key: jax.Array, plies: Plies, end: _End, max_empties: int
) -> tuple[Plies, Adjudicated]:
    """Returns the plies with the rewards of the adjudicated games, and their endings."""
    assert isinstance(game, othello.Othello), game.name
    position, is_wanted = jax.tree.map(jnp.ravel, (end.position, end.is_solved))
    lines = endings.solve(game, key, position, is_wanted, max_empties=max_empties)
    reward = -game.result(game.unpack(lines.end)).reshape(plies.reward.shape)
    reward = jnp.where(end.is_solved, reward, plies.reward)
    return dataclasses.replace(plies, reward=reward), Adjudicated(end.is_solved, lines)


def _opinions(found: improvement.SearchResult, num_evaluations: int) -> PredictionStatistics:
    prior_entropy = jax.scipy.special.entr(found.prior).sum(axis=-1)
    tiny = jnp.finfo(jnp.float32).tiny
    divergence = jax.scipy.special.rel_entr(found.policy, jnp.maximum(found.prior, tiny))
    return PredictionStatistics(
        policy_entropy=jax.scipy.special.entr(found.policy).sum(axis=-1).mean(),
        prior_entropy=prior_entropy.mean(),
        prior_divergence=divergence.sum(axis=-1).mean(),
        legal_mass=found.legal_mass.mean(),
        num_evaluations=jnp.int32(num_evaluations),
    )


def _where(condition: jax.Array, yes, no):
    def choose(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(choose, yes, no)
