"""Sets of positions with known scores: from a file, from random games, and along perfect games.

A position's utility is the final margin of discs in favour of the side to move, empty squares to
the winner: its score, with the sign turned in reversed Othello. Scores of a file may be exact or
the estimates of an engine. Unknown moves near the end are solved by the host solver.
"""

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from azo.formats import obf
from azo.games import bitboard, notation, othello, replaying

# Perfect games from the usual start of 6x6 by whether fewer discs win, with black's utility.
# Normal: Joel Feinstein, 1993, https://www.maths.nottingham.ac.uk/plp/pmzjff/Othello/6x6sol.html.
# Reversed: F. Pittner, 2006, http://www.tothello.com/html/solving_the_6x6_reversed.html.
PERFECT_GAMES = {
    False: (
        -4,
        ("c2b4c5d2e4e3d1c1b1d5d6f4b3b2f3f2e2b6a4c6a6a2b5a5e6e5a3a1f5f6e1f1",),
    ),
    True: (
        2,
        (
            "c2b4d5e2e3c1b1e4d1d2f2e1f3f4b3d6a5a4a3a2b5b2e6c5c6f1f5e5f6b6a6a1",
            "c2d2e4d5e3f3f4f5e1b3b2e5c5b4a4d6a5b1d1c1e2a2b5a3c6b6e6f2f1f6a1a6",
        ),
    ),
}

NO_UTILITY = -1000  # of illegal moves, and of all moves of a row with unknown scores

_MAX_EMPTIES = 20  # of random positions, which are solved
_MAX_DRAWS = 20

_legal_mask = jax.jit(othello.Othello.legal_mask, static_argnums=0)
_is_over = jax.jit(othello.Othello.is_over, static_argnums=0)


@dataclasses.dataclass(frozen=True)
class PositionSet:
    """`M` positions of unfinished games, with their scores."""

    position: othello.Position  # [M]
    utility: np.ndarray  # [M] int
    move_utility: np.ndarray  # [M, A] int, NO_UTILITY for illegal moves and in unknown rows
    named_best: np.ndarray  # [M] int, the best move that a file names, -1 without one

    def __len__(self) -> int:
        return len(self.utility)

    @property
    def is_best(self) -> np.ndarray:
        """The best moves, `[M, A]` bool: empty rows without scores, and with one legal move.

        A row has the moves of the highest utility, if all have scores, and the named move. If a
        file names one move only, equally good moves are missing.
        """
        utility = self.move_utility
        is_best = (utility == utility.max(axis=1, keepdims=True)) & (utility != NO_UTILITY)
        is_best[(utility != NO_UTILITY).sum(axis=1) == 1] = False
        rows = np.flatnonzero(self.named_best >= 0)
        is_best[rows, self.named_best[rows]] = True
        return is_best


@dataclasses.dataclass(frozen=True)
class PerfectLine:
    """A perfect game of `M` moves, passes left out."""

    positions: PositionSet  # the position before each move
    moves: tuple[frozenset[int], ...]  # the move, and its symmetric equivalents
    texts: tuple[str, ...]  # the moves as written


def of_problems(
    game: othello.Othello, problems: Sequence[obf.Problem], *, max_solved: int
) -> PositionSet:
    """Returns the positions of a file with its scores; finished games are left out.

    Args:
      game: the rules, of the size of all boards.
      problems: positions that have a score, at least one.
      max_solved: moves without scores in the file are solved up to so many empty squares.

    Raises:
      ValueError: if a move is illegal, or all games are over; the number of the line comes first.
    """
    sides = [[getattr(x.board, side) for x in problems] for side in ("player", "opponent")]
    position = othello.Position(*map(bitboard.from_ints, sides))
    rows = np.flatnonzero(~np.asarray(_is_over(game, position)))
    if not len(rows):
        raise ValueError(
            f"{problems[0].line}: the game is over, and so are all games of positions with a score:"
            " add a position with a legal move"
        )
    position = jax.tree.map(lambda words: words[rows], position)
    sign = -1 if game.is_reversed else 1
    positions = _unsolved(game, position, np.zeros(len(rows), int))
    legal = np.asarray(_legal_mask(game, position))
    for row, problem in enumerate(problems[index] for index in rows.tolist()):
        score = problem.best_score(is_reversed=game.is_reversed)
        assert score is not None
        positions.utility[row] = sign * score
        scored = list(problem.move_scores)
        named = [] if problem.best_move is None else [problem.best_move]
        for action in (*scored, *named):
            if not legal[row, action]:
                text = notation.action_text(action, game.size)
                raise ValueError(f"{problem.line}: {text} is illegal")
        if len(scored) == legal[row].sum():
            positions.move_utility[row, scored] = sign * np.array([*problem.move_scores.values()])
        if named and legal[row].sum() > 1:
            positions.named_best[row] = problem.best_move
    return _with_moves(game, positions, max_solved)


