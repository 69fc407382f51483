"""Self-play: `B` games side by side. A ply searches, moves, records and restarts finished games."""

import dataclasses
from typing import Annotated

import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol, setting_types
from azo.learning import ply_records, resignation, rules, starts
from azo.search import improvement, objective


class SelfplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Self-play of one iteration."""

    num_games: setting_types.Games = 128
    """Games side by side, over all devices."""
    num_plies: Annotated[setting_types.Plies, pydantic.Field(gt=0)] = 16
    """Plies of each game in an iteration."""
    min_opening_plies: setting_types.Plies = 0
    """Minimum number of random opening plies. Large values restrict training to endgames."""
    max_opening_plies: setting_types.Plies = 0
    """Maximum number of random opening plies; each game draws its number uniformly."""
    archive_share: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    """Share of new games that begin at a position of the replay, in place of an opening."""
    archive_candidates: setting_types.PositiveInt = 1
    """Positions drawn for such a start, of which that with the largest regret is taken."""
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
    archived: starts.ArchivedStarts | None = None,
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
      archived: `[T, B]`, starts of new games after each ply; None for openings alone.
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

    def open_games(
        key: jax.Array, resignation_key: jax.Array, archived: starts.ArchivedStarts | None
    ) -> ply_records.GamesInProgress:
        games = starts.new_games(
            game,
            key,
            num_games,
            min_opening_plies=config.min_opening_plies,
            max_opening_plies=config.max_opening_plies,
            adjudicate_empties=adjudicate_empties,
        )
        if archived is not None:
            games = starts.with_archived(games, archived)
        if threshold is None:
            return games
        assert resigning is not None
        state = resignation.init_state(resignation_key, num_games, resigning)
        return dataclasses.replace(games, resignation=state)

    def play_ply(
        games: ply_records.GamesInProgress,
        inputs: tuple[jax.Array, starts.ArchivedStarts | None],
    ) -> tuple[ply_records.GamesInProgress, ply_records.Turns]:
        key, archived = inputs
        search_key, opening_key, resignation_key = jax.random.split(key, 3)
        position, ply = games.position, games.ply
        result = improvement.search(game, evaluate, search_key, position, config=search, ply=ply)
        step = game.step(position, result.action)
        is_last, score = step.discount == 0, -game.final_score(step.position)
        plies = ply_records.Plies(
            board=game.pack(position),
            policy=ply_records.quantise(result.policy),
            action=result.action.astype(jnp.int16),
            ply=ply,
            value=result.value.astype(jnp.float16),
            raw_value=result.raw_value.astype(jnp.float16),
            iteration=jnp.full_like(ply, iteration),
            actor_version=jnp.full_like(ply, actor_version),
            score=score.astype(jnp.int8),
            reward=jnp.where(is_last, objective.of_score(game, score, search.score_share), 0.0),
            discount=step.discount,
        )
        turn = ply_records.Turns(
            plies=plies,
            after=step.position,
            predictions=_prediction_statistics(result),
            start_regret=games.start_regret,
            explored=None,
            resignation=None,
            is_adjudicated=None,
        )
        for rule in chosen_rules:
            turn = rule(games, result, turn)
        games = ply_records.GamesInProgress(
            turn.after, ply + 1, turn.resignation, games.start_regret
        )
        fresh = open_games(opening_key, resignation_key, archived)
        return starts.restart(games, turn.plies.discount == 0, fresh), turn

    keys = jax.random.split(key, config.num_plies)
    return jax.lax.scan(play_ply, games, (keys, archived))


def _prediction_statistics(result: improvement.SearchResult) -> ply_records.PredictionStatistics:
    tiny = jnp.finfo(jnp.float32).tiny
    divergence = jax.scipy.special.rel_entr(result.policy, jnp.maximum(result.prior, tiny))
    return ply_records.PredictionStatistics(
        policy_entropy=jax.scipy.special.entr(result.policy).sum(axis=-1).mean(),
        prior_entropy=jax.scipy.special.entr(result.prior).sum(axis=-1).mean(),
        prior_divergence=divergence.sum(axis=-1).mean(),
        legal_mass=result.legal_mass.mean(),
    )
