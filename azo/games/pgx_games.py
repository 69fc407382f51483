"""Games of Pgx (https://github.com/sotetsuk/pgx) as games of azo: its rules, azo's search and loop.

These are its games of two players who move in turn, without chance or secrets. A position is the
state of Pgx without the observation, which `planes` computes for the side to move.
"""

import functools
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
            f"{place} azo plays those of Pgx with two players in turn, without chance or secrets:"
            f" {', '.join(_GAMES)}"
        )
    try:
        import pgx
    except ImportError:
        raise ValueError(f'{place} Pgx is not installed: pip install "azo[pgx]"') from None
    return PgxGame(name, pgx.make(name))


class PgxGame(protocol.Game):
    """A game of Pgx; `protocol.Game` describes the members."""

    def __init__(self, name: str, env: Any):
        self._id, self._env = name, env
        state = jax.eval_shape(self._init)
        self._planes_shape = jax.eval_shape(self.planes, state).shape
        self._num_actions = state.legal_action_mask.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PgxGame) and self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id)

    @property
    def name(self) -> str:
        """Name in logs and checkpoints, such as "pgx:hex"."""
        return f"pgx:{self._id}"

    @property
    def board_shape(self) -> tuple[int, int]:
        """Rows and columns of the observation."""
        return self._planes_shape[:2]

    @property
    def num_actions(self) -> int:
        """Number of actions `A`, as in Pgx."""
        return self._num_actions

    @property
    def max_plies(self) -> int:
        """Upper bound on the plies of a game: Pgx ends longer ones."""
        return _GAMES[self._id].max_plies

    @property
    def max_legal(self) -> int:
        """Upper bound on the legal actions of a position."""
        return _GAMES[self._id].max_legal or self._num_actions

    @functools.cached_property
    def square_symmetries(self) -> np.ndarray:
        """`[K, squares]` int32 permutations: those of the board, or the identity alone."""
        rows, columns = self.board_shape
        squares = np.arange(rows * columns, dtype=np.int32)
        match _GAMES[self._id].symmetry:
            case "square":
                return board_symmetry.square_permutations(rows)
            case "mirror":
                return np.stack([squares, squares.reshape(rows, columns)[:, ::-1].reshape(-1)])
            case "half turn":
                return np.stack([squares, squares[::-1]])
        return squares[None]

    @functools.cached_property
    def action_symmetries(self) -> np.ndarray:
        """`[K, A]` int32, the same of the actions, which are columns where a mirror is all."""
        if _GAMES[self._id].symmetry == "mirror":
            columns = np.arange(self.num_actions, dtype=np.int32)
            return np.stack([columns, columns[::-1]])
        return board_symmetry.with_others(self.square_symmetries, self.num_actions)

    def start(self, *batch_shape: int) -> Any:
        """Returns start positions of a batch shape."""
        return protocol.broadcast(self._init(), (), batch_shape)

    def legal_mask(self, position: Any) -> jax.Array:
        """Returns `[..., A]` bool; the first action alone in a finished game."""
        first = jnp.zeros_like(position.legal_action_mask).at[..., 0].set(True)
        return protocol.where(position.terminated, first, position.legal_action_mask)

    def is_over(self, position: Any) -> jax.Array:
        """Returns `[...]` bool, whether Pgx has ended the game."""
        return position.terminated

    def play(self, position: Any, action: jax.Array) -> Any:
        """Returns the positions after actions `[...]`, seen by the other side."""
        return self._mapped(lambda one, move: _plain(self._env.step(one, move)))(position, action)

    def result(self, position: Any) -> jax.Array:
        """Returns `[...]` float32, the reward of the side to move; 0 before the end."""
        player = position.current_player[..., None]
        return jnp.take_along_axis(position.rewards, player, axis=-1)[..., 0]

    def planes(self, position: Any) -> jax.Array:
        """Returns `[..., rows, columns, C]` bool or float32, Pgx's observation."""
        return self._mapped(self._env.observe)(position)

    def _init(self) -> Any:
        with jax.numpy_rank_promotion("allow"):
            return _plain(self._env.init(jax.random.key(0)))

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


def _plain(state: Any) -> Any:
    """Returns a state without the observation, as arrays of definite types."""
    state = state.replace(observation=None)
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.result_type(x)), state)
