"""Plays a match: `python -m azo.evaluate runs/quickstart rollouts:100`.

A player is `random`, `greedy`, `rollouts:N` (PUCT with N random games a move), the folder of a run
or of an exported network (searching as in its self-play, but greedily), `network:FOLDER:N` (with N
simulations a move) or `policy:FOLDER` (no search). The game is that of the first folder named;
`--game.*` says it where no folder is, and may not contradict one.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import pydantic
import tyro

from azo import config, networks
from azo.games import protocol, registry
from azo.measure import arena, players


class EvaluateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A match between two players."""

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PLAYER")]
    """Whose side the result is told from."""
    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="OPPONENT")] = "rollouts:100"
    """Its opponent."""
    num_games: int = 128
    """Games: pairs from the same random opening with both colours."""
    opening_plies: int = 4
    """Random plies at the start of each game."""
    seed: int = 0
    """Of openings and players; the same seed repeats the match."""
    game: registry.GameConfig = registry.GameConfig()
    """The game, if neither player is a network."""


def main(argv: Sequence[str]) -> int:
    """Plays the match and prints its result; returns the exit code."""
    match = config.parse_flags(EvaluateConfig, argv, prog="python -m azo.evaluate")
    is_game_given = any(flag.startswith("--game.") for flag in argv)
    result = play(match, _rules(match, is_game_given=is_game_given))
    print(f"{match.first} against {match.second}: {result}")
    return 0


def play(match: EvaluateConfig, game: protocol.Game) -> arena.MatchResult:
    """Plays the match on the default device."""
    load = networks.loader(game)
    first, second = (players.parse(text, game, load) for text in (match.first, match.second))
    return arena.play_match(
        game,
        first,
        second,
        jax.random.key(match.seed),
        num_games=match.num_games,
        opening_plies=match.opening_plies,
    )


def _rules(match: EvaluateConfig, *, is_game_given: bool) -> protocol.Game:
    """Returns the game of the first network, or that of the flags if there is none."""
    for player in (match.first, match.second):
        trained_for = networks.game_of(player)
        if trained_for is None:
            continue
        game = registry.make(trained_for)
        if is_game_given and game != registry.make(match.game):
            asked, found = match.game.model_dump(), trained_for.model_dump()
            names = [name for name in asked if asked[name] != found[name]]
            raise ValueError(
                f"--game.* asks for {_listed(asked, names)}, but {player} was trained with"
                f" {_listed(found, names)}: leave --game.* out"
            )
        return game
    return registry.make(match.game)


def _listed(settings: dict[str, Any], names: list[str]) -> str:
    return ", ".join(f"{name} {settings[name]}" for name in names)


if __name__ == "__main__":
    sys.exit(config.run_main(main))
