"""Self-play: `B` games side by side. A ply searches, moves, records and restarts finished games."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import pydantic

from azo.games import protocol
from azo.learning import initial_games, trajectories
from azo.learning.options import interface
from azo.search import improvement, search_tree
from azo.settings import setting_types


class SelfplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Self-play of one iteration."""

    num_games: setting_types.Games = setting_types.never(256, is_common=True)
    """Games played in parallel, over all devices."""
    num_plies: Annotated[setting_types.Plies, pydantic.Field(gt=0)] = setting_types.in_schedule(
        32, is_common=True
    )
    """Plies per game in an iteration."""
    min_opening_plies: setting_types.Plies = setting_types.in_schedule(0)
    """Minimum number of random opening plies. Large values restrict training to endgames."""
    max_opening_plies: setting_types.Plies = setting_types.in_schedule(0, is_common=True)
    """Maximum number of random opening plies; each game draws its number uniformly."""
    explored_share: Annotated[float, pydantic.Field(ge=0, le=8)] = setting_types.in_schedule(0.0)
    """Examples per played position that are taken from positions searched but not played."""
    options: Annotated[
        tuple[Annotated[str, setting_types.known_or_import_path()], ...],
        pydantic.Field(max_length=16),
    ] = setting_types.never(())
    """Your own options, each as MODULE:CLASS, see docs/extend.md."""
    teacher: str | None = setting_types.never(None)
    """Folder of a network that plays instead of the learner's network."""

    FORMER_DEFAULTS: ClassVar[Mapping[str, Any]] = {"num_games": 128, "num_plies": 16}

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
    games: trajectories.GamesInProgress,
    states: dict[str, Any] | None = None,
    *,
    search: improvement.SearchConfig,
    config: SelfplayConfig,
    options: interface.Options = (),
    iteration: jax.Array | int = 0,
    actor_version: jax.Array | int = 0,
) -> tuple[trajectories.GamesInProgress, trajectories.Trajectory, dict[str, Any]]:
    """Plays `config.num_plies` plies `T` of every game.

    `states` are the options' parts of the state of the run, by their names. The numbers of
    `iteration` and `actor_version` are recorded with the plies.

    Returns the games after the last ply, their trajectory `[T, B]`, and records by the names of
    options; those of "search" are means over the games, `[T]` float32, by names of metrics.
    """
    num_games, states = games.ply.shape[0], states or {}

    def open_games(key: jax.Array, options_key: jax.Array) -> trajectories.GamesInProgress:
        games = initial_games.new_games(
            game,
            key,
            num_games,
            min_opening_plies=config.min_opening_plies,
            max_opening_plies=config.max_opening_plies,
            options=options,
        )
        parts = interface.begin_games(options, options_key, num_games)
        return dataclasses.replace(games, options=parts)

    def play_ply(
        games: trajectories.GamesInProgress, key: jax.Array
    ) -> tuple[trajectories.GamesInProgress, tuple[trajectories.Trajectory, dict[str, Any]]]:
        search_key, opening_key, options_key = jax.random.split(key, 3)
        position, ply = games.position, games.ply
        result = improvement.search(game, evaluate, search_key, position, config=search, ply=ply)
        for option in options:
            result = option.after_search(games, result)
        turn = _step(game, games, result, search.score_share)
        parts, records = {}, {"search": _predictions(result)}
        for option in options:
            name = option.name
            part, state = games.options.get(name), states.get(name)
            turn, parts[name], records[name] = option.after_step(turn, part, state)
        trajectory = trajectories.Trajectory(
            board=game.pack(position),
            ply=ply,
            iteration=jnp.full_like(ply, iteration),
            actor_version=jnp.full_like(ply, actor_version),
            policy=trajectories.quantise(result.policy),
            search_value=result.value.astype(jnp.float16),
            raw_value=result.raw_value.astype(jnp.float16),
            action=result.action.astype(jnp.int16),
            score=turn.score,
            reward=turn.reward,
            discount=turn.discount,
            is_waiting=jnp.ones_like(ply, bool),
            extras=interface.field_values(options, turn),
        )
        games = trajectories.GamesInProgress(turn.after, ply + 1, interface.parts(parts))
        fresh = open_games(opening_key, options_key)
        games = protocol.where(turn.discount == 0, fresh, games)
        return games, (trajectory, interface.parts(records))

    keys = jax.random.split(key, config.num_plies)
    games, (trajectory, records) = jax.lax.scan(play_ply, games, keys)
    end_key = jax.random.fold_in(key, config.num_plies)
    for option in options:
        record = records.get(option.name)
        trajectory, records[option.name] = option.after_play(
            interface.key_of(option, end_key), trajectory, record
        )
    return games, trajectory, interface.parts(records)


def _step(
    game: protocol.Game,
    games: trajectories.GamesInProgress,
    result: improvement.SearchResult,
    score_share: float,
) -> interface.Turn:
    """Plays the moves of a search."""
    step = game.step(games.position, result.action)
    is_last, score = step.discount == 0, -game.final_score(step.position)
    return interface.Turn(
        games=games,
        result=result,
        after=step.position,
        score=score.astype(jnp.int8),
        reward=jnp.where(is_last, search_tree.value_of_score(game, score, score_share), 0.0),
        discount=step.discount,
    )


def _predictions(result: improvement.SearchResult) -> dict[str, jax.Array]:
    """Returns means over the games: shares, and nats of entropies and divergence."""
    tiny = jnp.finfo(jnp.float32).tiny
    divergence = jax.scipy.special.rel_entr(result.policy, jnp.maximum(result.prior, tiny))
    return {
        "policy_entropy": jax.scipy.special.entr(result.policy).sum(axis=-1).mean(),
        "prior_entropy": jax.scipy.special.entr(result.prior).sum(axis=-1).mean(),
        "prior_divergence": divergence.sum(axis=-1).mean(),
        "legal_mass": result.legal_mass.mean(),
    }
