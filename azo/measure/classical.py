"""Programs of the classical kind for Othello: Iagno, and a plain positional alpha-beta.

They run on the host, one position after the other, and are compiled by numba (`lookahead`, and
`iagno` for what Iagno looks at).
"""

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Protocol

import numpy as np

from azo.games import othello, protocol

LEVELS = ("easy", "medium", "hard")  # of Iagno
_DEPTHS = (3, 1, 2)  # in plies, at these levels
_NUM_CACHED = 4096  # games whose noise is kept


class Program(Protocol):
    """Plays Othello on the host; hashable, and equal where it plays equally."""

    def choose(
        self, player: np.ndarray, opponent: np.ndarray, seed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses moves; equal arguments give equal moves.

        Args:
          player: `[B]` uint64, discs of the side to move, bit `8 * row + column`.
          opponent: `[B]` uint64, discs of the other side.
          seed: `[B]` int64, not negative, the same for all positions of a game.

        Returns:
          `[B]` int32 actions, the pass where the game is over, and `[B]` int64, the number of
          positions visited, 0 where the move was drawn at random.
        """


@dataclasses.dataclass(frozen=True)
class Iagno:
    """Iagno 3.38 at one of its levels.

    With fewer than 8 discs on the board it moves at random. Then medium judges the positions after
    its own moves, and hard those one reply later. Easy judges those after its next move, two plies
    on, by how few discs it has. Its noise is that of the game's seed.
    """

    level: str
    game: protocol.Game

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"the level is {self.level!r}, not {', '.join(LEVELS)}")
        if self.game != othello.Othello(8):
            raise ValueError(f"Iagno's tables are for Othello on 8x8, not for {self.game.name}")
        _compile(self)

    def choose(
        self, player: np.ndarray, opponent: np.ndarray, seed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Program`."""
        lookahead = _lookahead()
        level = LEVELS.index(self.level)
        style = (lookahead.EASY, lookahead.MEDIUM, lookahead.HARD)[level]
        rules = lookahead.leaves.make_rules(8, is_reversed=False)

        def move(P: np.uint64, O: np.uint64, game_seed: int) -> tuple[int, int]:
            num_discs = int(P | O).bit_count()
            if num_discs < lookahead.iagno.MIN_DISCS:
                legal = int(lookahead.legal_moves(P, O, rules.on_board))
                return lookahead.iagno.random_square(legal, game_seed, num_discs), 0
            table = _noisy_table(game_seed)
            square, _, count = lookahead.best_move(P, O, _DEPTHS[level], style, table, rules)
            return square, count

        return _choose(move, player, opponent, seed, size=8)


@dataclasses.dataclass(frozen=True)
class AlphaBeta:
    """Alpha-beta to a depth in plies, of which a pass is one; the lowest of equal moves is played.

    A position is worth 4 for each legal move more than the opponent would have, 40 for each corner,
    and -20 and -8 for a disc beside an empty corner, on the diagonal and on the edge. Mobility and
    corners carried IAGO (Rosenbloom, "A World-Championship-Level Othello Program", Artificial
    Intelligence 19, 1982); the squares beside corners are those that every primer warns of. A
    finished game is worth 1000 for each disc of its score. In reversed Othello all but mobility has
    the opposite sign.
    """

    depth: int
    game: protocol.Game

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"the depth is {self.depth}, but it is at least 1")
        if not isinstance(self.game, othello.Othello) or self.game.size not in (4, 6, 8):
            raise ValueError(f"alpha-beta plays Othello on 4x4, 6x6 and 8x8, not {self.game.name}")
        _compile(self)

    def choose(
        self, player: np.ndarray, opponent: np.ndarray, seed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Program`. The seeds change nothing."""
        assert isinstance(self.game, othello.Othello)
        lookahead = _lookahead()
        rules = lookahead.leaves.make_rules(self.game.size, is_reversed=self.game.is_reversed)
        no_table = np.zeros(64, np.int64)

        def move(P: np.uint64, O: np.uint64, game_seed: int) -> tuple[int, int]:
            del game_seed
            style = lookahead.POSITIONAL
            square, _, count = lookahead.best_move(P, O, self.depth, style, no_table, rules)
            return square, count

        return _choose(move, player, opponent, seed, size=self.game.size)


def _choose(
    move: Callable[[np.uint64, np.uint64, int], tuple[int, int]],
    player: np.ndarray,
    opponent: np.ndarray,
    seed: np.ndarray,
    *,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns actions and numbers of positions; `move` gives a bit, or -1 for the pass."""
    actions = np.zeros(len(player), np.int32)
    num_positions = np.zeros(len(player), np.int64)
    for row, (P, O) in enumerate(zip(player, opponent, strict=True)):
        square, num_positions[row] = move(P, O, int(seed[row]))
        actions[row] = size**2 if square < 0 else square // 8 * size + square % 8
    return actions, num_positions


def _compile(program: Program) -> None:
    """Compiles, or loads what was compiled before, so that no move is charged for it."""
    full, none = np.full(1, -1, np.int64).view(np.uint64), np.zeros(1, np.uint64)
    program.choose(full, none, np.zeros(1, np.int64))


@functools.lru_cache(maxsize=_NUM_CACHED)
def _noisy_table(seed: int) -> np.ndarray:
    return _lookahead().iagno.noisy_table(seed)


def _lookahead() -> types.ModuleType:
    from azo.measure import lookahead  # takes a second, and is seldom needed

    return lookahead
