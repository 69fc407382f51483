"""Do the kernels grow the trees that XLA's loops grow, on this device?"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import protocol
from azo.search import improvement, settings

_NUM_POSITIONS = 64


def difference(game: protocol.Game, config: settings.SearchConfig) -> str:
    """Returns how searches by the kernels and by loops differ, "" if they agree.

    Both search 64 positions of random games, with an evaluation that has no rounding.
    """
    key, play_key = jax.random.split(jax.random.key(0))
    position = jax.jit(functools.partial(_positions, game))(play_key)
    found = []
    for kernels in ("off", "on"):
        chosen = config.model_copy(update={"kernels": kernels})
        search = functools.partial(
            improvement.search, game, functools.partial(_evaluate, game), config=chosen
        )
        try:
            result = jax.jit(search)(key, position)
            found.append(jax.device_get((result.action, result.tree.visits, result.tree.parent)))
        except Exception as error:  # of a compiler that is not ours
            lines = str(error).splitlines() or [type(error).__name__]
            return f"they do not run: {lines[0][:200]}"
    is_other = np.zeros(_NUM_POSITIONS, bool)
    for one, other in zip(*found, strict=True):
        is_other |= (one != other).reshape(_NUM_POSITIONS, -1).any(axis=1)
    if not is_other.any():
        return ""
    return f"they grow other trees in {is_other.sum()} of {_NUM_POSITIONS} positions"


def _positions(game: protocol.Game, key: jax.Array) -> protocol.Position:
    """Returns the positions of random games, each after another number of plies."""
    num_plies = jnp.arange(_NUM_POSITIONS) * game.max_plies // _NUM_POSITIONS

    def ply(number: jax.Array, position: protocol.Position) -> protocol.Position:
        action = game.random_action(jax.random.fold_in(key, number), position)
        after = game.step(position, action).position
        goes_on = (number < num_plies) & ~game.is_over(after)
        return protocol.where(goes_on, after, position)

    return jax.lax.fori_loop(0, game.max_plies, ply, game.start(_NUM_POSITIONS))


def _evaluate(
    game: protocol.Game, key: jax.Array, position: protocol.Position
) -> improvement.Evaluation:
    """Evaluates by whole numbers that depend on all planes."""
    del key
    planes = game.planes(position)
    planes = planes.reshape(planes.shape[0], -1) != 0
    factors = jax.random.randint(jax.random.key(1), planes.shape[1:], 1, 1 << 20)
    mixed = jnp.where(planes, factors, 0).sum(axis=-1)[:, None]
    logits = mixed * (2 * jnp.arange(game.num_actions)[None] + 1) % 997 / 256
    value = (mixed[:, 0] % 1009 - 504) / 512
    return improvement.Evaluation(logits, value, value)
