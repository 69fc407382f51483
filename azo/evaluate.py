"""Plays a match: `python -m azo.evaluate runs/quickstart rollouts:100`.

A player is `random`, `greedy`, `rollouts:N` (PUCT with N random games a move), the folder of a run
or of an exported network (searching as in its self-play, but greedily), `network:FOLDER:N` (with N
simulations a move) or `policy:FOLDER` (no search). The game is that of the first folder named, or
what `--game.*` says if no folder is.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import jax
import pydantic
import tyro

from azo import config, networks
from azo.games import registry
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
    print(f"{match.first} against {match.second}: {play(match)}")
    return 0


def play(match: EvaluateConfig) -> arena.MatchResult:
    """Plays the match on the default device."""
    chosen = networks.game_of(match.first) or networks.game_of(match.second) or match.game
    game = registry.make(chosen)
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


if __name__ == "__main__":
    sys.exit(config.run_main(main))
