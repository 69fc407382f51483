"""Self-play: `B` games side by side. A ply searches, moves, records and restarts finished games.

Options of the settings are branches while the program is traced: one that is off costs nothing.
"""

import dataclasses
from typing import Annotated

import jax
import jax.numpy as jnp
import pydantic

from azo.games import othello, protocol
from azo.learning import endings, ply_records, resignation, starts
from azo.search import explored, improvement, search_tree
from azo.settings import setting_types


class SelfplayConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Self-play of one iteration."""

    num_games: setting_types.Games = setting_types.never(128, is_common=True)
    """Games side by side, over all devices."""
    num_plies: Annotated[setting_types.Plies, pydantic.Field(gt=0)] = setting_types.in_schedule(
        16, is_common=True
    )
    """Plies of each game in an iteration."""
    min_opening_plies: setting_types.Plies = setting_types.in_schedule(0)
    """Minimum number of random opening plies. Large values restrict training to endgames."""
    max_opening_plies: setting_types.Plies = setting_types.in_schedule(0, is_common=True)
    """Maximum number of random opening plies; each game draws its number uniformly."""
    explored_share: Annotated[float, pydantic.Field(ge=0, le=8)] = setting_types.in_schedule(0.0)
    """Examples from positions searched but not played, for each played position."""
    teacher: str | None = setting_types.never(None)
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

    A player resigns below the `threshold`, `[]` float32; None if nobody resigns. Games are
    adjudicated at `adjudicate_empties` empty squares; 0 for never. The numbers of `iteration` and
    `actor_version` are recorded with the plies.

    Returns the games after the last ply, and the turns; a column of turns may hold several games.
    The reward of adjudicated games is still 0, see `score_adjudicated`.
    """
    num_games = games.ply.shape[0]
    num_explored = round(config.explored_share * num_games)

    def open_games(key: jax.Array, resignation_key: jax.Array) -> ply_records.GamesInProgress:
        games = starts.new_games(
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
        is_last, score = step.discount == 0, -game.final_score(step.position)
        reward = jnp.where(
            is_last, search_tree.value_of_score(game, score, search.score_share), 0.0
        )
        discount, score = step.discount, score.astype(jnp.int8)
        positions = resigned = is_adjudicated = None
        if num_explored:
            positions = explored.most_visited(game, result.tree, result.action, num_explored)
        if threshold is not None:  # the player who resigns loses
            assert games.resignation is not None
            resigns, resigned = resignation.apply(games.resignation, result.value, ply, threshold)
            score = jnp.where(resigns, ply_records.UNKNOWN_SCORE, score)
            reward, discount = jnp.where(resigns, -1.0, reward), jnp.where(resigns, 0.0, discount)
        if adjudicate_empties:
            is_ending = endings.is_ending(game, step.position, adjudicate_empties)
            is_adjudicated = (discount != 0) & is_ending
            discount = jnp.where(is_adjudicated, 0.0, discount)
        plies = ply_records.Plies(
            board=game.pack(position),
            policy=ply_records.quantise(result.policy),
            action=result.action.astype(jnp.int16),
            ply=ply,
            value=result.value.astype(jnp.float16),
            raw_value=result.raw_value.astype(jnp.float16),
            iteration=jnp.full_like(ply, iteration),
            actor_version=jnp.full_like(ply, actor_version),
            score=score,
            reward=reward,
            discount=discount,
        )
        turn = ply_records.Turns(
            plies=plies,
            after=step.position,
            predictions=_predictions(result),
            explored=positions,
            resignation=resigned,
            is_adjudicated=is_adjudicated,
        )
        games = ply_records.GamesInProgress(step.position, ply + 1, resigned)
        fresh = open_games(opening_key, resignation_key)
        return protocol.where(discount == 0, fresh, games), turn

    return jax.lax.scan(play_ply, games, jax.random.split(key, config.num_plies))


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


def score_adjudicated(
    game: protocol.Game,
    key: jax.Array,
    turns: ply_records.Turns,
    *,
    max_empties: int,
    score_share: float,
) -> tuple[ply_records.Turns, endings.ExactLines]:
    """Solves the endings of adjudicated games of turns `[T, B]`, all plies at once.

    Returns the turns with exact scores and rewards, and in `after` the ends of the lines seen by
    the same side; and the lines `[K, T * B]`. The key is for the choice among best moves.
    """
    assert isinstance(game, othello.Othello), game.name
    assert turns.is_adjudicated is not None
    plies, is_adjudicated = turns.plies, turns.is_adjudicated
    position, is_requested = jax.tree.map(jnp.ravel, (turns.after, is_adjudicated))
    lines = endings.solve(game, key, position, is_requested, max_empties=max_empties)
    end = game.unpack(lines.end.reshape(plies.board.shape))
    score = -game.final_score(end)
    reward = search_tree.value_of_score(game, score, score_share)
    plies = dataclasses.replace(
        plies,
        score=jnp.where(is_adjudicated, score.astype(jnp.int8), plies.score),
        reward=jnp.where(is_adjudicated, reward, plies.reward),
    )
    after = protocol.where(is_adjudicated, end, turns.after)
    return dataclasses.replace(turns, plies=plies, after=after), lines
