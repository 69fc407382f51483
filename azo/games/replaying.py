"""Transcripts played by the rules on the host, and single positions of the device as boards."""

from collections.abc import Sequence

from azo.games import bitboard, notation, othello, variant
from azo.games.host import live_game, move_lists


def replay(text: str, game: variant.Variant) -> live_game.LiveGame:
    """Plays a transcript from the start; raises ValueError at the first illegal part."""
    return replay_actions(notation.parse_moves(text, game.size), game)


def replay_actions(
    actions: Sequence[int], game: variant.Variant, *, start: notation.Board | None = None
) -> live_game.LiveGame:
    """Plays squares and passes, by default from the start of `game`; see `move_lists.replay`."""
    played = move_lists.replay(game, actions, start).actions
    live = live_game.LiveGame(game)
    live.new_game(start, played.tolist())
    return live


def board_of(position: othello.Position, *, is_black_to_move: bool) -> notation.Board:
    """Returns the discs of a single position by colour."""
    player, opponent = map(bitboard.to_int, (position.player, position.opponent))
    black, white = (player, opponent) if is_black_to_move else (opponent, player)
    return notation.Board(black, white, is_black_to_move)
