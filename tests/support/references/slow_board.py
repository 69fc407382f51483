"""The rules of Othello once more, in plain Python: one board, lists and loops, no bits.

Written to be obviously right rather than fast, and to share nothing with `azo.games`. Squares are
(row, column) from the upper left; black is "X", white "O", an empty square "-".
"""

import dataclasses
import random

_DIRECTIONS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]


@dataclasses.dataclass
class Board:
    """A position with colours."""

    rows: list[list[str]]
    mover: str = "X"

    @property
    def size(self) -> int:
        return len(self.rows)


def start(size: int) -> Board:
    """Returns the usual start of a board with an even number of rows."""
    board = Board([["-"] * size for _ in range(size)])
    low, high = size // 2 - 1, size // 2
    board.rows[low][low] = board.rows[high][high] = "O"
    board.rows[low][high] = board.rows[high][low] = "X"
    return board


def other(colour: str) -> str:
    """Returns the opposite colour."""
    return "O" if colour == "X" else "X"


def flips(board: Board, row: int, column: int, colour: str) -> list[tuple[int, int]]:
    """Returns the discs that turn over if `colour` places one; none unless the square is empty."""
    if board.rows[row][column] != "-":
        return []
    flipped = []
    for down, right in _DIRECTIONS:
        line = []
        r, c = row + down, column + right
        while 0 <= r < board.size and 0 <= c < board.size and board.rows[r][c] == other(colour):
            line.append((r, c))
            r, c = r + down, c + right
        if 0 <= r < board.size and 0 <= c < board.size and board.rows[r][c] == colour:
            flipped += line
    return flipped


def legal_squares(board: Board, colour: str) -> list[tuple[int, int]]:
    """Returns the squares where `colour` may place a disc."""
    squares = [(r, c) for r in range(board.size) for c in range(board.size)]
    return [(r, c) for r, c in squares if flips(board, r, c, colour)]


def legal_actions(board: Board) -> list[int]:
    """Returns row * size + column of the mover's squares, or [size * size], the pass."""
    actions = [r * board.size + c for r, c in legal_squares(board, board.mover)]
    return actions or [board.size**2]


def is_over(board: Board) -> bool:
    """Returns whether neither colour can place a disc."""
    return not legal_squares(board, "X") and not legal_squares(board, "O")


def play(board: Board, action: int) -> Board:
    """Returns the board after a legal action, with the other colour to move."""
    rows = [list(row) for row in board.rows]
    if action != board.size**2:
        row, column = divmod(action, board.size)
        for r, c in [(row, column), *flips(board, row, column, board.mover)]:
            rows[r][c] = board.mover
    return Board(rows, other(board.mover))


def count(board: Board, character: str) -> int:
    """Returns the number of squares that show `character`."""
    return sum(row.count(character) for row in board.rows)


def score(board: Board) -> int:
    """Returns the mover's discs minus the other's, empty squares given to the leader."""
    margin = count(board, board.mover) - count(board, other(board.mover))
    if margin > 0:
        return margin + count(board, "-")
    if margin < 0:
        return margin - count(board, "-")
    return 0


def result(board: Board, *, is_reversed: bool) -> int:
    """Returns 1 if the mover has won, 0 for a draw, -1 if the other side has."""
    margin = count(board, board.mover) - count(board, other(board.mover))
    sign = (margin > 0) - (margin < 0)
    return -sign if is_reversed else sign


def text(board: Board) -> str:
    """Returns the squares as one string."""
    return "".join("".join(row) for row in board.rows)


def black_score(board: Board) -> int:
    """Returns black's discs minus white's, empty squares given to the leader."""
    return score(board) if board.mover == "X" else -score(board)


def after(actions: list[int], size: int) -> Board:
    """Returns the board after legal actions from the start."""
    board = start(size)
    for action in actions:
        board = play(board, action)
    return board


def random_game(size: int, *, seed: int) -> tuple[list[Board], list[int]]:
    """Returns the boards of a random game, and the actions played, passes included."""
    draw = random.Random(seed)
    boards, actions = [start(size)], []
    while not is_over(boards[-1]):
        actions.append(draw.choice(legal_actions(boards[-1])))
        boards.append(play(boards[-1], actions[-1]))
    return boards, actions
