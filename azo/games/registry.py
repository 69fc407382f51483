"""The games that azo knows."""

from azo.games import game_config, othello, protocol, tictactoe

GameConfig = game_config.GameConfig


def make(config: GameConfig) -> protocol.Game:
    """Returns the rules of the configured game; raises ValueError if settings contradict."""
    if config.name == "tictactoe":
        if config.start is not None or config.is_reversed:
            raise ValueError("[game]: 'start' and 'is_reversed' apply only to Othello")
        return tictactoe.TicTacToe()
    return othello.rules_of(game_config.variant_of(config))
