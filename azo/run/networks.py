"""Networks from files, as players want them."""

import pathlib

from azo.games import protocol, registry
from azo.measure import players
from azo.run import checkpoint


def game_of(player: str) -> registry.GameConfig | None:
    """Returns the game of the network that a player's name holds the path of, None if none is."""
    path = pathlib.Path(player.removeprefix("network:").removeprefix("policy:"))
    if not path.is_dir():
        path = pathlib.Path(str(path).rpartition(":")[0])
    if not path.is_dir() or path == pathlib.Path():
        return None
    return checkpoint.load_settings(path).game


def loader(game: protocol.Game) -> players.Load:
    """Returns what reads a run's or an exported network's folder for players of `game`."""

    def load(path: str) -> players.TrainedNetwork:
        if not pathlib.Path(path).is_dir():
            raise FileNotFoundError("no such folder")
        variables, config = checkpoint.load_params(pathlib.Path(path))
        trained_for = registry.make(config.game)
        if trained_for != game:
            raise ValueError(f"{path}: a network for {trained_for.name}, not for {game.name}")
        return players.TrainedNetwork(variables, config.network, config.search)

    return load
