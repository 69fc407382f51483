"""Moves, transcripts and boards as text: the only room in `games` where colours have names.

A square is a column letter and a row number, a1 the upper left corner, so "f5" is action 37 of an
8x8 board. A transcript is one string of squares, "f5d6c3", in which passes may be written ("pa")
or left out: where nothing else is legal they are understood. Unless a caller says otherwise black
moves first; from there on the colours alternate with every ply, passes included.

A board is `size * size` characters row by row from a1, `X` black, `O` white, `-` empty, then a
space and the colour to move: the board and mover of the OBF files of Edax. Functions that take a
position mean a single one, without batch axes; they run on the host, one ply at a time.
"""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, othello

PASS_TEXT = "pass"

_COLUMNS = "abcdefgh"
_PASS_TEXTS = ("pass", "pa", "ps", "--")
MOVE = re.compile(r"[a-h][1-8]|pass|pa|ps|--", re.IGNORECASE)
_COLOUR_OF = {"X": "X", "x": "X", "*": "X", "O": "O", "o": "O", "-": "-", ".": "-"}

# Compiled once for each game, since games are equal if their rules and start are.
_legal_mask = jax.jit(othello.Othello.legal_mask, static_argnums=0)
_is_over = jax.jit(othello.Othello.is_over, static_argnums=0)
_play = jax.jit(othello.Othello.play, static_argnums=0)


@dataclasses.dataclass(frozen=True)
class Board:
    """Discs by colour, as Python integers with bit `8 * row + column`."""

    black: int
    white: int
    is_black_to_move: bool

    @property
    def player(self) -> int:
        """The discs of the side to move."""
        return self.black if self.is_black_to_move else self.white

    @property
    def opponent(self) -> int:
        """The discs of the other side."""
        return self.white if self.is_black_to_move else self.black


@dataclasses.dataclass(frozen=True)
class ReplayedGame:
    """A transcript that was played move by move."""

    actions: tuple[int, ...]  # every ply, forced passes included
    positions: tuple[othello.Position, ...]  # before each of the actions, and after the last
    is_over: bool
    is_black_to_move: bool  # in the last position


def action_text(action: int, size: int) -> str:
    """Returns a square as text such as "f5", or "pass"."""
    if action == size * size:
        return PASS_TEXT
    row, column = divmod(int(action), size)
    return f"{_COLUMNS[column]}{row + 1}"


def parse_action(text: str, size: int) -> int:
    """Returns the action of "f5" or of a pass ("pass", "pa", "ps", "--"), in any case of letters.

    Raises:
      ValueError: if `text` is neither, or names a square outside the board.
    """
    move = text.strip().lower()
    if move in _PASS_TEXTS:
        return size * size
    is_square = len(move) == 2 and move[0] in _COLUMNS[:size] and move[1] in "12345678"[:size]
    if not is_square:
        corner = action_text(size * size - 1, size)
        raise ValueError(f"unknown move {text!r}: squares are a1 to {corner}, a pass is 'pass'")
    return (int(move[1]) - 1) * size + _COLUMNS.index(move[0])


def replay(text: str, game: othello.Othello, *, is_black_first: bool = True) -> ReplayedGame:
    """Plays a transcript from the start position of `game`.

    Args:
      text: squares and passes, in any case of letters, with or without white space between them.
        A forced pass may be left out; one after the last move is then not added.
      game: whose rules and start position to use.
      is_black_first: the colour of the first ply.

    Raises:
      ValueError: at the first thing that is not a move or is illegal, with its ply (passes that
        were left out count) and what would have been legal.
    """
    actions: list[int] = []
    positions = [game.start()]

    def play(action: int) -> None:
        actions.append(action)
        positions.append(_play(game, positions[-1], jnp.int32(action)))

    for move in _split(text, game.size):
        action = _action_or_none(move, game.size)
        legal = legal_actions(game, positions[-1])
        if legal == (game.pass_action,):
            if is_over(game, positions[-1]):
                raise ValueError(f"move {move!r} {_place(actions, game.size)}: the game is over")
            if action != game.pass_action:
                play(game.pass_action)
                legal = legal_actions(game, positions[-1])
        if action not in legal:
            colour = "black" if is_black_first == (len(actions) % 2 == 0) else "white"
            raise ValueError(
                f"illegal move {move!r} {_place(actions, game.size)}: "
                f"{colour} may play {_alternatives(legal, game.size)}"
            )
        play(action)
    return ReplayedGame(
        actions=tuple(actions),
        positions=tuple(positions),
        is_over=is_over(game, positions[-1]),
        is_black_to_move=is_black_first == (len(actions) % 2 == 0),
    )


