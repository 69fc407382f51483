"""Othello as an environment of Pgx (Koyamada et al., 2023, arXiv:2303.17503), on azo's rules.

    env = azo.compat.pgx.make("othello")
    state = jax.vmap(env.init)(keys)
    state = jax.vmap(env.step)(state, actions)

On 8x8 all public fields of states are those of `pgx.make("othello")` for the same keys and actions,
also after illegal actions and after the end. So programs for Pgx run unchanged, with its wrappers
and pictures. As in Pgx, and unlike elsewhere in azo, two passes end a game in which neither side
can place a disc.
"""

import flax.struct
import jax
import jax.numpy as jnp

from azo.games import bitboard, othello, protocol

try:
    import pgx.core
except ImportError:
    raise ImportError("azo.compat.pgx needs the package Pgx: pip install pgx") from None


@flax.struct.dataclass
class GameState:
    """What the rules of Pgx need of a game."""

    turn: jax.Array  # [] int32, 0 if the side that began is to move, else 1
    position: othello.Position  # []
    passed: jax.Array  # [] bool, whether the previous action was a pass

    @property
    def board(self) -> jax.Array:
        """`[..., 64]` int32, 1 for discs of the side to move, -1 for the other's, else 0.

        Rows have eight squares; a smaller board is in the upper left corner.
        """
        boards = (self.position.player, self.position.opponent)
        own, other = (bitboard.squares(board, 8, 8).astype(jnp.int32) for board in boards)
        return (own - other).reshape(*own.shape[:-2], 64)


@flax.struct.dataclass
class State(pgx.core.State):
    """A game in the fields of Pgx; `jax.vmap` adds the axes of a batch."""

    current_player: jax.Array  # [] int32, 0 or 1
    observation: jax.Array  # [n, n, 2] bool, discs of the current player, then of the other
    rewards: jax.Array  # [2] float32, by player: 1, 0 or -1 after the last action, else 0
    terminated: jax.Array  # [] bool
    truncated: jax.Array  # [] bool, always False
    legal_action_mask: jax.Array  # [A] bool; all actions after the end
    _step_count: jax.Array  # [] int32
    _x: GameState

    @property
    def env_id(self) -> pgx.core.EnvId:
        """The name of the game in Pgx."""
        return "othello"


class Othello(pgx.core.Env):
    """Othello on a board of 4x4, 6x6 or 8x8; ValueError for another size."""

    def __init__(self, size: int = 8):
        super().__init__()
        self._game = othello.Othello(size)

    @property
    def id(self) -> pgx.core.EnvId:
        """The name of the game in Pgx."""
        return "othello"

    @property
    def version(self) -> str:
        """The version in Pgx whose states these are."""
        return "v0"

    @property
    def num_players(self) -> int:
        """Number of players."""
        return 2

    def _init(self, key: jax.Array) -> State:
        position = self._game.start()
        return State(
            current_player=jnp.int32(jax.random.bernoulli(key)),
            observation=self._game.planes(position),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            legal_action_mask=self._game.legal_mask(position),
            _step_count=jnp.int32(0),
            _x=GameState(jnp.int32(0), position, jnp.bool_(False)),
        )

    def _step(self, state: State, action: jax.Array, key: jax.Array | None) -> State:
        del key
        game, before = self._game, state._x
        passes = action == game.pass_action
        position = _turn(game, before.position, jnp.where(passes, -1, action))
        margin = jnp.sign(-game.margin(position))  # of the player who moved
        is_over = (game.num_empties(position) == 0) | position.player.is_empty()
        is_over |= before.passed & passes
        own = jnp.arange(2) == state.current_player
        return state.replace(
            current_player=1 - state.current_player,
            rewards=jnp.where(is_over, jnp.where(own, margin, -margin), 0).astype(jnp.float32),
            terminated=is_over,
            legal_action_mask=game.legal_mask(position),
            _x=GameState(1 - before.turn, position, passes),
        )

    def _observe(self, state: State, player_id: jax.Array) -> jax.Array:
        position = state._x.position
        turned = othello.Position(position.opponent, position.player)
        is_own = state.current_player == player_id
        return self._game.planes(protocol.where(is_own, position, turned))


def make(env_id: str, size: int = 8) -> Othello:
    """Returns the environment of a name, as `pgx.make` does; ValueError for another name or size.

    `size` is the number of rows and of columns of the board, 4, 6 or 8.
    """
    if env_id != "othello":
        raise ValueError(f"azo has the environment 'othello', not {env_id!r}: try pgx.make")
    return Othello(size)


def _turn(game: othello.Othello, before: othello.Position, square: jax.Array) -> othello.Position:
    """Returns the position after a disc on a square, seen by the other side.

    -1 is a pass. An illegal disc acts as in Pgx: it removes an own one, and leaves another's.
    """
    row, column = square // game.size, square % game.size
    disc = bitboard.square_bit(jnp.where(square < 0, -1, 8 * row + column))
    flips = bitboard.flips(before.player, before.opponent, disc)
    opponent = before.opponent & ~flips
    player = before.player & ~disc | disc & ~(before.player | opponent) | flips
    return othello.Position(opponent, player)
