"""Measures players: by a match, or by known scores.

    azo evaluate runs/azo8 rollouts:100
    azo evaluate engine:zero-fast engine:zero-fast --engine.c-puct 1 --against.c-puct 3
    azo evaluate network:new:100 network:old:100 --sprt 0 10 --num-games 20000
    azo evaluate runs/azo8 --exact random:10 ffo.obf --simulations 0 100
    azo evaluate engine:zero-fast --exact edax_full_20.obf.gz --simulations 800 10000

PLAYER and OPPONENT are `random`, `greedy`, `iagno:LEVEL` (easy, medium or hard), `alphabeta:DEPTH`
(in plies), `patterns:DEPTH` (alpha-beta on pattern weights, in discs), `rollouts:N` (PUCT with N
random games per move), the FOLDER of a run (its checkpoint with the best score in a match, not the
latest one), of a checkpoint or of an exported network (searching as in its self-play, but
greedily), `network:FOLDER:N` (with N simulations per move), `policy:FOLDER` (without search),
`engine:FOLDER:N` (the engine of `azo gtp`, one game at a time, by default without the solver at the
root), or the name of a file in configs/engines with a level, such as `gtp-rhino:3`. `zero-fast` is
a shipped network. The game is that of the first network; `--game.*` gives it if no player is a
network.

With `--sprt ELO0 ELO1` the match ends when a sequential test decides whether PLAYER is stronger by
ELO0 (the null hypothesis) or by ELO1. `--num-games` is then the largest number of games.
azo/matches/sprt.py describes the test.

With `--exact`, the values and moves of a network or of the engine are compared with known scores of
positions, as in docs/notebook/puzzles.md. A SET is a file of OBF lines or CSV (also .gz) with exact
or estimated scores, or `random:N` for solved positions with N empty squares from random games. The
engine is measured as it analyses positions, or with `--engine.search alphabeta` as it plays them.
The table is Markdown.

With `--json`, each match and each row of the table is one JSON object.
"""

import dataclasses
import json
import pathlib
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, ClassVar

import jax
import pydantic
import tyro

from azo.cli import command_line, engine_player
from azo.engine.engine_settings import WITHOUT_PONDERING, EngineConfig
from azo.games import game_config, othello, protocol, registry
from azo.matches import accuracy, arena, sprt, tournament_file
from azo.matches.tournament import backends, openings
from azo.networks import network_files
from azo.opponents import engine_protocols, players
from azo.search import settings
from azo.settings import setting_types, typed_settings

_OPPONENT = "rollouts:100"
_IN_MATCHES = setting_types.needs("exact", ())
_WITH_SETS = setting_types.needs_other("exact", ())
_WITH_SPRT = setting_types.needs_other("sprt", None)
_GAMES_AT_ONCE = 128  # of a match that may end early
_NO_SOLVER = EngineConfig(solve_empties=0, probe_nodes=0)  # at the root
# A line of text, and the object that `--json` prints in its place, if any.
_Output = Iterator[tuple[str, dict[str, Any] | None]]


class EvaluateConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A match between two players; with --exact, a player against known scores."""

    first: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PLAYER")]
    """The player whose result is reported."""
    second: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="OPPONENT")] = _OPPONENT
    """The opponent of PLAYER."""
    num_games: setting_types.Games = setting_types.common(128)
    """Games of the match. Each random opening is played twice, with both colours."""
    opening_plies: setting_types.Plies = setting_types.common(4)
    """Random plies at the start of each game."""
    openings: pathlib.Path | None = setting_types.common(None)
    """File with one opening per line. Openings are drawn from it, instead of random plies."""
    seed: setting_types.Seed = setting_types.common(0)
    """Seed of openings, players and sets of positions; the same seed repeats the result."""
    game: game_config.GameConfig = game_config.GameConfig()
    """The game, if neither player is a network."""
    sprt: Annotated[tuple[float, float], tyro.conf.arg(metavar="ELO0 ELO1")] | None = (
        setting_types.common(None)
    )
    """End the match when it decides between two Elo differences, such as 0 10."""
    alpha: float = setting_types.common(0.05)
    """With --sprt: probability of accepting ELO1 if ELO0 is true."""
    beta: float = setting_types.common(0.05)
    """With --sprt: probability of accepting ELO0 if ELO1 is true."""
    json_lines: Annotated[bool, tyro.conf.arg(name="json")] = setting_types.common(False)
    """Print one JSON object per match, or per row of the table, instead of text."""
    exact: Annotated[tuple[str, ...], tyro.conf.arg(metavar="SET [SET ...]")] = (
        setting_types.common(())
    )
    """Compare a network or the engine with known scores: FILE or random:EMPTIES."""
    simulations: tuple[Annotated[int, pydantic.Field(ge=0, le=settings.MAX_SIMULATIONS)], ...] = (
        setting_types.common(())
    )
    """With --exact: simulations per move; 0 is the network without search. By default 0 and the
    number of the player."""
    limit: setting_types.PositiveInt = setting_types.common(1000)
    """With --exact: positions per set, drawn at random."""
    solve_empties: Annotated[int, pydantic.Field(ge=0, le=20)] = setting_types.common(14)
    """With --exact: solve moves without known scores when at most this many squares are empty."""
    engine: EngineConfig = _NO_SOLVER
    """Settings of PLAYER if it is engine:NETWORK."""
    against: EngineConfig = _NO_SOLVER
    """Settings of OPPONENT if it is engine:NETWORK."""

    NO_EFFECT: ClassVar = {
        f"{section}.{name.removeprefix('engine.')}": reason
        for section in ("engine", "against")
        for name, reason in WITHOUT_PONDERING.items()
    }
    NEEDS: ClassVar[setting_types.Table] = {
        "num_games": (_IN_MATCHES,),
        "opening_plies": (_IN_MATCHES, setting_types.needs("openings", None)),
        "openings": (_IN_MATCHES,),
        "sprt": (_IN_MATCHES,),
        "alpha": (_WITH_SPRT,),
        "beta": (_WITH_SPRT,),
        "limit": (_WITH_SETS,),
        "solve_empties": (_WITH_SETS,),
        "engine.score_share": (_IN_MATCHES,),  # analyses maximise the score, and draw no moves
        "engine.temperature": (_IN_MATCHES,),
        **{f"against.{name}": (_IN_MATCHES,) for name in EngineConfig.model_fields},
    }

    def check_typed(self, typed: Collection[str]) -> list[str]:
        """Raises ValueError at a setting of an engine that its player does not use."""
        for name in typed:
            section, _, own = name.partition(".")
            if section not in ("engine", "against"):
                continue
            player, config = {
                "engine": (self.first, self.engine),
                "against": (self.second, self.against),
            }[section]
            flag = typed_settings.as_flag(name, getattr(config, own))
            named = engine_player.parse(player, config)
            if named is None:
                raise ValueError(f"{flag} has no effect with {player}: it needs engine:NETWORK")
            if own == "num_simulations" and named.config.num_simulations != config.num_simulations:
                raise ValueError(
                    f"{flag} has no effect with {player}, which has its own number of simulations"
                )
            if own == "num_simulations" and self.simulations:
                raise ValueError(f"{flag} has no effect with --simulations: leave one of them out")
        return []


def main(argv: Sequence[str]) -> int:
    """Plays the match, or compares with known scores, and prints the results; returns 0."""
    match = command_line.parse(EvaluateConfig, argv, prog="azo evaluate", description=__doc__)
    game = _rules(match, is_game_given=any(flag.startswith("--game.") for flag in argv))
    if match.exact:
        output = compare(match, game)
    elif match.simulations:
        raise ValueError("--simulations is for --exact SET ...")
    else:
        output = play(match, game)
    try:
        for line, data in output:
            if not match.json_lines:
                print(line, flush=True)
            elif data is not None:
                print(json.dumps(data), flush=True)
    except engine_protocols.EngineError as error:  # at its start
        raise ValueError(str(error)) from None
    return 0


def play(match: EvaluateConfig, game: protocol.Game) -> _Output:
    """Yields the result of a match on the default device."""

    def contender(text: str, config: EngineConfig) -> backends.Contender:
        if (external := tournament_file.shipped_engine(text)) is not None:
            return backends.external(external, game)
        engine = engine_player.parse(text, config)
        return players.parse(text, game) if engine is None else engine.contender(match.seed)

    sides = contender(match.first, match.engine), contender(match.second, match.against)
    key, num_games = jax.random.key(match.seed), match.num_games
    test = match.sprt and sprt.SequentialTest(*match.sprt, match.alpha, match.beta)
    with command_line.waiting(f"compiling and playing {num_games} games"):
        drawn = match.openings and openings.from_file(
            match.openings, game, key, count=num_games // 2
        )
        result = arena.play_match(
            game,
            *sides,
            key,
            num_games=num_games,
            opening_plies=match.opening_plies,
            drawn=drawn,
            games_at_once=_GAMES_AT_ONCE if test else None,
            is_enough=test and test.is_decided,
        )
    fields: dict[str, Any] = {"score": result.score, "interval": result.interval()}
    if test:
        fields["sprt"] = test.fields(result)
    data = {"players": [match.first, match.second], **dataclasses.asdict(result), **fields}
    yield f"{match.first} against {match.second}: {result}", data
    if test:
        yield test.describe(result), None


def compare(match: EvaluateConfig, game: protocol.Game) -> _Output:
    """Yields the table of a network's accuracy on sets of positions."""
    if match.second != _OPPONENT:
        raise ValueError(f"--exact measures one network: leave {match.second!r} out")
    if not isinstance(game, othello.Othello):
        raise ValueError(f"--exact needs a network for Othello, not for {game.name}")
    with command_line.waiting("measuring"):
        yield from accuracy.compare(
            game,
            _assessors(match, game),
            match.exact,
            limit=match.limit,
            solve_empties=match.solve_empties,
            seed=match.seed,
        )


def _assessors(match: EvaluateConfig, game: othello.Othello) -> list[accuracy.Assessor]:
    """Returns the player of --exact, once for each number of simulations."""
    if (engine := engine_player.parse(match.first, match.engine)) is not None:
        configs = [engine_player.with_simulations(engine.config, n) for n in match.simulations]
        return [
            engine_player.assessor(engine._replace(config=config), match.seed)
            for config in configs or [engine.config]
        ]
    player = players.parse(match.first, game)
    if not isinstance(player, players.NetworkPlayer):
        raise ValueError(f"--exact measures a network or the engine, not {match.first!r}")
    if player.search_config is None and any(match.simulations):
        raise ValueError(f"{match.first} has no search: leave 'policy:' or --simulations out")
    return accuracy.assessors(game, player, jax.random.key(match.seed), match.simulations)


def _rules(match: EvaluateConfig, *, is_game_given: bool) -> protocol.Game:
    """Returns the game of the first network, or that of the flags if there is none."""
    for player in (match.first, match.second):
        trained_for = network_files.game_of(player.removeprefix(engine_player.PREFIX))
        if trained_for is None:
            continue
        game = registry.make(trained_for)
        if is_game_given and game != registry.make(match.game):
            raise ValueError(f"{player} plays {game.name}: leave --game.* out")
        return game
    return registry.make(match.game)
