"""Tournament files: the players, the number of games, the openings.

    num_games = 10

    [game]
    size = 8

    [[players]]
    name = "azo"
    network = "othello8"
    simulations = [400, 1000]         # two players, azo-400 and azo-1000

    [[players]]
    name = "gtp-rhino"
    engine = "../engines/gtp-rhino.toml"
    levels = [1, 2, 3]

    [[players]]
    name = "iagno-hard"
    player = "iagno:hard"

Paths are relative to the folder of the file.
"""

import dataclasses
import functools
import hashlib
import os
import pathlib
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jax
import numpy as np
import pydantic

from azo.games import othello, protocol, registry, setting_types
from azo.measure import engine_protocols, external_engines, players
from azo.measure.tournament import backends, game_log, openings
from azo.run import network_files, shipped_files, validation
from azo.search import settings

_Name = Annotated[str, pydantic.Field(pattern="^[A-Za-z0-9_.-]+$")]


class PlayerConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """One player, or several that differ only in simulations or level."""

    name: _Name
    """Name in tables, to which the number of simulations or the level is added."""
    player: str | None = None
    """A player named as for `azo evaluate`, such as random, rollouts:100 or iagno:hard."""
    network: pathlib.Path | None = None
    """Alternatively, the folder of a run or of an exported network."""
    simulations: tuple[setting_types.PositiveInt, ...] = ()
    """Networks: simulations a move, one player each; by default those of self-play."""
    set: dict[str, Any] = {}
    """Networks: settings of [search] that differ from those of self-play."""
    engine: pathlib.Path | None = None
    """Alternatively, an external engine: the file that describes it."""
    levels: tuple[setting_types.NonNegativeInt, ...] = ()
    """Engines: levels, one player each; by default the level in the engine's file."""
    num_processes: setting_types.Processes = 1
    """Engines: number of processes that think at the same time."""

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
    """The openings of the games."""

    source: Literal["random", "file"] = "random"
    """Random legal plies, or transcripts in a file."""
    plies: setting_types.Plies = 8
    """Plies of random openings."""
    path: pathlib.Path | None = None
    """File with one transcript a line."""

    @pydantic.model_validator(mode="after")
    def _check_path(self) -> "OpeningsConfig":
        if self.source == "file" and self.path is None:
            raise ValueError("openings.source is 'file', but openings.path is not set: set it")
        if self.source != "file" and self.path is not None:
            raise ValueError(
                f"openings.path is '{self.path}', but openings.source is {self.source!r}:"
                " set source to 'file', or remove the path"
            )
        return self


class TournamentConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A tournament."""

    players: Annotated[tuple[PlayerConfig, ...], pydantic.Field(min_length=1)]
    format: Literal["round-robin", "ladder", "gauntlet"] = "round-robin"
    """All pairs; neighbours in the list; or the first player against all others."""
    reach: setting_types.PositiveInt = 1
    """Ladder: number of next players in the list that each player meets."""
    num_games: setting_types.PairedGames = 10
    """Games of each pair; every opening is played with both colours."""
    openings: OpeningsConfig = OpeningsConfig()
    game: registry.GameConfig = registry.GameConfig(size=8)
    seed: setting_types.Seed = 0
    """Seed of the openings and the players."""
    games_at_once: setting_types.Games = 128
    """Games played at the same time."""
    anchor: str | None = None
    """Player whose rating is 0; by default random if it plays, else the mean of all is 0."""


@dataclasses.dataclass(frozen=True)
class TournamentPlayer:
    """A player of a tournament."""

    name: str
    definition: dict[str, Any]  # decides the player's moves; tells players of one name apart
    start: Callable[[], backends.Backend]


def load(
    path: pathlib.Path,
    *,
    num_games: int | None = None,
    openings: pathlib.Path | None = None,
    first: str | None = None,
) -> TournamentConfig:
    """Returns the tournament of a TOML file, with paths relative to the current folder.

    Args:
      path: the file, or the name of a shipped one.
      num_games: replaces the number in the file.
      openings: replaces the openings of the file by transcripts in this one.
      first: replaces the first player by a shipped engine at a level, such as "zero-conv:800".

    Raises:
      ValueError: One line about the error.
    """
    path = shipped_files.find_config(path, "tournament", "tournaments")
    config = validation.load(TournamentConfig, path, "tournament")
    if num_games is not None:
        if num_games % 2:
            raise ValueError(f"--num-games is {num_games}, but openings are played in pairs")
        config = config.model_copy(update={"num_games": num_games})
    if first is not None:
        engine, level = _shipped_level(first)
        if engine is None:
            raise ValueError(
                f"--first is {first!r}, but should be a shipped engine and its level, such as"
                " zero-conv:800"
            )
        player = PlayerConfig(name=engine.stem, engine=engine, levels=(level,))
        config = config.model_copy(update={"players": (player, *config.players[1:])})

    def located(place: pathlib.Path | None) -> pathlib.Path | None:
        if place is None or (path.parent / place).exists():
            return place and path.parent / place
        shipped = shipped_files.find_network(place)
        return path.parent / place if shipped == place else shipped

    def resolved(section: Any, *names: str) -> Any:
        return section.model_copy(update={name: located(getattr(section, name)) for name in names})

    if openings is None:
        drawn = resolved(config.openings, "path")
    else:
        drawn = OpeningsConfig(source="file", path=openings)
    return config.model_copy(
        update={
            "openings": drawn,
            "players": tuple(resolved(one, "network", "engine") for one in config.players),
        }
    )


def load_engine(
    path: pathlib.Path, level: int | None = None
) -> engine_protocols.ExternalEngineConfig:
    """Returns the external engine of a TOML file, at the given level or the file's.

    Raises:
      ValueError: One line about the error in the file.
    """
    changes = {} if level is None else {"level": level}
    config = validation.load(engine_protocols.ExternalEngineConfig, path, "engine", **changes)
    if config.folder is None:
        return config
    return config.model_copy(update={"folder": path.parent / os.path.expanduser(config.folder)})


def shipped_engine(text: str) -> engine_protocols.ExternalEngineConfig | None:
    """Returns the shipped engine that a name with a level means, such as "gtp-rhino:3", or None."""
    path, level = _shipped_level(text)
    return None if path is None else load_engine(path, level)


def _shipped_level(text: str) -> tuple[pathlib.Path | None, int]:
    """Returns the file of a shipped engine, None if there is none, and its level."""
    name, _, level = text.partition(":")
    path = shipped_files.CONFIGS / "engines" / f"{name}.toml"
    return (path, int(level)) if level.isdecimal() and path.is_file() else (None, 0)


def make_players(config: TournamentConfig, game: protocol.Game) -> list[TournamentPlayer]:
    """Returns the players in their order.

    Raises:
      ValueError: a player cannot be made, a name occurs twice, or there are fewer than two players.
    """
    made = [player for one in config.players for player in _make(one, game, config.seed)]
    names = [player.name for player in made]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"there are {names.count(name)} players {name!r}: rename all but one")
    if len(made) < 2:
        raise ValueError("a tournament needs two players or more")
    return made


def schedule(config: TournamentConfig, names: list[str]) -> list[game_log.ScheduledGame]:
    """Returns all games, opening by opening, so that an unfinished tournament is balanced."""
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
    """Returns the openings by number; a tournament of more games begins with the same ones.

    Raises:
      ValueError: there are too few.
    """
    source, key = config.openings, jax.random.key(config.seed)
    count = config.num_games // 2
    if source.path is not None:
        if not isinstance(game, othello.Othello):
            raise ValueError(f"openings from a file are for Othello, not for {game.name}")
        return openings.from_file(source.path, game, key, count=count)
    return openings.at_random(game, key, count=count, plies=source.plies)


def _make(config: PlayerConfig, game: protocol.Game, seed: int) -> list[TournamentPlayer]:
    if config.engine is not None:
        return [_engine(config, level, game) for level in config.levels or (None,)]
    if config.network is not None:
        return _networks(config, game, seed)
    return [_named(config, game, seed)]


def _engine(config: PlayerConfig, level: int | None, game: protocol.Game) -> TournamentPlayer:
    assert config.engine is not None
    if not isinstance(game, othello.Othello):
        raise ValueError(f"{config.engine}: external programs play Othello, not {game.name}")
    engine = load_engine(config.engine, level)

    def start() -> backends.Backend:
        try:
            make = functools.partial(external_engines.ExternalEngine, engine, game)
            return backends.EngineBackend(make, config.num_processes)
        except external_engines.EngineError as error:
            raise ValueError(f"{config.engine}: {error}") from None

    name = config.name if level is None else f"{config.name}-{level}"
    return TournamentPlayer(name, {"engine": engine.model_dump(mode="json")}, start)


def _networks(config: PlayerConfig, game: protocol.Game, seed: int) -> list[TournamentPlayer]:
    assert config.network is not None
    trained = network_files.load_trained(config.network, game)
    digest = _digest(trained.variables)
    made = []
    for count in config.simulations or (None,):
        changes = config.set | ({} if count is None else {"num_simulations": count})
        tree = trained.search_config.model_dump() | changes
        search = validation.validate(settings.SearchConfig, tree, f"player {config.name!r}")
        player = dataclasses.replace(trained, search_config=search)
        name = config.name if count is None else f"{config.name}-{count}"
        definition = {"network": digest, "search": search.model_dump(mode="json")}
        start = functools.partial(backends.DeviceBackend, player, seed)
        made.append(TournamentPlayer(name, definition, start))
    return made


def _named(config: PlayerConfig, game: protocol.Game, seed: int) -> TournamentPlayer:
    assert config.player is not None

    def refuse(path: str) -> players.NetworkPlayer:
        raise FileNotFoundError(f"give networks as network = {path!r}")

    player = players.parse(config.player, game, refuse)
    start: Callable[[], backends.Backend] = functools.partial(backends.DeviceBackend, player, seed)
    if isinstance(player, players.HostPlayer):
        start = functools.partial(backends.ClassicalBackend, player.program)
    return TournamentPlayer(config.name, {"player": config.player}, start)


def _digest(variables: Any) -> str:
    """Returns a short text that differs between different parameters."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(variables):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()[:16]
