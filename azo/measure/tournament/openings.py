"""Where the games of a tournament begin: openings from a file, at random, or balanced ones.

An opening is a tuple of actions from the start of the game, forced passes included, that leaves it
undecided. Every pair of players plays the same openings, each with both colours.
"""

import functools
import pathlib
from collections.abc import Sequence

import jax
import numpy as np

from azo.games import notation, othello, protocol
from azo.measure import arena, players
from azo.search import improvement, rollouts

Opening = tuple[int, ...]

# Candidates for each balanced opening that is wanted, and the simulations that judge one.
_CANDIDATES = 16
_JUDGE = players.rollout_config(400)
_draw = jax.jit(arena.draw_openings, static_argnums=(0, 2, 3))


def at_random(game: protocol.Game, key: jax.Array, *, count: int, plies: int) -> list[Opening]:
    """Returns different openings of uniformly random legal plies.

    Raises:
      ValueError: there are not so many that leave the game undecided.
    """
    found: dict[Opening, None] = {}
    for draw in range(8):
        drawn = _draw(game, jax.random.fold_in(key, draw), count, plies)
        actions = np.asarray(drawn.actions).T[np.asarray(drawn.is_open)]
        found |= dict.fromkeys(tuple(row) for row in actions.tolist())
        if len(found) >= count:
            return list(found)[:count]
    raise ValueError(
        f"only {len(found)} different openings of {plies} random plies in {game.name} came up,"
        f" {count} are wanted: choose more plies, or fewer games"
    )


def balanced(
    game: protocol.Game, key: jax.Array, *, count: int, plies: int, max_value: float
) -> list[Opening]:
    """Returns random openings whose value is at most `max_value` for either side.

    The value, between -1 and 1, is that of 400 simulations of PUCT with random games.

    Raises:
      ValueError: there are too few such openings among 16 times as many.
    """
    draw_key, judge_key = jax.random.split(key)
    candidates = at_random(game, draw_key, count=_CANDIDATES * count, plies=plies)
    position = _played(game, candidates)
    value = np.asarray(_judge(game, judge_key, position))
    chosen = [candidates[row] for row in np.flatnonzero(np.abs(value) <= max_value)]
    if len(chosen) < count:
        raise ValueError(
            f"only {len(chosen)} of {len(candidates)} random openings of {plies} plies have a"
            f" value of at most {max_value:g} for either side, {count} are wanted: allow more"
        )
    return chosen[:count]


def from_file(
    path: pathlib.Path, game: othello.Othello, key: jax.Array, *, count: int
) -> list[Opening]:
    """Returns openings drawn from a file with one transcript a line, such as the XOT lists.

    Raises:
      ValueError: no such file, a line that is no opening, or too few different ones.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"{path}: cannot read the openings ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    order = np.asarray(jax.random.permutation(key, len(numbers))).tolist() if numbers else []
    found: dict[Opening, None] = {}
    for place in order:
        number = numbers[place]
        try:
            played = notation.replay(lines[number], game)
        except ValueError as error:
            raise ValueError(f"{path}:{number + 1}: {error}") from None
        if played.is_over:
            raise ValueError(f"{path}:{number + 1}: the game is over after this opening")
        found[played.actions] = None
        if len(found) == count:
            return list(found)
    raise ValueError(f"{path}: {len(found)} different openings, but {count} are wanted")


def _played(game: protocol.Game, openings: Sequence[Opening]) -> protocol.Position:
    """Returns the positions `[len(openings)]` after openings of equal length."""
    step = jax.jit(lambda position, action: game.step(position, action).position)
    position = game.start(len(openings))
    for actions in zip(*openings, strict=True):
        position = step(position, np.array(actions, np.int32))
    return position


@functools.partial(jax.jit, static_argnums=0)
def _judge(game: protocol.Game, key: jax.Array, position: protocol.Position) -> jax.Array:
    """Returns the values `[B]` of positions by a search with random games."""
    evaluate = rollouts.evaluator(game)
    return improvement.search(game, evaluate, key, position, config=_JUDGE, is_greedy=True).value
