"""Transcripts played by the rules on the host."""

from azo.games import notation, variant
from azo.games.host import live_game, move_lists


def replay(text: str, game: variant.Variant) -> live_game.LiveGame:
    """Plays a transcript from the start; see `move_lists.replay`, also for its ValueError."""
    played = move_lists.replay(game, notation.parse_moves(text, game.size))
    live = live_game.LiveGame(game)
    live.new_game(actions=played.actions.tolist())
    return live
