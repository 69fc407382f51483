"""Tournament files: the players, the number of games, the openings.

    num_games = 10

    [game]
    size = 8

    [[players]]
    name = "azo"
    network = "zero-fast"
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
import hashlib
import os
import pathlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import jax
import numpy as np
import pydantic

from azo.games import game_config, protocol
from azo.matches.tournament import backends, game_log, openings
from azo.opponents import engine_protocols, players
from azo.search import settings
from azo.settings import setting_types, shipped_files, validation

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
    """Networks: simulations per move, one player for each number; by default as in self-play."""
    set: dict[str, Any] = {}
    """Networks: settings of [search] that differ from self-play."""
    engine: pathlib.Path | None = None
    """Alternatively, an external engine: the file that describes it."""
    levels: tuple[setting_types.NonNegativeInt, ...] = ()
    """Engines: levels, one player for each; by default the level in the engine's file."""

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
        return self


class OpeningsConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """The openings of the games: random legal plies, or transcripts in a file."""

    plies: setting_types.Plies = 8
    """Plies of random openings."""
    path: pathlib.Path | None = None
    """File with one transcript per line. Openings are drawn from it, instead of random plies."""


class TournamentConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """A tournament."""

    players: Annotated[tuple[PlayerConfig, ...], pydantic.Field(min_length=1)]
    format: Literal["round-robin", "ladder", "gauntlet"] = "round-robin"
    """Which pairs play: all; neighbours in the list; or the first player against all others."""
    reach: setting_types.PositiveInt = 1
    """Ladder: each player meets this many players that follow it in the list."""
    num_games: setting_types.PairedGames = 10
    """Games per pair of players. Every opening is played with both colours."""
    openings: OpeningsConfig = OpeningsConfig()
    game: game_config.GameConfig = game_config.GameConfig()
    seed: setting_types.Seed = 0
    """Seed of the openings and the players."""
    games_at_once: setting_types.Games = 128
    """Games played in parallel."""
    anchor: str | None = None
    """Player whose rating is defined as 0; by default random if it plays, else the mean of all
    players is 0."""


@dataclasses.dataclass(frozen=True)
class TournamentPlayer:
    """A player of a tournament."""

    name: str
    definition: dict[str, Any]  # decides the player's moves; distinguishes players of one name
    contender: backends.Contender


def load(
    path: pathlib.Path, *, num_games: int | None = None, openings: pathlib.Path | None = None
) -> TournamentConfig:
    """Returns the tournament of a TOML file, with paths relative to the current folder.

    `path` may be the name of a shipped file. The others replace what is in the file: `openings` by
    a file of transcripts.

    Raises:
      ValueError: One line about the error.
    """
    path = shipped_files.find_config(path, "tournament", "tournaments")
    changes: dict[str, Any] = {} if num_games is None else {"num_games": num_games}
    if openings is not None:
        changes["openings"] = {"path": openings.absolute()}
    config = validation.load(TournamentConfig, path, "tournament", **changes)

    def located(section: Any, *names: str) -> Any:
        """Returns settings whose paths begin at the file, or lead to a shipped network."""
        places = {}
        for name in names:
            if (place := getattr(section, name)) is not None:
                shipped = shipped_files.find_network(place)
                beside = path.parent / place
                places[name] = beside if beside.exists() or shipped == place else shipped
        return section.model_copy(update=places)

    return config.model_copy(
        update={
            "openings": located(config.openings, "path"),
            "players": tuple(located(one, "network", "engine") for one in config.players),
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
    name, _, level = text.partition(":")
    path = shipped_files.CONFIGS / "engines" / f"{name}.toml"
    return load_engine(path, int(level)) if level.isdecimal() and path.is_file() else None


def make_players(config: TournamentConfig, game: protocol.Game) -> list[TournamentPlayer]:
    """Returns the players in their order.

    Raises:
      ValueError: a player cannot be made, a name occurs twice, or there are fewer than two players.
    """
    made = [player for one in config.players for player in _make(one, game)]
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
    source, count = config.openings, config.num_games // 2
    key = jax.random.key(config.seed)
    if source.path is not None:
        return openings.from_file(source.path, game, key, count=count)
    draw_key = jax.random.fold_in(key, 0)
    return openings.random(game, draw_key, count=count, plies=source.plies, is_distinct=True)


def _make(config: PlayerConfig, game: protocol.Game) -> Iterator[TournamentPlayer]:
    if config.player is not None:
        player = players.parse(config.player, game)
        if isinstance(player, players.NetworkPlayer):
            raise ValueError(f"player {config.player!r}: give networks as network = FOLDER")
        yield TournamentPlayer(config.name, {"player": config.player}, player)
    elif config.engine is not None:
        for level in config.levels or (None,):
            name = config.name if level is None else f"{config.name}-{level}"
            engine = load_engine(config.engine, level)
            program = backends.external(engine, game)
            yield TournamentPlayer(name, {"engine": engine.model_dump(mode="json")}, program)
    elif config.network is not None:
        trained = players.load_network(config.network, game)
        assert trained.search_config is not None
        digest = _digest(trained.variables)
        for count in config.simulations or (None,):
            name = config.name if count is None else f"{config.name}-{count}"
            changes = config.set | ({} if count is None else {"num_simulations": count})
            tree = validation.merged(trained.search_config.model_dump(), changes)
            search = validation.validate(settings.SearchConfig, tree, f"player {config.name!r}")
            definition = {"network": digest, "search": search.model_dump(mode="json")}
            contender = dataclasses.replace(trained, search_config=search)
            yield TournamentPlayer(name, definition, contender)


def _digest(variables: Any) -> str:
    """Returns a short text that differs between different parameters."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(variables):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()[:16]
