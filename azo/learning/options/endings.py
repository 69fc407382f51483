"""Exact endings of Othello, as examples to learn from.

Random endings replace self-play, so that learning can begin at the end of the game. `adjudication`
solves the endings of games of self-play. The device solves all of them within an iteration.
"""

from typing import Annotated, Any, ClassVar

import flax.struct
import jax
import jax.numpy as jnp
import pydantic

from azo.games import othello, protocol
from azo.learning import replay
from azo.search import search_tree
from azo.settings import setting_types
from azo.solver.device import batched

MAX_EMPTIES = 14  # A solution takes about six times as long with two more empty squares.
_NUM_LANES = 256

Empties = Annotated[int, pydantic.Field(ge=1, le=MAX_EMPTIES)]


class EndingsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Exact endings of Othello in training."""

    adjudicate_empties: Annotated[int, pydantic.Field(ge=0, le=MAX_EMPTIES)] = (
        setting_types.in_schedule(0, is_common=True)
    )
    """Adjudicate self-play games by their exact score at this number of empty squares; 0: play them
    to the end."""
    num_positions: Annotated[int, pydantic.Field(ge=0, le=2**20)] = setting_types.in_schedule(0)
    """Random endings to solve in each iteration instead of self-play, over all devices; 0: none."""
    min_empties: Empties = setting_types.in_schedule(4)
    """Smallest number of empty squares of a random ending."""
    max_empties: Empties = setting_types.in_schedule(10)
    """Largest number of empty squares of a random ending."""

    NEEDS: ClassVar[setting_types.Table] = {
        "adjudicate_empties": (setting_types.needs("num_positions", 0),),
        "min_empties": (setting_types.needs_other("num_positions", 0),),
        "max_empties": (setting_types.needs_other("num_positions", 0),),
    }

    @pydantic.model_validator(mode="after")
    def _check_range(self) -> "EndingsConfig":
        if self.min_empties > self.max_empties:
            raise ValueError(
                f"min_empties is {self.min_empties}, more than max_empties, {self.max_empties}"
            )
        return self


@flax.struct.dataclass
class ExactLines:
    """Best play by both sides from `M` endings to the end, `K` discs long.

    Positions where the only move is to pass are left out.
    """

    board: jax.Array  # [K, M, words] uint32, packed
    policy: jax.Array  # [K, M, A] uint8, 255 for each move that keeps the exact score
    score: jax.Array  # [K, M] int8, exact final score for the side to move
    is_valid: jax.Array  # [K, M] bool, the game is not over
    end: jax.Array  # [M, words] uint32, final board seen by the side to move of the ending


class RandomEndings:
    """Learns from `endings.num_positions` solved endings in each iteration, without self-play."""

    def __init__(self, game: protocol.Game, config: Any) -> None:
        """Keeps the game and the settings, a `run_state.RecipeConfig`."""
        self.game, self.config = game, config

    def rows(self, key: jax.Array, iteration: jax.Array, num_devices: int) -> replay.NewRows:
        """Returns the positions of the lines of this device."""
        game, config = self.game, self.config.endings
        assert isinstance(game, othello.Othello), game.name
        ending_key, solve_key = jax.random.split(key)
        num_endings = config.num_positions // num_devices
        position, is_valid = random_endings(game, ending_key, num_endings, config)
        lines = solve(game, solve_key, position, is_valid, max_empties=config.max_empties)
        score_share = self.config.search.score_share
        return exact_rows(game, lines, iteration, iteration, score_share=score_share)


def exact_rows(
    game: protocol.Game,
    lines: ExactLines,
    iteration: jax.Array,
    actor_version: jax.Array,
    *,
    score_share: float,
) -> replay.NewRows:
    """Returns solved positions `[K, M]` with their scores and best moves."""
    return replay.NewRows(
        is_valid=lines.is_valid,
        board=lines.board,
        policy=lines.policy,
        value=search_tree.value_of_score(game, lines.score, score_share),
        score=lines.score,
        iteration=iteration,
        actor_version=actor_version,
    )


def solve(
    game: othello.Othello,
    key: jax.Array,
    position: othello.Position,
    is_requested: jax.Array,
    *,
    max_empties: int,
) -> ExactLines:
    """Plays random best moves from endings to the end of the game, and solves every position.

    Positions `[M]` have at most `max_empties` empty squares, the length `K` of the lines, where
    requested; elsewhere the line is empty and `end` is the position itself.
    """
    Carry = tuple[othello.Position, jax.Array, jax.Array]

    def ply(carry: Carry, key: jax.Array) -> tuple[Carry, tuple[jax.Array, ...]]:
        position, sign, is_open = carry
        must_pass = is_open & game.legal_squares(position).is_empty()
        position = protocol.where(must_pass, _turned(position), position)
        sign = jnp.where(must_pass, -sign, sign)
        is_open &= ~game.legal_squares(position).is_empty()
        solution = batched.solve(
            game, position, is_open, max_empties=max_empties, num_lanes=_NUM_LANES
        )
        is_best = solution.move_score == solution.score[:, None]
        action = jnp.where(is_best, jax.random.uniform(key, is_best.shape), -1.0).argmax(-1)
        policy = jnp.where(is_best, 255, 0).astype(jnp.uint8)
        after = protocol.where(is_open, game.play(position, action), position)
        row = (game.pack(position), policy, sign, is_open)
        return (after, jnp.where(is_open, -sign, sign), is_open), row

    begin = position, jnp.ones(is_requested.shape, jnp.int8), is_requested
    keys = jax.random.split(key, max_empties)
    (last, last_sign, _), (board, policy, sign, is_valid) = jax.lax.scan(ply, begin, keys)
    end = protocol.where(last_sign == 1, last, _turned(last))
    return ExactLines(
        board=board,
        policy=policy,
        score=sign * game.final_score(end).astype(jnp.int8)[None],
        is_valid=is_valid,
        end=game.pack(end),
    )


def random_endings(
    game: othello.Othello, key: jax.Array, num_positions: int, config: EndingsConfig
) -> tuple[othello.Position, jax.Array]:
    """Returns endings `[M]` of random games, and their validity, `[M]` bool.

    A random game may end with more empty squares; such an ending is invalid.
    """
    number_key, play_key = jax.random.split(key)
    lowest, highest = config.min_empties, config.max_empties
    num_empties = jax.random.randint(number_key, (num_positions,), lowest, highest + 1)

    def ply(position: othello.Position, key: jax.Array) -> tuple[othello.Position, None]:
        stays = (game.num_empties(position) <= num_empties) | game.is_over(position)
        after = game.play(position, game.random_action(key, position))
        return protocol.where(stays, position, after), None

    keys = jax.random.split(play_key, game.max_plies)
    position, _ = jax.lax.scan(ply, game.start(num_positions), keys)
    return position, ~game.is_over(position) & (game.num_empties(position) <= num_empties)


def _turned(position: othello.Position) -> othello.Position:
    return othello.Position(player=position.opponent, opponent=position.player)