def of_random_games(
    game: othello.Othello, key: jax.Array, *, num_positions: int, num_empties: int
) -> PositionSet:
    """Returns different positions of random games with a number of empty squares, solved.

    The side to move can place a disc: forced passes are played. The set has fewer than
    `num_positions` if the games lead to few different ones.

    Raises:
      ValueError: if no position has so many empty squares, or the solvers are too slow for them.
    """
    limit = min(int(game.num_empties(game.start())), _MAX_EMPTIES)
    if not 1 <= num_empties <= limit:
        raise ValueError(f"{num_empties} empty squares: choose 1 to {limit}")
    boards = np.zeros((0, game.packed_words), np.uint32)
    for number in range(_MAX_DRAWS):
        draw_key = jax.random.fold_in(key, number)
        packed, is_usable = _play_down(
            game, draw_key, num_games=num_positions, num_empties=num_empties
        )
        boards = np.concatenate([boards, np.asarray(packed)[np.asarray(is_usable)]])
        _, first = np.unique(boards, axis=0, return_index=True)
        boards = boards[np.sort(first)][:num_positions]
        if len(boards) == num_positions:
            break
    if not len(boards):
        raise ValueError(
            f"{_MAX_DRAWS * num_positions} random games reached no position with {num_empties}"
            " empty squares and a legal move: choose another number"
        )
    unsolved = _unsolved(game, game.unpack(jnp.asarray(boards)), np.zeros(len(boards), int))
    solved = _with_moves(game, unsolved, num_empties)
    return dataclasses.replace(solved, utility=solved.move_utility.max(axis=1))


def perfect_games(game: othello.Othello, *, max_solved: int) -> list[PerfectLine]:
    """Returns the published perfect games of a board, solved up to `max_solved` empty squares.

    Raises:
      ValueError: if the game is not 6x6 from the usual start.
    """
    if game != othello.Othello(6, game.is_reversed):
        raise ValueError("perfect games are stored only for 6x6 from its usual start")
    black, games = PERFECT_GAMES[game.is_reversed]
    return [_line(game, text, black, max_solved) for text in games]


def _line(game: othello.Othello, text: str, black: int, max_solved: int) -> PerfectLine:
    replay = replaying.replay(text, game)
    plies = [ply for ply, action in enumerate(replay.actions) if action != game.pass_action]
    position = jax.tree.map(lambda *words: jnp.stack(words), *(replay.positions[p] for p in plies))
    utility = np.array([black if ply % 2 == 0 else -black for ply in plies])
    positions = _with_moves(game, _unsolved(game, position, utility), max_solved)
    planes = np.asarray(game.planes(position)).reshape(len(plies), -1, 2)
    actions = [replay.actions[ply] for ply in plies]
    moves = (_equal_moves(game, *pair) for pair in zip(planes, actions, strict=True))
    texts = (notation.action_text(action, game.size) for action in actions)
    return PerfectLine(positions, tuple(moves), tuple(texts))


def _equal_moves(game: othello.Othello, board: np.ndarray, action: int) -> frozenset[int]:
    """Returns the images of a move under the symmetries that leave the board unchanged."""
    unchanged = [turned for turned in game.square_symmetries if (board[turned] == board).all()]
    return frozenset(int(turned[action]) for turned in unchanged)


def _unsolved(
    game: othello.Othello, position: othello.Position, utility: np.ndarray
) -> PositionSet:
    unknown = np.full((len(utility), game.num_actions), NO_UTILITY)
    return PositionSet(position, utility, unknown, np.full(len(utility), -1))


def _with_moves(game: othello.Othello, positions: PositionSet, max_solved: int) -> PositionSet:
    """Returns the set with all moves solved where none has a score and few squares are empty."""
    position, moves = positions.position, positions.move_utility.copy()
    is_unknown = (moves == NO_UTILITY).all(axis=1)
    rows = np.flatnonzero(is_unknown & (np.asarray(game.num_empties(position)) <= max_solved))
    if len(rows):
        from azo.solver.host import endgame  # takes a second, and is seldom needed

        solver = endgame.Solver(game.size, is_reversed=game.is_reversed)
        player, opponent = bitboard.to_ints(position.player), bitboard.to_ints(position.opponent)
        for row in rows:
            solution = solver.solve(player[row], opponent[row], every_move=True)
            for action, score in solution.move_scores.items():
                moves[row, action] = -score if game.is_reversed else score
    return dataclasses.replace(positions, move_utility=moves)


@functools.partial(jax.jit, static_argnames=("game", "num_games"))
def _play_down(
    game: othello.Othello, key: jax.Array, *, num_games: int, num_empties: jax.Array | int
) -> tuple[jax.Array, jax.Array]:
    """Returns packed positions `[num_games, words]`, and which have `num_empties`, `[...]`."""

    def play(state: tuple[jax.Array, othello.Position]) -> tuple[jax.Array, othello.Position]:
        ply, position = state
        action = game.random_action(jax.random.fold_in(key, ply), position)
        after = game.step(position, action).position
        goes_on = is_open(position)
        stopped = jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), after, position)
        return ply + 1, stopped

    def is_open(position: othello.Position) -> jax.Array:
        must_pass = game.legal_squares(position).is_empty()
        return ~game.is_over(position) & ((game.num_empties(position) > num_empties) | must_pass)

    state = jnp.int32(0), game.start(num_games)
    _, position = jax.lax.while_loop(lambda state: is_open(state[1]).any(), play, state)
    return game.pack(position), (game.num_empties(position) == num_empties) & ~game.is_over(
        position
    )
