"""Elo of a network on the fixed ladder, by matches with each of its players.

The games are those of a tournament, so a stopped measurement continues where it was, and the folder
has all games. Every network meets the same openings.
"""

import pathlib
import sys
from collections.abc import Mapping, Sequence

from azo.formats import files
from azo.measure import elo, ladder
from azo.measure.tournament import game_log, standings
from azo.run import tournament_file, tournament_runner

NAME = "network"
"""The name of the rated network in all matches."""


def by_simulations(
    network: pathlib.Path, folder: pathlib.Path, num_simulations: int, num_games: int
) -> list[elo.Pairing]:
    """Returns the matches of a network with a number of simulations a move.

    Args:
      network: its folder.
      folder: for the games.
      num_simulations: simulations a move.
      num_games: games against each player of the ladder, even.
    """
    player = tournament_file.PlayerConfig(
        name=NAME, network=network, simulations=(num_simulations,)
    )
    return _play(player, f"{NAME}-{num_simulations}", folder, num_games, games_at_once=num_games)


def by_seconds(
    network: pathlib.Path, folder: pathlib.Path, seconds: float, num_games: int
) -> list[elo.Pairing]:
    """Returns the matches of the engine of `azo gtp` with a time for each move.

    One game is played after the other, so that no other search takes its time. Arguments as for
    `by_simulations`.
    """
    command = [sys.executable, "-m", "azo", "gtp", "--network", str(network.resolve())]
    command += ["--engine.num-simulations", "None", "--engine.seconds", f"{seconds:g}"]
    listed = ", ".join(f"'{word}'" for word in command)
    folder.mkdir(parents=True, exist_ok=True)
    engine = folder / "engine.toml"
    lines = [f"name = '{NAME}'", f"command = [{listed}]", "protocol = 'gtp'"]
    lines += ["startup_seconds = 600", "seconds_per_move = 600"]  # with compilation
    files.write(engine, "".join(line + "\n" for line in lines).encode())
    player = tournament_file.PlayerConfig(name=NAME, engine=engine)
    return _play(player, NAME, folder, num_games, games_at_once=1)


def play(
    tournament: tournament_file.TournamentConfig, folder: pathlib.Path, names: Sequence[str]
) -> list[elo.Pairing]:
    """Plays the missing games of a tournament; returns all of its matches.

    Args:
      tournament: the players and the number of games.
      folder: for the games.
      names: of its players, with simulations and levels.
    """
    tournament_runner.run(tournament, folder, NAME)
    played = game_log.read(folder / tournament_runner.GAMES, tournament.game.size)
    wanted = [one for one in played if one.opening < tournament.num_games // 2]
    return standings.pairings(names, wanted)


def rate(pairings: Sequence[elo.Pairing]) -> elo.Standing:
    """Returns the rating of the network on the scale of the ladder."""
    rated = ladder.rate(pairings, ladder.ANCHOR)
    return next(one for one in rated.standings if one.name == NAME)


def _play(
    player: tournament_file.PlayerConfig,
    name: str,
    folder: pathlib.Path,
    num_games: int,
    *,
    games_at_once: int,
) -> list[elo.Pairing]:
    """Plays the missing games; returns all, with the network as `NAME` and the ladder's names."""
    names: Mapping[str, str] = {text.replace(":", "-"): text for text in ladder.RATINGS}
    opponents = [
        tournament_file.PlayerConfig(name=plain, player=text) for plain, text in names.items()
    ]
    tournament = tournament_file.TournamentConfig(
        players=(player, *opponents),
        format="gauntlet",
        num_games=num_games,
        games_at_once=games_at_once,
        game=ladder.GAME,
    )
    return [
        elo.Pairing(NAME, names[p.second], p.wins, p.draws, p.losses, p.pair_scores)
        for p in play(tournament, folder, [name, *names])
    ]
