"""Self-play: `B` games side by side. A ply searches, moves, records and restarts finished games."""

import dataclasses
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.learning import endings, ply_records, resignation, rules
from azo.search import improvement


class SelfplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Self-play of one iteration."""

    num_games: pydantic.PositiveInt = 128
    """Games side by side, over all devices."""
    num_plies: pydantic.PositiveInt = 16
    """Plies of each game in an iteration."""
    min_opening_plies: pydantic.NonNegativeInt = 0
    """Minimum number of random opening plies. Large values restrict training to endgames."""
    max_opening_plies: pydantic.NonNegativeInt = 0
    """Maximum number of random opening plies; each game draws its number uniformly."""
    explored_share: Annotated[float, pydantic.Field(ge=0, le=8)] = 0.0
    """Examples from positions searched but not played, for each played position."""
    teacher: str | None = None
    """Folder of a network that plays in place of the learner's network."""

    @pydantic.model_validator(mode="after")
    def _check_openings(self) -> "SelfplayConfig":
        if self.min_opening_plies > self.max_opening_plies:
            raise ValueError(
                f"min_opening_plies is {self.min_opening_plies}, more than max_opening_plies,"
                f" {self.max_opening_plies}"
            )
        return self


def play(
    game: protocol.Game,
    evaluate: improvement.Evaluate,
    key: jax.Array,
    games: ply_records.GamesInProgress,
    threshold: jax.Array | None = None,
    *,
    search: improvement.SearchConfig,
    config: SelfplayConfig,
    resigning: resignation.ResignationConfig | None = None,
    adjudicate_empties: int = 0,
    iteration: jax.Array | int = 0,
    actor_version: jax.Array | int = 0,
) -> tuple[ply_records.GamesInProgress, ply_records.Turns]:
    """Plays `config.num_plies` plies `T` of every game.

    Args:
      game: the rules.
      evaluate: the actor's network.
      key: for searches and new games.
      games: the games so far.
      threshold: `[]` float32, value below which a player resigns; None if nobody resigns.
      search: settings of the search.
      config: number of plies, openings and explored positions.
      resigning: share of the games that ignore the threshold, if there is one.
      adjudicate_empties: number of empty squares at which games are adjudicated; 0 for never.
      iteration: number to record with the plies.
      actor_version: number to record with the plies.

    Returns:
      The games after the last ply, and the turns; a column of turns may hold several games. The
      reward of adjudicated games is still 0, see `rules.score_adjudicated`.
    """
    num_games = games.ply.shape[0]
    chosen_rules = rules.select(
        game,
        num_explored=round(config.explored_share * num_games),
        threshold=threshold,
        adjudicate_empties=adjudicate_empties,
    )

    def open_games(key: jax.Array, resignation_key: jax.Array) -> ply_records.GamesInProgress:
        games = new_games(
            game,
            key,
            num_games,
            min_opening_plies=config.min_opening_plies,
            max_opening_plies=config.max_opening_plies,
            adjudicate_empties=adjudicate_empties,
        )
        if threshold is None:
            return games
        assert resigning is not None
        state = resignation.init_state(resignation_key, num_games, resigning)
        return dataclasses.replace(games, resignation=state)

    def play_ply(
        games: ply_records.GamesInProgress, key: jax.Array
    ) -> tuple[ply_records.GamesInProgress, ply_records.Turns]:
        search_key, opening_key, resignation_key = jax.random.split(key, 3)
        position, ply = games.position, games.ply
        result = improvement.search(game, evaluate, search_key, position, config=search, ply=ply)
        step = game.step(position, result.action)
        plies = ply_records.Plies(
            board=game.pack(position),
            policy=ply_records.quantise(result.policy),
            action=result.action.astype(jnp.int16),
            ply=ply,
            value=result.value.astype(jnp.float16),
            raw_value=result.raw_value.astype(jnp.float16),
            iteration=jnp.full_like(ply, iteration),
            actor_version=jnp.full_like(ply, actor_version),
            reward=step.reward,
            discount=step.discount,
        )
        turn = ply_records.Turns(
            plies=plies,
            after=step.position,
            predictions=_prediction_statistics(result),
            explored=None,
            resignation=None,
            is_adjudicated=None,
        )
        for rule in chosen_rules:
            turn = rule(games, result, turn)
        games = ply_records.GamesInProgress(turn.after, ply + 1, turn.resignation)
        fresh = open_games(opening_key, resignation_key)
        return restart(games, turn.plies.discount == 0, fresh), turn

    return jax.lax.scan(play_ply, games, jax.random.split(key, config.num_plies))


