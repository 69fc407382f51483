"""A second tic-tac-toe in plain Python, and exact values of its positions by brute force.

A board is nine characters, row by row: "X" moves first, "O" second, "-" is an empty square. Values
are seen by the side to move.
"""

import functools

import jax.numpy as jnp

from azo.games import board_symmetry, tictactoe

_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def mover(board: str) -> str:
    """Returns the side to move."""
    return "X" if board.count("X") == board.count("O") else "O"


def result(board: str) -> int | None:
    """Returns -1 if the side to move has lost, 0 for a draw, None while the game goes on."""
    if any(board[a] == board[b] == board[c] != "-" for a, b, c in _LINES):
        return -1
    return None if "-" in board else 0


def legal_actions(board: str) -> list[int]:
    """Returns the empty squares."""
    return [square for square in range(9) if board[square] == "-"]


def play(board: str, square: int) -> str:
    """Returns the board after a move."""
    return board[:square] + mover(board) + board[square + 1 :]


def children(board: str) -> list[str]:
    """Returns the boards one ply later; none if the game is over."""
    if result(board) is not None:
        return []
    return [play(board, square) for square in legal_actions(board)]


@functools.cache
def boards() -> tuple[str, ...]:
    """Returns all 5,478 boards that games can reach."""
    positions = {"-" * 9: None}
    level = list(positions)
    while level:
        level = list(dict.fromkeys(child for board in level for child in children(board)))
        positions |= dict.fromkeys(level)
    return tuple(positions)


@functools.cache
def best_value(board: str) -> int:
    """Returns the result of best play by both sides."""
    end = result(board)
    return max(-best_value(child) for child in children(board)) if end is None else end


@functools.cache
def random_value(board: str) -> float:
    """Returns the expected result if both sides play uniformly random moves."""
    end = result(board)
    if end is not None:
        return float(end)
    values = [-random_value(child) for child in children(board)]
    return sum(values) / len(values)


def good_moves(board: str) -> list[int]:
    """Returns the moves that keep the best value; none if the game is over."""
    squares = legal_actions(board) if result(board) is None else []
    return [s for s in squares if -best_value(play(board, s)) == best_value(board)]


def only_good_moves() -> dict[str, int]:
    """Returns the boards where exactly one move keeps the best value, one of each symmetry class.

    Boards with a single empty square, where there is nothing to choose, are left out.
    """
    seen: set[str] = set()
    best_moves = {}
    for board in boards():
        if board in seen or result(board) is not None or board.count("-") == 1:
            continue
        orders = board_symmetry.square_permutations(3)
        seen |= {"".join(board[s] for s in order) for order in orders}
        if len(good := good_moves(board)) == 1:
            best_moves[board] = good[0]
    return best_moves


def position(many: list[str]) -> tictactoe.TicTacToePosition:
    """Returns boards as a batch of positions of the game under test."""

    def marks(board, mark):
        return sum(1 << square for square in range(9) if board[square] == mark)

    other = {"X": "O", "O": "X"}
    return tictactoe.TicTacToePosition(
        player=jnp.array([marks(board, mover(board)) for board in many], jnp.uint32),
        opponent=jnp.array([marks(board, other[mover(board)]) for board in many], jnp.uint32),
    )
