"""Transcripts played by the rules, on single positions without batch axes, one ply at a time."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from azo.games import bitboard, notation, othello, variant

# Each is compiled once for each game: games with equal rules and start positions are equal.
_legal_mask = jax.jit(othello.Othello.legal_mask, static_argnums=0)
_is_over = jax.jit(othello.Othello.is_over, static_argnums=0)
_play = jax.jit(othello.Othello.play, static_argnums=0)


@dataclasses.dataclass(frozen=True)
class ReplayedGame:
    """A transcript that was played move by move."""

    actions: tuple[int, ...]  # every ply, forced passes included
    positions: tuple[othello.Position, ...]  # before each of the actions, and after the last
    is_over: bool  # in the last position
    is_black_to_move: bool  # in the last position

    @property
    def last_board(self) -> notation.Board:
        """The last position by colour."""
        return board_of(self.positions[-1], is_black_to_move=self.is_black_to_move)


def replay(text: str, game: variant.Variant) -> ReplayedGame:
    """Plays a transcript from the start position of `game`, black first.

    Raises:
      ValueError: see `notation.parse_moves` and `replay_actions`.
    """
    return replay_actions(notation.parse_moves(text, game.size), game)


def replay_actions(
    actions: Sequence[int], game: variant.Variant, *, start: notation.Board | None = None
) -> ReplayedGame:
    """Plays actions by the rules, and inserts forced passes that were left out.

    A forced pass after the last action is not inserted.

    Args:
      actions: squares and passes.
      game: the rules.
      start: the position before the first ply; None is that of `game` with black to move.

    Raises:
      ValueError: at the first illegal action, with its ply (inserted passes count) and the legal
        moves.
    """
    played: list[int] = []
    rules = othello.rules_of(game)
    positions = [rules.start() if start is None else position_of(start)]
    is_black_first = start is None or start.is_black_to_move

    def play(action: int) -> None:
        played.append(action)
        positions.append(_play(rules, positions[-1], jnp.int32(action)))

    for action in actions:
        legal = legal_actions(rules, positions[-1])
        if legal == (game.pass_action,):
            if is_over(rules, positions[-1]):
                raise ValueError(f"{_move_at(action, played, game.size)}: the game is over")
            if action != game.pass_action:
                play(game.pass_action)
                legal = legal_actions(rules, positions[-1])
        if action not in legal:
            colour = "black" if is_black_first == (len(played) % 2 == 0) else "white"
            raise ValueError(
                f"illegal {_move_at(action, played, game.size)}: "
                f"{colour} may play {_alternatives(legal, game.size)}"
            )
        play(action)
    return ReplayedGame(
        actions=tuple(played),
        positions=tuple(positions),
        is_over=is_over(rules, positions[-1]),
        is_black_to_move=is_black_first == (len(played) % 2 == 0),
    )


def legal_actions(game: othello.Othello, position: othello.Position) -> tuple[int, ...]:
    """Returns the legal actions of a single position, in ascending order."""
    return tuple(np.flatnonzero(_legal_mask(game, position)).tolist())


def is_over(game: othello.Othello, position: othello.Position) -> bool:
    """Returns whether the game has ended at a single position."""
    return bool(_is_over(game, position))


def position_of(board: notation.Board) -> othello.Position:
    """Returns a board as a single position, seen by the side to move."""
    return othello.Position(bitboard.from_int(board.player), bitboard.from_int(board.opponent))


def board_of(position: othello.Position, *, is_black_to_move: bool) -> notation.Board:
    """Returns the discs of a single position by colour."""
    player, opponent = map(bitboard.to_int, (position.player, position.opponent))
    black, white = (player, opponent) if is_black_to_move else (opponent, player)
    return notation.Board(black, white, is_black_to_move)


def _move_at(action: int, played: Sequence[int], size: int) -> str:
    """Returns a move and its place in a game for a message."""
    before = " ".join(notation.action_text(a, size) for a in played)
    place = f"at ply {len(played) + 1}" + (f" ({before})" if before else "")
    return f"move {notation.action_text(action, size)!r} {place}"


def _alternatives(legal: tuple[int, ...], size: int) -> str:
    moves = [notation.action_text(a, size) for a in legal]
    return " or ".join(filter(None, [", ".join(moves[:-1]), moves[-1]]))
