"""Connect Four as an example of your own game: its rules, and a training run that uses them.

    python -m examples.connect_four               # a minute, into runs/connect_four
    azo evaluate runs/connect_four rollouts:100
    azo train --config tictactoe --game.name examples.connect_four:ConnectFour \
        --run.folder runs/other

Two players drop discs into seven columns of six squares in turn. Four in a row, in any direction,
win. Action `c` drops a disc into column `c`.
"""

import argparse
import functools

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

import azo

ROWS, COLUMNS = 6, 7
# The columns, and the columns of the mirrored board: its two symmetries.
MIRROR = np.array([range(COLUMNS), range(COLUMNS)[::-1]], np.int32)
SETTINGS = {
    "game.name": "examples.connect_four:ConnectFour",
    "search.num_simulations": 16,
    "network.num_blocks": 1,
    "selfplay.num_games": 64,
    "selfplay.num_plies": 16,
    "learner.num_steps": 16,
    "learner.batch_size": 256,
    "evaluation.opponent": "random",
    "evaluation.opening_plies": 2,
    "evaluation.num_simulations": 16,
}


@flax.struct.dataclass
class Position:
    """A batch of positions, seen by the side to move; row 0 is the lowest."""

    player: jax.Array  # [..., 6, 7] bool, discs of the side to move
    opponent: jax.Array  # [..., 6, 7] bool, disjoint from `player`


class ConnectFour(azo.Game):
    """Connect Four; `azo.Game` describes the members, and has all others."""

    name = "connect_four"
    board_shape = (ROWS, COLUMNS)
    num_actions = COLUMNS
    max_plies = ROWS * COLUMNS

    square_symmetries = np.hstack([MIRROR + COLUMNS * row for row in range(ROWS)])
    action_symmetries = MIRROR

    def start(self, *batch_shape: int) -> Position:
        """Returns empty boards of a batch shape."""
        empty = jnp.zeros((*batch_shape, ROWS, COLUMNS), bool)
        return Position(player=empty, opponent=empty)

    def legal_mask(self, position: Position) -> jax.Array:
        """Returns `[..., 7]` bool: columns that are not full, or all of a finished game."""
        return ~_occupied(position)[..., -1, :] | self.is_over(position)[..., None]

    def is_over(self, position: Position) -> jax.Array:
        """Returns `[...]` bool: a side has four in a row, or the board is full."""
        is_full = _occupied(position).all(axis=(-1, -2))
        return is_full | _has_four(position.player) | _has_four(position.opponent)

    def play(self, position: Position, action: jax.Array) -> Position:
        """Returns the positions after discs in columns `[...]`, seen by the other side."""
        height = _occupied(position).sum(axis=-2, keepdims=True)  # [..., 1, 7]
        rows = jnp.arange(ROWS).reshape((1,) * action.ndim + (ROWS, 1))
        columns = jnp.arange(COLUMNS).reshape((1,) * action.ndim + (1, COLUMNS))
        disc = (rows == height) & (columns == action[..., None, None])
        return Position(player=position.opponent, opponent=position.player | disc)

    def result(self, position: Position) -> jax.Array:
        """Returns `[...]` float32, 1, 0 or -1 for the side to move."""
        won, lost = _has_four(position.player), _has_four(position.opponent)
        return won.astype(jnp.float32) - lost.astype(jnp.float32)

    def planes(self, position: Position) -> jax.Array:
        """Returns `[..., 6, 7, 2]` bool: discs of the player, then of the opponent."""
        return jnp.stack([position.player, position.opponent], axis=-1)


def _occupied(position: Position) -> jax.Array:
    """Returns `[..., 6, 7]` bool."""
    return position.player | position.opponent


def _has_four(discs: jax.Array) -> jax.Array:
    """Returns `[...]` bool, whether discs `[..., 6, 7]` have four in a row."""
    found = []
    for up, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        rows, columns = ROWS - 3 * up, COLUMNS - 3 * abs(right)
        left = 3 if right < 0 else 0  # of the first of the four
        four = [
            discs[..., i * up : i * up + rows, left + i * right : left + i * right + columns]
            for i in range(4)
        ]
        found.append(functools.reduce(jnp.logical_and, four).any(axis=(-1, -2)))
    return functools.reduce(jnp.logical_or, found)


def main() -> None:
    """Checks the rules, trains, and tells where the run is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--folder", default="runs/connect_four")
    flags = parser.parse_args()
    azo.check_game(ConnectFour())
    folder = azo.run_training(
        "tictactoe", SETTINGS | {"run.num_iterations": flags.iterations}, folder=flags.folder
    )
    print(f"azo evaluate {folder} rollouts:100 plays the network")


if __name__ == "__main__":
    main()
