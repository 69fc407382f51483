"""Classical Othello programs as players: Iagno, and two kinds of alpha-beta.

They run on the host, one position after the other, compiled by numba (`lookahead`, `iagno`,
`pattern_search`).
"""

import dataclasses

import numpy as np

from azo.games import othello, protocol

LEVELS = ("easy", "medium", "hard")  # of Iagno
_DEPTHS = (3, 1, 2)  # in plies, at these levels
MAX_DEPTH = 60  # plies of the longest game; the least depth is 1


@dataclasses.dataclass(frozen=True)
class Program:
    """Plays Othello on the host; equal programs play the same moves."""

    game: othello.Othello
    style: str  # a level of Iagno, "positional" or "patterns"
    depth: int  # plies of the search

    def __post_init__(self) -> None:
        # Compiles the kernels or loads them, so that no move is charged for it.
        full, none = np.full(1, -1, np.int64).view(np.uint64), np.zeros(1, np.uint64)
        self.choose(full, none, np.zeros(1, np.int64))

    def choose(
        self, player: np.ndarray, opponent: np.ndarray, seed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses moves; equal arguments give equal moves.

        Discs are `[B]` uint64, bit `8 * row + column`; seeds `[B]` int64, not negative, one per
        game. Returns `[B]` int32 actions, the pass where the game is over, and `[B]` int64, the
        number of positions visited, 0 for a random move.
        """
        # The imports take a second, and few runs need them.
        if self.style == "patterns":
            from azo.opponents.pattern_search import search

            return search.choose(player, opponent, self.depth)
        from azo.opponents import lookahead

        return lookahead.choose(
            self.game, player, opponent, seed, style=self.style, depth=self.depth
        )


def iagno(level: str, game: protocol.Game) -> Program:
    """Returns Iagno 3.38 at one of its levels; raises ValueError for another level or game.

    It plays at random while the board has fewer than 8 discs. Then medium evaluates the positions
    after its own move, and hard those after one reply. Easy evaluates the positions after its next
    move, two plies later, and prefers few discs. The game's seed determines the noise.
    """
    if level not in LEVELS:
        raise ValueError(f"the level is {level!r}, not {', '.join(LEVELS)}")
    if not isinstance(game, othello.Othello) or game != othello.Othello(8):
        raise ValueError(f"Iagno's tables are for Othello on 8x8, not for {game.name}")
    return Program(game, level, _DEPTHS[LEVELS.index(level)])


def alpha_beta(depth: int, game: protocol.Game) -> Program:
    """Returns alpha-beta to a depth in plies; raises ValueError for another game.

    A pass is a ply. Of equal moves it plays the lowest. The seeds change nothing.

    The value of a position is 4 for each legal move more than the opponent's, 40 for each corner,
    and -20 and -8 for a disc beside an empty corner, on the diagonal and on the edge. Mobility and
    corners carried IAGO (Rosenbloom, "A World-Championship-Level Othello Program", Artificial
    Intelligence 19, 1982); primers warn of the squares beside corners. The value of a finished game
    is 1000 for each disc of its score. In reversed Othello all but mobility has the opposite sign.
    """
    if not isinstance(game, othello.Othello):
        raise ValueError(f"alpha-beta plays Othello on 4x4, 6x6 and 8x8, not {game.name}")
    return Program(game, "positional", depth)


def patterns(depth: int, game: protocol.Game) -> Program:
    """Returns alpha-beta on patterns; raises ValueError for another game.

    The depth counts placed discs. The evaluation is linear in patterns as in Logistello; the search
    has a table, iterative deepening and ProbCut (`pattern_search`). With at most `depth` empty
    squares it plays perfectly. The seeds change nothing. docs/notebook/classical.md has its speed
    and its strength.
    """
    if not isinstance(game, othello.Othello) or game != othello.Othello(8):
        raise ValueError(f"the pattern weights are for Othello on 8x8, not for {game.name}")
    return Program(game, "patterns", depth)
