"""Matches of a network against the players of the fixed ladder.

The games are those of a tournament, so a stopped measurement continues where it was, and the folder
has all games. Every network meets the same openings.
"""

import json
import pathlib
import sys
from typing import Any

from azo.games import game_config
from azo.matches import ladder, tournament_file, tournament_runner
from azo.settings import import_paths
from azo.storage import files

GAME = game_config.GameConfig(size=8)
"""The game of the leaderboard."""


def by_simulations(
    network: pathlib.Path, folder: pathlib.Path, num_simulations: int, num_games: int
) -> ladder.Results:
    """Returns the results of a network with a number of simulations per move.

    `folder` keeps the games, an even number against each player of the ladder.
    """
    player = tournament_file.PlayerConfig(
        name=ladder.NAME, network=network, simulations=(num_simulations,)
    )
    return _play(player, folder, num_games, games_at_once=num_games)


def by_seconds(
    network: pathlib.Path, folder: pathlib.Path, seconds: float, num_games: int
) -> ladder.Results:
    """Returns the results of the engine of `azo gtp` with a time for each move.

    One game is played after the other, so that no other search takes its time. Arguments as for
    `by_simulations`.
    """
    command = [sys.executable, "-m", "azo", "gtp", "--network", str(network.resolve())]
    command += [f"--allow-import={path}" for path in import_paths.allowed()]
    command += ["--engine.num-simulations", "None", "--engine.seconds", f"{seconds:g}"]
    settings: dict[str, Any] = {"name": ladder.NAME, "command": command, "protocol": "gtp"}
    settings |= {"startup_seconds": 600, "seconds_per_move": 600}  # with compilation
    # JSON of a text, a number or a list is TOML too.
    lines = (f"{key} = {json.dumps(x, ensure_ascii=False)}\n" for key, x in settings.items())
    engine = folder / "engine.toml"
    files.write(engine, "".join(lines).encode(), inside=folder, makes_folder=True)
    player = tournament_file.PlayerConfig(name=ladder.NAME, engine=engine)
    return _play(player, folder, num_games, games_at_once=1)


def _play(
    player: tournament_file.PlayerConfig,
    folder: pathlib.Path,
    num_games: int,
    *,
    games_at_once: int,
) -> ladder.Results:
    """Plays the missing games of a player in a folder; returns its results.

    Games in the folder beyond `num_games` against an opponent, which is even, do not count.
    """
    opponents = _opponents()
    tournament = tournament_file.TournamentConfig(
        players=(player, *opponents.values()),
        format="gauntlet",
        num_games=num_games,
        games_at_once=games_at_once,
        game=GAME,
    )
    pairings, _ = tournament_runner.run(tournament, folder)
    return {name: one.result for name, one in zip(opponents, pairings, strict=True)}


def _opponents() -> dict[str, tournament_file.PlayerConfig]:
    return {
        text: tournament_file.PlayerConfig(name=text.replace(":", "-"), player=text)
        for text in ladder.RATINGS[8]
        if text.startswith("patterns:")
    }
