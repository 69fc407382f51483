"""Tournaments as files: who plays whom, how many games, from which openings.

    num_games = 10

    [game]
    size = 8

    [[players]]
    name = "azo"
    network = "../../azo/play/networks/othello8"
    simulations = [400, 1000]         # two players, azo-400 and azo-1000

    [[players]]
    name = "gtp-rhino"
    engine = "../engines/gtp-rhino.toml"
    levels = [1, 2, 3]

    [[players]]
    name = "iagno-hard"
    player = "iagno:hard"

Paths start at the folder of the file.
"""

import dataclasses
import functools
import hashlib
import itertools
import pathlib
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jax
import numpy as np
import pydantic

from azo.games import othello, protocol, registry
from azo.measure import external_engines, players
from azo.measure.tournament import backends, game_log, openings
from azo.run import network_files, shipped_files, validation
from azo.search import settings

_Name = Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_.-]+$")]


class PlayerConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One player, or several that differ in simulations or level alone."""

    name: _Name
    """In tables; the number of simulations or the level is added to it where there are such."""
    player: str | None = None
    """A player as `azo.evaluate` names it, such as random, rollouts:100 or iagno:hard."""
    network: pathlib.Path | None = None
    """Or the folder of a run or of an exported network."""
    simulations: tuple[pydantic.PositiveInt, ...] = ()
    """Of a network: simulations a move, each a player; those of its self-play unless given."""
    set: dict[str, Any] = {}
    """Of a network: settings of [search] that differ from those of its self-play."""
    engine: pathlib.Path | None = None
    """Or an external program: the file that describes it."""
    levels: tuple[int, ...] = ()
    """Of a program: its levels, each a player; the level of its file unless given."""
    num_processes: pydantic.PositiveInt = 1
    """Of a program: how many of it think at the same time."""

    @pydantic.model_validator(mode="after")
    def _check_kind(self) -> "PlayerConfig":
        kinds = [name for name in ("player", "network", "engine") if getattr(self, name)]
        if len(kinds) != 1:
            raise ValueError(
                f"player {self.name!r} has {' and '.join(kinds) or 'none'} of player, network and"
                " engine: give one"
            )
        for name, kind in (("simulations", "network"), ("set", "network"), ("levels", "engine")):
            if getattr(self, name) and kinds != [kind]:
                raise ValueError(f"player {self.name!r}: {name} is for a {kind}, not {kinds[0]}")
        if "num_simulations" in self.set:
            raise ValueError(f"player {self.name!r}: give simulations = [...] in place of set")
        return self


class OpeningsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Where games begin."""

    source: Literal["random", "balanced", "file"] = "random"
    """Random legal plies, those of them that are even, or transcripts of a file."""
    plies: pydantic.NonNegativeInt = 8
    """Of random and balanced openings."""
    max_value: Annotated[float, pydantic.Field(gt=0, le=1)] = 0.2
    """Of balanced openings: expected result for the better side, by 400 random rollouts."""
    path: pathlib.Path | None = None
    """File with a transcript a line."""

    @pydantic.model_validator(mode="after")
    def _check_path(self) -> "OpeningsConfig":
        if (self.path is not None) != (self.source == "file"):
            raise ValueError("openings: a path belongs to source = 'file', and to it alone")
        return self


class TournamentConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A tournament."""

    players: Annotated[tuple[PlayerConfig, ...], pydantic.Field(min_length=1)]
    format: Literal["round-robin", "ladder", "gauntlet"] = "round-robin"
    """All against all, each against the next ones in the list, or the first against all others."""
    reach: pydantic.PositiveInt = 1
    """Of a ladder: how many of the next ones."""
    num_games: Annotated[int, pydantic.Field(ge=2, multiple_of=2)] = 10
    """Of each pair; every opening is played with both colours."""
    openings: OpeningsConfig = OpeningsConfig()
    game: registry.GameConfig = registry.GameConfig(size=8)
    seed: pydantic.NonNegativeInt = 0
    """Of openings and players."""
    games_at_once: pydantic.PositiveInt = 128
    """Games under way at a time."""
    anchor: str | None = None
    """The player whose rating is 0: random if it plays, or else the mean of all, unless set."""


@dataclasses.dataclass(frozen=True)
class Entrant:
    """A player of a tournament."""

    name: str
    definition: dict[str, Any]  # what decides how it plays, to tell it from another of that name
    sit: Callable[[], backends.Backend]  # starts it


def load(path: pathlib.Path, *, num_games: int | None = None) -> TournamentConfig:
    """Returns the tournament of a TOML file, paths made those from here.

    With `num_games` it has so many games of each pair.

    Raises:
      ValueError: one line that says what is wrong.
    """
    path = shipped_files.find_config(path, "tournament", "tournaments")
    found = validation.load(TournamentConfig, path, "tournament")
    if num_games is not None:
        if num_games % 2:
            raise ValueError(f"--num-games is {num_games}, but openings are played in pairs")
        found = found.model_copy(update={"num_games": num_games})

    def placed(place: pathlib.Path | None) -> pathlib.Path | None:
        return None if place is None else path.parent / place

    def found_from_here(one: PlayerConfig) -> PlayerConfig:
        places = {"network": placed(one.network), "engine": placed(one.engine)}
        return one.model_copy(update=places)

    drawn = found.openings.model_copy(update={"path": placed(found.openings.path)})
    everyone = tuple(map(found_from_here, found.players))
    return found.model_copy(update={"openings": drawn, "players": everyone})


def entrants(config: TournamentConfig, game: protocol.Game) -> list[Entrant]:
    """Returns the players in their order.

    Raises:
      ValueError: a player that cannot be made, a name given twice, or fewer than two players.
    """
    found = list(itertools.chain.from_iterable(_several(p, game, config) for p in config.players))
    names = [entrant.name for entrant in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"there are {names.count(name)} players {name!r}: rename all but one")
    if len(found) < 2:
        raise ValueError("a tournament needs two players or more")
    return found


def schedule(config: TournamentConfig, names: list[str]) -> list[game_log.ScheduledGame]:
    """Returns all games, opening by opening, so that a part of them is a fair part."""
    places = range(len(names))
    if config.format == "gauntlet":
        pairs = [(0, other) for other in places[1:]]
    else:
        reach = config.reach if config.format == "ladder" else len(names)
        pairs = [(a, b) for a in places for b in places[a + 1 : a + 1 + reach]]
    return [
        game_log.ScheduledGame(opening, names[black], names[white])
        for opening in range(config.num_games // 2)
        for a, b in pairs
        for black, white in ((a, b), (b, a))
    ]


def draw_openings(config: TournamentConfig, game: protocol.Game) -> list[openings.Opening]:
    """Returns the openings of a tournament by number; more games begin with the same ones.

    Raises:
      ValueError: there are not so many.
    """
    asked, key = config.openings, jax.random.key(config.seed)
    count = config.num_games // 2
    if asked.path is not None:
        if not isinstance(game, othello.Othello):
            raise ValueError(f"openings from a file are for Othello, not for {game.name}")
        return openings.from_file(asked.path, game, key, count=count)
    if asked.source == "random":
        return openings.at_random(game, key, count=count, plies=asked.plies)
    return openings.balanced(game, key, count=count, plies=asked.plies, max_value=asked.max_value)


def _several(
    config: PlayerConfig, game: protocol.Game, tournament: TournamentConfig
) -> list[Entrant]:
    if config.engine is not None:
        return [_program(config, level, game) for level in config.levels or (None,)]
    if config.network is not None:
        return _networks(config, game, tournament.seed)
    return [_named(config, game, tournament.seed)]


def _program(config: PlayerConfig, level: int | None, game: protocol.Game) -> Entrant:
    assert config.engine is not None
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{config.engine}: external programs play Othello, not {game.name}")
    asked = external_engines.load(config.engine, level)

    def sit() -> backends.Backend:
        try:
            make = functools.partial(external_engines.ExternalEngine, asked, game)
            return backends.EngineBackend(make, config.num_processes)
        except external_engines.EngineError as error:
            raise ValueError(f"{config.engine}: {error}") from None

    return Entrant(
        name=config.name if level is None else f"{config.name}-{level}",
        definition={"engine": asked.model_dump(mode="json")},
        sit=sit,
    )


def _networks(config: PlayerConfig, game: protocol.Game, seed: int) -> list[Entrant]:
    assert config.network is not None
    variables, trained = network_files.load(config.network)
    if registry.make(trained.game) != game:
        raise ValueError(
            f"{config.network}: a network for {registry.make(trained.game).name}, but the"
            f" tournament plays {game.name}"
        )
    found = []
    for count in config.simulations or (None,):
        changes = config.set | ({} if count is None else {"num_simulations": count})
        tree = trained.search.model_dump() | changes
        search = validation.validate(settings.SearchConfig, tree, f"player {config.name!r}")
        player = players.NetworkPlayer(variables, game, trained.network, search)
        definition = {"network": _digest(variables), "search": search.model_dump(mode="json")}
        name = config.name if count is None else f"{config.name}-{count}"
        sit = functools.partial(backends.DeviceBackend, player, seed)
        found.append(Entrant(name, definition, sit))
    return found


def _named(config: PlayerConfig, game: protocol.Game, seed: int) -> Entrant:
    assert config.player is not None

    def load_none(path: str) -> players.TrainedNetwork:
        raise FileNotFoundError(f"give networks as network = {path!r}")

    player = players.parse(config.player, game, load_none)
    if isinstance(player, players.HostPlayer):
        program = player.program
        return Entrant(
            config.name, {"player": config.player}, lambda: backends.ClassicalBackend(program)
        )
    return Entrant(
        config.name, {"player": config.player}, lambda: backends.DeviceBackend(player, seed)
    )


def _digest(variables: Any) -> str:
    """Returns a short text that is another one for other parameters."""
    found = hashlib.sha256()
    for leaf in jax.tree.leaves(variables):
        found.update(np.ascontiguousarray(leaf).tobytes())
    return found.hexdigest()[:16]
