"""Games of Pgx (https://github.com/sotetsuk/pgx) as games of azo: its rules, azo's search and loop.

These are its games of two players who move in turn, without chance or hidden information. A
position is the state of Pgx without the observation, which `planes` computes for the side to move.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import board_symmetry, protocol


class _Limits(NamedTuple):
    """Bounds that Pgx does not give, and symmetries of its observations."""

    max_plies: int
    max_legal: int | None = None  # None: all actions
    symmetry: str = ""  # "square", "mirror" or "half turn"


_GAMES = {
    "animal_shogi": _Limits(256),
    # At most 218 moves are known in chess (Petrovic, 1964), and 593 in shogi.
    "chess": _Limits(512, 218),
    "connect_four": _Limits(42, symmetry="mirror"),
    # Five pawns become queens with 16 moves each; king, rook, bishop and knight have 8 each, the
    # first queen 16.
    "gardner_chess": _Limits(256, 128),
    "go_9x9": _Limits(2 * 9**2, symmetry="square"),
    "go_19x19": _Limits(2 * 19**2, symmetry="square"),
    "hex": _Limits(11**2 + 1, symmetry="half turn"),
    "othello": _Limits(2 * 60, symmetry="square"),
    "shogi": _Limits(512, 593),
    "tic_tac_toe": _Limits(9, symmetry="square"),
}


def make(name: str) -> protocol.Game:
    """Returns a game by its name in Pgx; raises ValueError, one line, if it is none for azo."""
    place = f"[game]: name is 'pgx:{name}', but"
    if name not in _GAMES:
        raise ValueError(
            f"{place} azo plays those of Pgx with two players in turn, without chance or hidden"
            f" information: {', '.join(_GAMES)}"
        )
    try:
        import pgx
    except ImportError:
        raise ValueError(f'{place} Pgx is not installed: pip install "azo[pgx]"') from None
    env, limits = pgx.make(name), _GAMES[name]
    with jax.numpy_rank_promotion("allow"):
        state = jax.eval_shape(env.init, jax.random.key(0))
    board_shape, num_actions = state.observation.shape[:2], state.legal_action_mask.size
    squares = _images(limits.symmetry, *board_shape)
    actions = board_symmetry.with_others(squares, num_actions)
    if limits.symmetry == "mirror":  # the actions are columns
        actions = _images("mirror", 1, num_actions)
    return PgxGame(
        name=f"pgx:{name}",
        board_shape=board_shape,
        num_actions=num_actions,
        max_plies=limits.max_plies,
        max_legal=limits.max_legal or num_actions,
        square_symmetries=squares,
        action_symmetries=actions,
        env=env,
    )


@dataclasses.dataclass(frozen=True)
class PgxGame(protocol.Game):
    """A game of Pgx; `protocol.Game` describes the members, and `make` fills them in."""

    name: str = ""
    board_shape: tuple[int, int] = (0, 0)
    num_actions: int = 0
    max_plies: int = 0
    max_legal: int = 0
    square_symmetries: Any = dataclasses.field(default=None, compare=False)
    action_symmetries: Any = dataclasses.field(default=None, compare=False)
    env: Any = dataclasses.field(default=None, compare=False)  # of Pgx

    def start(self, *batch_shape: int) -> Any:
        """Returns start positions of a batch shape."""
        return protocol.broadcast(_init(self.env), (), batch_shape)

    def legal_mask(self, position: Any) -> jax.Array:
        """Returns `[..., A]` bool; only the first action in a finished game."""
        first = jnp.zeros_like(position.legal_action_mask).at[..., 0].set(True)
        return protocol.where(position.terminated, first, position.legal_action_mask)

    def is_over(self, position: Any) -> jax.Array:
        """Returns `[...]` bool, whether Pgx has ended the game."""
        return position.terminated

    def play(self, position: Any, action: jax.Array) -> Any:
        """Returns the positions after actions `[...]`, seen by the other side."""
        return self._mapped(lambda one, move: _plain(self.env.step(one, move)))(position, action)

    def result(self, position: Any) -> jax.Array:
        """Returns `[...]` float32, the reward of the side to move; 0 before the end."""
        player = position.current_player[..., None]
        return jnp.take_along_axis(position.rewards, player, axis=-1)[..., 0]

    def planes(self, position: Any) -> jax.Array:
        """Returns `[..., rows, columns, C]` bool or float32, Pgx's observation."""
        return self._mapped(self.env.observe)(position)

    def _mapped(self, function: Callable) -> Callable:
        """Returns a function of positions `[...]`, given that of a single position."""

        def mapped(position: Any, *others: jax.Array) -> Any:
            # Pgx adds arrays of other ranks, which a program may have forbidden.
            with jax.numpy_rank_promotion("allow"):
                apply = function
                for _ in range(position.terminated.ndim):
                    apply = jax.vmap(apply)
                return apply(position, *others)

        return mapped


def _images(symmetry: str, rows: int, columns: int) -> np.ndarray:
    """Returns `[K, squares]` int32 permutations of a board, the identity first."""
    board = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    images = {
        "": [board],
        "square": [board_symmetry.square_permutations(rows)],
        "mirror": [board, board[:, ::-1]],
        "half turn": [board, board[::-1, ::-1]],
    }
    return np.stack(images[symmetry]).reshape(-1, board.size)


def _init(env: Any) -> Any:
    with jax.numpy_rank_promotion("allow"):
        return _plain(env.init(jax.random.key(0)))


def _plain(state: Any) -> Any:
    """Returns a state without the observation, as arrays of definite types."""
    state = state.replace(observation=None)
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(x)), state)
