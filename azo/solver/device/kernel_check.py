"""Does the solver's kernel give the scores of its lanes, on this device?"""

import functools

import jax

from azo.games import othello, protocol
from azo.solver.device import batched, kernel, lanes

_NUM_ENDINGS, _MAX_EMPTIES = 64, 8


def difference(game: othello.Othello) -> str:
    """Returns how the kernel and the lanes of `batched` differ, "" if they agree on 64 endings."""
    searcher = lanes.Searcher(game, _MAX_EMPTIES)
    by_lanes = functools.partial(batched.search_lanes, searcher, num_lanes=32)
    by_kernel = functools.partial(
        jax.lax.platform_dependent,
        cuda=functools.partial(kernel.search, searcher),
        default=by_lanes,
    )
    position = jax.jit(functools.partial(random_endings, game, _NUM_ENDINGS, _MAX_EMPTIES))(
        jax.random.key(0)
    )
    is_included = game.num_empties(position) <= _MAX_EMPTIES
    try:
        found = [jax.jit(solve)(position, is_included) for solve in (by_lanes, by_kernel)]
    except Exception as error:  # of a compiler that is not ours
        lines = str(error).splitlines() or [type(error).__name__]
        return f"the solver does not run: {lines[0][:200]}"
    (one, _), (other, _) = jax.device_get(found)
    count = int((one != other).sum())
    return f"the solver gives other scores for {count} of {_NUM_ENDINGS} endings" if count else ""


def random_endings(
    game: othello.Othello, num_endings: int, max_empties: int, key: jax.Array
) -> othello.Position:
    """Returns positions `[num_endings]` of random games with at most `max_empties` empty squares.

    A game that ends before is at its end.
    """

    def ply(number: jax.Array, position: othello.Position) -> othello.Position:
        action = game.random_action(jax.random.fold_in(key, number), position)
        goes_on = (game.num_empties(position) > max_empties) & ~game.is_over(position)
        return protocol.where(goes_on, game.play(position, action), position)

    return jax.lax.fori_loop(0, game.max_plies, ply, game.start(num_endings))