def new_games(
    game: protocol.Game,
    key: jax.Array,
    num_games: int,
    *,
    min_opening_plies: int = 0,
    max_opening_plies: int = 0,
    adjudicate_empties: int = 0,
) -> ply_records.GamesInProgress:
    """Returns games after random openings, without a state of resignation.

    Opening plies count as played plies. An opening stops before a ply that would end the game or
    have it adjudicated.
    """
    start = ply_records.GamesInProgress(
        position=game.start(num_games), ply=jnp.zeros(num_games, jnp.int32), resignation=None
    )
    num_plies = jax.random.randint(key, (num_games,), min_opening_plies, max_opening_plies + 1)

    def advance(index: jax.Array, games: ply_records.GamesInProgress) -> Any:
        after, is_end = _random_ply(game, jax.random.fold_in(key, index), games, adjudicate_empties)
        return restart(games, (index < num_plies) & ~is_end, after)

    return jax.lax.fori_loop(0, max_opening_plies, advance, start)


def spread_games(
    game: protocol.Game, key: jax.Array, num_games: int, *, adjudicate_empties: int = 0
) -> ply_records.GamesInProgress:
    """Returns games at plies spread evenly over a game's length, after random moves.

    Games that all begin at once would also end at once. The replay would then hold positions of
    about one ply at a time.
    """
    start = new_games(game, key, num_games)
    rows, columns = game.board_shape
    target = jnp.arange(num_games) % (rows * columns)

    def advance(ply: jax.Array, games: ply_records.GamesInProgress) -> Any:
        after, is_end = _random_ply(game, jax.random.fold_in(key, ply), games, adjudicate_empties)
        return restart(games, ply < target, restart(after, is_end, start))

    return jax.lax.fori_loop(0, rows * columns, advance, start)


def restart(
    games: ply_records.GamesInProgress, is_replaced: jax.Array, fresh: ply_records.GamesInProgress
) -> ply_records.GamesInProgress:
    """Returns the games, `fresh` ones where `is_replaced` `[B]`."""

    def choose(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(is_replaced.reshape(-1, *(1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, fresh, games)


def _prediction_statistics(result: improvement.SearchResult) -> ply_records.PredictionStatistics:
    tiny = jnp.finfo(jnp.float32).tiny
    divergence = jax.scipy.special.rel_entr(result.policy, jnp.maximum(result.prior, tiny))
    return ply_records.PredictionStatistics(
        policy_entropy=jax.scipy.special.entr(result.policy).sum(axis=-1).mean(),
        prior_entropy=jax.scipy.special.entr(result.prior).sum(axis=-1).mean(),
        prior_divergence=divergence.sum(axis=-1).mean(),
        legal_mass=result.legal_mass.mean(),
    )


def _random_ply(
    game: protocol.Game,
    key: jax.Array,
    games: ply_records.GamesInProgress,
    adjudicate_empties: int,
) -> tuple[ply_records.GamesInProgress, jax.Array]:
    """Returns the games after a random move, and `[B]` bool, whether it ends them."""
    step = game.step(games.position, game.random_action(key, games.position))
    is_end = step.discount == 0
    if adjudicate_empties:
        is_end |= endings.is_ending(game, step.position, adjudicate_empties)
    return ply_records.GamesInProgress(step.position, games.ply + 1, None), is_end
