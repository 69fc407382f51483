"""Sets of positions with known scores: from a file, or from random games.

A position's utility is the final margin of discs in favour of the side to move, empty squares to
the winner: its score, with the sign turned in reversed Othello. Scores of a file may be exact or
the estimates of an engine. Unknown moves near the end are solved by the host solver.
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from azo.formats import obf
from azo.games import bitboard, notation, othello, plurals
from azo.learning import pretraining, supervised
from azo.process import code_identity
from azo.storage import files

NO_UTILITY = -1000  # of illegal moves, and of all moves of a row with unknown scores

_MAX_EMPTIES = 20  # of random positions, which are solved
_MAX_DRAWS = 20

_legal_mask = code_identity.jit(othello.Othello.legal_mask, static_argnums=(0,))
_is_over = code_identity.jit(othello.Othello.is_over, static_argnums=(0,))


@dataclasses.dataclass(frozen=True)
class PositionSet:
    """`M` positions of unfinished games, with their scores."""

    position: othello.Position  # [M]
    utility: np.ndarray  # [M] int
    move_utility: np.ndarray  # [M, A] int, NO_UTILITY for illegal moves and in unknown rows

    def __len__(self) -> int:
        return len(self.utility)

    @property
    def is_best(self) -> np.ndarray:
        """The moves of the highest utility, `[M, A]` bool: none without scores, or a choice."""
        utility = self.move_utility
        is_best = (utility == utility.max(axis=1, keepdims=True)) & (utility != NO_UTILITY)
        is_best[(utility != NO_UTILITY).sum(axis=1) == 1] = False
        return is_best


def read(
    game: othello.Othello, sources: Sequence[str], limit: int, solve_empties: int, seed: int
) -> Iterator[tuple[str, PositionSet]]:
    """Yields the name and the positions of each set.

    A source is the path of a file, or `random:EMPTIES`. A set has at most `limit` positions, drawn
    by the seed. Moves without known scores are solved up to `solve_empties` empty squares.

    Raises:
      ValueError: One line: a set is not usable.
    """
    for source in sources:
        kind, _, count = source.partition(":")
        path = pathlib.Path(source)
        if kind == "random" and not path.exists():
            if not (count.isascii() and count.isdigit()):
                raise ValueError(
                    f"{source}: {count!r} is not a number of empty squares, as in random:10"
                )
            key = jax.random.key(seed)
            with files.located(source):
                positions = of_random_games(game, key, num_positions=limit, num_empties=int(count))
            yield source, positions
        else:
            scored = obf.read_scored(path, size=game.size, limit=limit, seed=seed)
            try:
                positions = of_problems(game, scored, max_solved=solve_empties)
            except ValueError as error:
                raise ValueError(f"{path}:{error}") from None
            yield path.name, positions


def of_problems(
    game: othello.Othello, problems: Sequence[obf.Problem], *, max_solved: int
) -> PositionSet:
    """Returns the positions of a file with its scores; finished games are left out.

    All boards have the size of the game, and all problems a score. Moves without scores in the file
    are solved up to `max_solved` empty squares.

    Raises:
      ValueError: if a move is illegal, or all games are over; the number of the line comes first.
    """
    position = _position([problem.board for problem in problems])
    rows = np.flatnonzero(~np.asarray(_is_over(game, position)))
    if not len(rows):
        raise ValueError(
            f"{problems[0].line}: the game is over, and so are all games of positions with a score:"
            " add a position with a legal move"
        )
    position = jax.tree.map(lambda words: words[rows], position)
    sign = -1 if game.is_reversed else 1
    utility = np.zeros(len(rows), int)
    moves = np.full((len(rows), game.num_actions), NO_UTILITY)
    legal = np.asarray(_legal_mask(game, position))
    for row, problem in enumerate(problems[index] for index in rows.tolist()):
        score = problem.best_score(is_reversed=game.is_reversed)
        assert score is not None
        utility[row] = sign * score
        scored = list(problem.move_scores)
        for action in scored:
            if not legal[row, action]:
                text = notation.action_text(action, game.size)
                raise ValueError(f"{problem.line}: {text} is illegal")
        if len(scored) == legal[row].sum():
            moves[row, scored] = sign * np.array([*problem.move_scores.values()])
    return PositionSet(position, utility, _solved(game, position, max_solved, moves))


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
        played = jax.device_get(pretraining.random_games(game, draw_key, num_positions))
        plies = supervised.plies_of(game, *played)
        empties = np.asarray(game.num_empties(game.unpack(jnp.asarray(plies.board))))
        is_usable = (empties == num_empties) & (plies.action != game.pass_action)
        boards = np.concatenate([boards, plies.board[is_usable]])
        _, first = np.unique(boards, axis=0, return_index=True)
        boards = boards[np.sort(first)][:num_positions]
        if len(boards) == num_positions:
            break
    if not len(boards):
        raise ValueError(
            f"{_MAX_DRAWS * num_positions} random games reached no position with"
            f" {plurals.counted(num_empties, 'empty square')} and a legal move:"
            " choose another number"
        )
    position = game.unpack(jnp.asarray(boards))
    moves = _solved(game, position, num_empties)
    return PositionSet(position, moves.max(axis=1), moves)


def _position(boards: Sequence[notation.Board]) -> othello.Position:
    sides = zip(*((board.player, board.opponent) for board in boards), strict=True)
    return othello.Position(*map(bitboard.from_ints, sides))


def _solved(
    game: othello.Othello,
    position: othello.Position,
    max_solved: int,
    moves: np.ndarray | None = None,
) -> np.ndarray:
    """Returns the utilities of moves, solved where none is known and few squares are empty."""
    if moves is None:
        moves = np.full((len(position.player.lower), game.num_actions), NO_UTILITY)
    is_unknown = (moves == NO_UTILITY).all(axis=1)
    rows = np.flatnonzero(is_unknown & (np.asarray(game.num_empties(position)) <= max_solved))
    if len(rows):
        from azo.solver.host import endgame  # takes a second, and is seldom needed

        moves = moves.copy()
        solver = endgame.Solver(game.size, is_reversed=game.is_reversed)
        player, opponent = bitboard.to_ints(position.player), bitboard.to_ints(position.opponent)
        for row in rows:
            solution = solver.solve(player[row], opponent[row], every_move=True)
            for action, score in solution.move_scores.items():
                moves[row, action] = -score if game.is_reversed else score
    return moves
