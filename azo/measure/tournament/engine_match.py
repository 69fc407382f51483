"""A match of one player against an external engine, as a tournament of two."""

import contextlib
import functools

import jax

from azo.games import othello
from azo.measure import arena, engine_protocols, external_engines, players
from azo.measure.tournament import backends, game_log, openings, rounds, standings

_NAMES = ("player", "engine")


def play(
    game: othello.Othello,
    player: players.Player,
    engine: engine_protocols.ExternalEngineConfig,
    key: jax.Array,
    *,
    num_games: int,
    opening_plies: int,
) -> arena.MatchResult:
    """Plays a match, see `arena.play_match`; an engine that fails in a game loses it.

    Raises:
      ValueError: The game is not for the engine, or has too few openings.
      external_engines.EngineError: The engine fails at its start.
    """
    opening_key, seed_key = jax.random.split(key)
    drawn = openings.at_random(game, opening_key, count=num_games // 2, plies=opening_plies)
    schedule = [
        game_log.ScheduledGame(opening, *colours)
        for opening in range(len(drawn))
        for colours in (_NAMES, _NAMES[::-1])
    ]
    seed = int(jax.random.randint(seed_key, (), 0, 2**31 - 1))
    make = functools.partial(external_engines.ExternalEngine, engine, game)
    played: list[game_log.PlayedGame] = []
    with contextlib.ExitStack() as stack:
        both = (backends.DeviceBackend(player, seed), backends.EngineBackend(make, 1))
        for one in both:
            stack.callback(one.close)
        rounds.play(
            game,
            schedule,
            drawn,
            dict(zip(_NAMES, both, strict=True)),
            games_at_once=num_games,
            on_end=played.append,
        )
    (result,) = standings.pairings(_NAMES, played)
    return arena.MatchResult(
        result.wins, result.draws, result.losses, pair_scores=result.pair_scores
    )