def transcript(actions: tuple[int, ...] | list[int], size: int, *, has_passes: bool = False) -> str:
    """Returns actions as one string of squares; passes are "pa", or left out as is usual."""
    kept = [a for a in actions if has_passes or a != size * size]
    return "".join(action_text(a, size)[:2] for a in kept)


def legal_actions(game: othello.Othello, position: othello.Position) -> tuple[int, ...]:
    """Returns the legal actions of a single position, in ascending order."""
    return tuple(np.flatnonzero(_legal_mask(game, position)).tolist())


def is_over(game: othello.Othello, position: othello.Position) -> bool:
    """Returns whether the game has ended at a single position."""
    return bool(_is_over(game, position))


def parse_coloured_board(text: str, size: int) -> Board:
    """Returns the discs of a board written as text.

    Args:
      text: `size * size` characters, X or * black, O white, - or . empty, in any case of letters;
        then, after white space, the colour to move. Without it black moves.
      size: rows of the board.

    Raises:
      ValueError: for a wrong number of squares, an unknown character or an unknown mover.
    """
    words = text.split()
    if len(words) not in (1, 2):
        raise ValueError(f"board {text!r}: expected the squares, a space and the colour to move")
    squares, mover = (*words, "X")[:2]
    if len(squares) != size * size:
        raise ValueError(
            f"board {text!r}: {len(squares)} squares, but a {size}x{size} board has {size * size}"
        )
    for index, character in enumerate(squares):
        if character not in _COLOUR_OF:
            raise ValueError(
                f"board {text!r}: unknown character {character!r} at "
                f"{action_text(index, size)}, use X (black), O (white) or - (empty)"
            )
    if _COLOUR_OF.get(mover, "-") == "-":
        raise ValueError(f"board {text!r}: unknown mover {mover!r}, use X (black) or O (white)")
    discs = {"X": 0, "O": 0, "-": 0}
    for index, character in enumerate(squares):
        row, column = divmod(index, size)
        discs[_COLOUR_OF[character]] |= 1 << (8 * row + column)
    return Board(discs["X"], discs["O"], _COLOUR_OF[mover] == "X")


def parse_board(text: str, size: int) -> tuple[int, int]:
    """Returns the discs of the side to move and of the other side; see `parse_coloured_board`."""
    board = parse_coloured_board(text, size)
    return board.player, board.opponent


def position_of(board: Board) -> othello.Position:
    """Returns a board as a single position, seen by the side to move."""
    return othello.Position(bitboard.from_int(board.player), bitboard.from_int(board.opponent))


def board_of(position: othello.Position, *, is_black_to_move: bool) -> Board:
    """Returns the discs of a single position by colour."""
    player, opponent = map(bitboard.to_int, (position.player, position.opponent))
    black, white = (player, opponent) if is_black_to_move else (opponent, player)
    return Board(black, white, is_black_to_move)


def board_text(board: Board, size: int) -> str:
    """Returns one line that `parse_coloured_board` reads: the squares, a space, the mover."""
    return "".join(_rows(board, size)) + (" X" if board.is_black_to_move else " O")


def diagram(board: Board, size: int) -> str:
    """Returns a grid with coordinates for people to read, and whose turn it is."""
    letters = "  " + " ".join(_COLUMNS[:size])
    rows = [f"{i} {' '.join(row)} {i}" for i, row in enumerate(_rows(board, size), start=1)]
    mover = "black (X)" if board.is_black_to_move else "white (O)"
    return "\n".join([letters, *rows, letters, f"{mover} to move"])


def _rows(board: Board, size: int) -> list[str]:
    def character(bit: int) -> str:
        return "X" if board.black >> bit & 1 else "O" if board.white >> bit & 1 else "-"

    return ["".join(character(8 * row + col) for col in range(size)) for row in range(size)]


def _split(text: str, size: int) -> list[str]:
    """Returns the moves of a transcript as they are written, or raises ValueError."""
    moves: list[str] = []
    rest = text.lstrip()
    while rest:
        match = MOVE.match(rest)
        if match is None:
            corner = action_text(size * size - 1, size)
            raise ValueError(
                f"cannot read {rest[:10]!r} after {len(moves)} moves: "
                f"squares are a1 to {corner}, a pass is 'pa'"
            )
        moves.append(match[0])
        rest = rest[match.end() :].lstrip()
    return moves


def _action_or_none(move: str, size: int) -> int | None:
    """Returns the action of a move, None for a square outside of a small board."""
    try:
        return parse_action(move, size)
    except ValueError:
        return None


def _place(actions: list[int], size: int) -> str:
    played = " ".join(action_text(a, size) for a in actions)
    return f"at ply {len(actions) + 1}" + (f" ({played})" if played else "")


def _alternatives(legal: tuple[int, ...], size: int) -> str:
    moves = [action_text(a, size) for a in legal]
    return " or ".join(filter(None, [", ".join(moves[:-1]), moves[-1]]))
