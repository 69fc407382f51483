"""The fixed ladder: players on 8x8 whose Elo was measured once, and stays.

Elo on the ladder can be compared between runs and over time, since no rating of another player
moves it. `patterns:2` is 0. The ratings are those of `azo tournament ladder --num-games 128`:
docs/notebook/classical.md has the table.

The games of a network are those of a tournament, so a stopped measurement continues where it was,
and the folder has all games. Every network meets the same openings.
"""

import json
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from azo.games import registry
from azo.lab import elo, tournament_file, tournament_runner
from azo.storage import files

GAME = registry.GameConfig(size=8)
"""The game of the ladder."""
RATINGS = {
    "patterns:2": 0.0,
    "patterns:4": 299.0,
    "patterns:6": 531.0,
    "patterns:8": 669.0,
    "patterns:10": 796.0,
}
"""Elo by the player's name, as for `azo evaluate`."""
ANCHOR = "patterns:2"
"""The player whose Elo is 0."""
NAME = "network"
"""The name of the rated network in all matches."""
Results = Mapping[str, elo.MatchResult]
"""Results of the network by the opponent's name on the ladder."""


def rate(pairings: Sequence[elo.Pairing], anchor: str = ANCHOR) -> dict[str, elo.Standing]:
    """Returns ratings by name, on the scale of the ladder if one of its players takes part.

    Otherwise the rating of `anchor` is 0.
    """
    names = {name for pairing in pairings for name in (pairing.first, pairing.second)}
    known = RATINGS if names & RATINGS.keys() else None
    rated = elo.rate(pairings, known=known, anchor=None if known else anchor)
    return {one.name: one for one in rated.standings}


def rate_network(results: Results) -> elo.Standing:
    """Returns the rating of a network by its results on the ladder."""
    return rate([elo.Pairing(NAME, name, result) for name, result in results.items()])[NAME]


def by_simulations(
    network: pathlib.Path, folder: pathlib.Path, num_simulations: int, num_games: int
) -> Results:
    """Returns the results of a network with a number of simulations a move.

    `folder` keeps the games, an even number against each player of the ladder.
    """
    player = tournament_file.PlayerConfig(
        name=NAME, network=network, simulations=(num_simulations,)
    )
    return play(player, _opponents(), folder, num_games, games_at_once=num_games)


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
    return play(player, _opponents(), folder, num_games, games_at_once=1)


def play(
    player: tournament_file.PlayerConfig,
    opponents: Mapping[str, tournament_file.PlayerConfig],
    folder: pathlib.Path,
    num_games: int,
    *,
    games_at_once: int,
) -> Results:
    """Plays the missing games of a player in a folder; returns its results.

    All players have one number of simulations or one level. Games in the folder beyond `num_games`
    against an opponent, which is even, do not count.
    """
    tournament = tournament_file.TournamentConfig(
        players=(player, *opponents.values()),
        format="gauntlet",
        num_games=num_games,
        games_at_once=games_at_once,
        game=GAME,
    )
    pairings, _ = tournament_runner.run(tournament, folder, NAME)
    return {name: one.result for name, one in zip(opponents, pairings, strict=True)}


def _opponents() -> dict[str, tournament_file.PlayerConfig]:
    return {
        text: tournament_file.PlayerConfig(name=text.replace(":", "-"), player=text)
        for text in RATINGS
    }
