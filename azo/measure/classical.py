"""Classical Othello programs as players: Iagno, and a plain positional alpha-beta.

They run on the host, one position after the other, compiled by numba (`lookahead`, `iagno`).
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
_NUM_CACHED = 4096  # tables of games in the cache

# The bit of a square, -1 for the pass, and the number of positions visited.
_ChooseSquare = Callable[[np.uint64, np.uint64, int], tuple[int, int]]


class Program(Protocol):
    """Plays Othello on the host; hashable, and equal to programs that play the same moves."""

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
          positions visited, 0 for a random move.
        """


@dataclasses.dataclass(frozen=True)
class Iagno:
    """Iagno 3.38 at one of its levels.

    It plays at random while the board has fewer than 8 discs. Then medium evaluates the positions
    after its own move, and hard those after one reply. Easy evaluates the positions after its next
    move, two plies later, and prefers few discs. The game's seed determines the noise.
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
        search = _searcher(othello.Othello(8), _DEPTHS[level])

        def choose_square(P: np.uint64, O: np.uint64, game_seed: int) -> tuple[int, int]:
            if int(P | O).bit_count() < lookahead.iagno.MIN_DISCS:
                return lookahead.iagno.random_square(P, O, game_seed), 0
            return search(P, O, lookahead.ClassicalEvaluator(style, _noisy_table(game_seed)))

        return _choose(choose_square, player, opponent, seed, size=8)


@dataclasses.dataclass(frozen=True)
class AlphaBeta:
    """Alpha-beta to a depth in plies, where a pass is a ply; of equal moves it plays the lowest.

    The value of a position is 4 for each legal move more than the opponent's, 40 for each corner,
    and -20 and -8 for a disc beside an empty corner, on the diagonal and on the edge. Mobility and
    corners carried IAGO (Rosenbloom, "A World-Championship-Level Othello Program", Artificial
    Intelligence 19, 1982); primers warn of the squares beside corners. The value of a finished game
    is 1000 for each disc of its score. In reversed Othello all but mobility has the opposite sign.
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
        evaluator = lookahead.ClassicalEvaluator(lookahead.POSITIONAL, np.zeros(64, np.int64))
        search = _searcher(self.game, self.depth)
        return _choose(
            lambda P, O, _: search(P, O, evaluator), player, opponent, seed, size=self.game.size
        )


def _searcher(game: othello.Othello, depth: int) -> Callable[..., tuple[int, int]]:
    """Returns a function of both sides' discs and an evaluator: the best square, and visits."""
    lookahead = _lookahead()
    rules = lookahead.last_squares.make_rules(game.size, is_reversed=game.is_reversed)
    path = lookahead.fixed_depth.make_path(depth)

    def search(P: np.uint64, O: np.uint64, evaluator: tuple) -> tuple[int, int]:
        square, _, num_visited = lookahead.best_move(P, O, depth, evaluator, rules, path)
        return square, num_visited

    return search


def _choose(
    choose_square: _ChooseSquare,
    player: np.ndarray,
    opponent: np.ndarray,
    seed: np.ndarray,
    *,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the results of `Program.choose`."""
    actions = np.zeros(len(player), np.int32)
    num_visited = np.zeros(len(player), np.int64)
    for row, (P, O) in enumerate(zip(player, opponent, strict=True)):
        square, num_visited[row] = choose_square(P, O, int(seed[row]))
        actions[row] = size**2 if square < 0 else square // 8 * size + square % 8
    return actions, num_visited


def _compile(program: Program) -> None:
    """Compiles the kernels or loads them, so that no move is charged for it."""
    full, none = np.full(1, -1, np.int64).view(np.uint64), np.zeros(1, np.uint64)
    program.choose(full, none, np.zeros(1, np.int64))


@functools.lru_cache(maxsize=_NUM_CACHED)
def _noisy_table(seed: int) -> np.ndarray:
    return _lookahead().iagno.noisy_table(seed)


def _lookahead() -> types.ModuleType:
    from azo.measure import lookahead  # the import takes a second, and few runs need it

    return lookahead
