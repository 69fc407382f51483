"""Variants of Othello: board, side that wins, start position and all that follows from them.

Live play on the host needs no more of a game, so this module does not import JAX. `othello` has the
rules on batches of positions.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from azo.games import board_symmetry

SIZES = (4, 6, 8)  # rows and columns of the boards; all scores are even


def square_bits(rows: Sequence[int], columns: Sequence[int] | None = None) -> int:
    """Returns the squares in rows and columns, by default the same, as bits `8 * row + column`."""
    columns = rows if columns is None else columns
    return sum(1 << (8 * row + column) for row in rows for column in columns)


@dataclasses.dataclass(frozen=True, eq=False)
class Variant:
    """Othello on a `size` x `size` board; `othello.Othello` is equal to its variant."""

    packed_words: ClassVar[int] = 4  # uint32 words of a packed position: two for each side
    has_square_actions: ClassVar[bool] = True  # and the pass

    size: int = 8
    is_reversed: bool = False  # fewer discs win
    start_bits: tuple[int, int] | None = None  # discs of the first and of the second player

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise ValueError(f"Othello boards are 4x4, 6x6 or 8x8, not {self.size}x{self.size}")

    @property
    def name(self) -> str:
        """Name in logs and checkpoints, such as "othello8" or "othello6-reversed"."""
        return f"othello{self.size}" + ("-reversed" if self.is_reversed else "")

    @property
    def board_shape(self) -> tuple[int, int]:
        """Rows and columns of the board."""
        return self.size, self.size

    @property
    def num_actions(self) -> int:
        """Number of actions `A`: the squares and the pass."""
        return self.size**2 + 1

    @property
    def pass_action(self) -> int:
        """The action that passes."""
        return self.size**2

    @property
    def max_legal(self) -> int:
        """Upper bound on the legal actions of a position.

        Legal moves lie in eight directions from the player's discs, so `k` discs have at most
        `8 * k` moves. Moves need empty squares, and the opponent has at least one disc.
        """
        squares = self.size**2
        return max(min(8 * discs, squares - discs - 1) for discs in range(1, squares))

    @property
    def num_slots(self) -> int:
        """Legal actions that a search keeps of a position: all on boards up to 6x6, else 32.

        A million positions of random games on 8x8 had at most 26 legal moves.
        """
        return min(32, self.max_legal)

    @property
    def max_plies(self) -> int:
        """Upper bound on the plies of a game: a disc and a pass for each empty square."""
        player, opponent = self.start_discs
        return 2 * (self.size**2 - (player | opponent).bit_count())

    @functools.cached_property
    def scores(self) -> np.ndarray:
        """`[Z]` int32, the final scores in ascending order, see `final_score`."""
        return np.arange(-(self.size**2), self.size**2 + 1, 2, dtype=np.int32)

    @functools.cached_property
    def square_symmetries(self) -> np.ndarray:
        """`[8, squares]` int32 permutations, numbered as in `games.board_symmetry`."""
        return board_symmetry.square_permutations(self.size)

    @functools.cached_property
    def action_symmetries(self) -> np.ndarray:
        """`[8, A]` int32, the same permutations, with the pass in its place."""
        return board_symmetry.with_others(self.square_symmetries, self.num_actions)

    @functools.cached_property
    def board_bits(self) -> int:
        """The squares of the board, as bits `8 * row + column`."""
        return square_bits(range(self.size))

    @property
    def start_discs(self) -> tuple[int, int]:
        """The discs of both players; by default the first has d5 and e4 of an 8x8 board."""
        high = self.size // 2
        low = high - 1
        first = 1 << (8 * low + high) | 1 << (8 * high + low)
        second = 1 << (8 * low + low) | 1 << (8 * high + high)
        return self.start_bits or (first, second)

    @property
    def _fields(self) -> tuple[object, ...]:
        return self.size, self.is_reversed, self.start_bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variant) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)
