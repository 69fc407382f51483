"""The fixed ladders: players of Othello whose Elo was measured once, and stays.

Elo on the ladder can be compared between runs and over time, since no rating of another player
moves it. On 8x8 `patterns:2` is 0, on 6x6 `alphabeta:4`. The ratings are those of `azo tournament
ladder` and `ladder6`: docs/notebook/classical.md has the tables.

The games of a network are those of a tournament, so a stopped measurement continues where it was,
and the folder has all games. Every network meets the same openings.
"""

import json
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from azo.games import othello, protocol, registry
from azo.lab import elo, tournament_file, tournament_runner
from azo.storage import files

GAME = registry.GameConfig(size=8)
"""The game of the leaderboard."""
RATINGS: Mapping[int, Mapping[str, float]] = {
    8: {
        "random": -990.0,
        "greedy": -906.0,
        "iagno:medium": -705.0,
        "iagno:hard": -309.0,
        "alphabeta:4": -101.0,
        "gtp-rhino:2": -84.0,
        "patterns:2": 0.0,
        "gtp-rhino:3": 119.0,
        "patterns:4": 299.0,
        "patterns:6": 531.0,
        "patterns:8": 669.0,
        "patterns:10": 796.0,
    },
    6: {
        "random": -643.0,
        "alphabeta:1": -265.0,
        "alphabeta:2": -139.0,
        "alphabeta:4": 0.0,
        "alphabeta:6": 89.0,
        "alphabeta:8": 181.0,
        "alphabeta:10": 277.0,
    },
}
"""Elo by the size of the board and the player's name, as for `azo evaluate`; weakest first."""
NAME = "network"
"""The name of the rated network in all matches."""
Results = Mapping[str, elo.MatchResult]
"""Results of the network by the opponent's name on the ladder."""


def of_game(game: protocol.Game) -> Mapping[str, float]:
    """Returns the ladder of a game, weakest player first; empty for a game without one."""
    size = game.board_shape[0]
    return RATINGS[size] if size in RATINGS and game == othello.Othello(size) else {}


def neighbours(ladder: Mapping[str, float], rating: float) -> tuple[str | None, str | None]:
    """Returns the strongest player below a rating and the weakest above it, None without one."""
    below = [name for name, known in ladder.items() if known <= rating]
    above = [name for name, known in ladder.items() if known > rating]
    return (below[-1] if below else None), (above[0] if above else None)


def rate_network(
    results: Results, ladder: Mapping[str, float] = RATINGS[GAME.size]
) -> elo.Standing:
    """Returns the rating of a network by its results on a ladder."""
    pairings = [elo.Pairing(NAME, name, result) for name, result in results.items()]
    rated = elo.rate(pairings, known=ladder)
    return next(one for one in rated.standings if one.name == NAME)


def by_simulations(
    network: pathlib.Path, folder: pathlib.Path, num_simulations: int, num_games: int
) -> Results:
    """Returns the results of a network with a number of simulations a move.

    `folder` keeps the games, an even number against each player of the ladder.
    """
    player = tournament_file.PlayerConfig(
        name=NAME, network=network, simulations=(num_simulations,)
    )
    return _play(player, folder, num_games, games_at_once=num_games)


def by_seconds(
    network: pathlib.Path, folder: pathlib.Path, seconds: float, num_games: int
) -> Results:
    """Returns the results of the engine of `azo gtp` with a time for each move.

    One game is played after the other, so that no other search takes its time. Arguments as for
    `by_simulations`.
    """
    command = [sys.executable, "-m", "azo", "gtp", "--network", str(network.resolve())]
    command += ["--engine.num-simulations", "None", "--engine.seconds", f"{seconds:g}"]
    settings: dict[str, Any] = {"name": NAME, "command": command, "protocol": "gtp"}
    settings |= {"startup_seconds": 600, "seconds_per_move": 600}  # with compilation
    # JSON of a text, a number or a list is TOML too.
    lines = (f"{key} = {json.dumps(x, ensure_ascii=False)}\n" for key, x in settings.items())
    engine = folder / "engine.toml"
    files.write(engine, "".join(lines).encode(), makes_folder=True)
    player = tournament_file.PlayerConfig(name=NAME, engine=engine)
    return _play(player, folder, num_games, games_at_once=1)


def _play(
    player: tournament_file.PlayerConfig,
    folder: pathlib.Path,
    num_games: int,
    *,
    games_at_once: int,
) -> Results:
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
        for text in RATINGS[8]
        if text.startswith("patterns:")
    }
