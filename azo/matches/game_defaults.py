"""Settings that follow the game which a user has typed.

A settings file is for one game. Parts of it do not fit another one: the exact solver and the
ladder are for Othello, a network is for boards of some shape. What was typed itself stays.
"""

import pathlib
import re
from collections.abc import Mapping
from typing import Any

import pydantic

from azo.games import game_config, othello, protocol, registry
from azo.matches import ladder
from azo.networks import network
from azo.opponents import players
from azo.settings import shipped_files, typed_settings, validation
from azo.training import checks, config

_ANY = shipped_files.CONFIGS / "games" / "any.toml"


def load(path: pathlib.Path | None, typed: Mapping[str, Any]) -> tuple[config.Config, list[str]]:
    """Returns settings that fit the game that was typed, and a line on what was chosen for it.

    They are those of a file, by default of one for the game; without such a file, the run has the
    folder `runs/` and the name of the game. The typed settings, by full names, are not applied.
    The line is absent if all settings are those of the given file, or of azo8.
    """
    file = path or _file_for(typed.get("game.name", "othello"))
    settings = config.load_file(file)
    chosen = _game_of(settings, typed)
    if chosen == settings.game and (path or file == config.DEFAULT_CONFIG):
        return settings, []
    game = registry.make(chosen)
    if path is None and file in (_ANY, config.DEFAULT_CONFIG):
        folder = pathlib.Path("runs") / re.sub(r"[^\w.-]+", "-", game.name).strip(".-_")
        settings = typed_settings.replaced(settings, "run.folder", folder)
    changes = {
        name: value
        for name, value in _changes(settings, typed, game).items()
        if name not in typed and typed_settings.value_of(settings, name) != value
    }
    for name, value in {"game": chosen, **changes}.items():
        settings = typed_settings.replaced(settings, name, value)
    changes.pop("network", None)
    said = [f"{name} {typed_settings.text(value)}" for name, value in changes.items()]
    if settings.network.kind == "residual":
        shape = settings.network
        blocks = f"{shape.num_blocks} block{'s' * (shape.num_blocks != 1)}"
        said.insert(0, f"a tower of {blocks} of {shape.num_channels} channels")
    if "run.folder" not in typed:
        said.append(f"folder {settings.run.folder}")
    source = path or file.relative_to(shipped_files.CONFIGS).with_suffix("")
    return settings, [f"game {game.name}: settings of {source}, {', '.join(said)}"]


def _file_for(name: str) -> pathlib.Path:
    """Returns the shipped settings file for a game by its name, else that for any game."""
    folder = shipped_files.CONFIGS
    others = [file for file in (folder / "games").glob("*.toml") if file != _ANY]
    for file in (config.DEFAULT_CONFIG, folder / "tictactoe.toml", *sorted(others)):
        # Not `config.load_file`, which makes a game that may be of a missing package.
        tree = validation.read_toml(file, "settings")
        if tree.get("game", {}).get("name") == name:
            return file
    return _ANY


class _TypedGame(pydantic.BaseModel):
    """Only the section of a game, so that messages name it."""

    game: game_config.GameConfig


def _game_of(settings: config.Config, typed: Mapping[str, Any]) -> game_config.GameConfig:
    """Returns the game of settings with what was typed; a game of another name begins afresh."""
    own = {name[5:]: value for name, value in typed.items() if name.startswith("game.")}
    is_other = own.get("name", settings.game.name) != settings.game.name
    old = {} if is_other else settings.game.model_dump()
    return validation.validate(_TypedGame, {"game": old | own}, None).game


def _changes(
    settings: config.Config, typed: Mapping[str, Any], game: protocol.Game
) -> dict[str, Any]:
    """Returns the settings that do not fit a game, with values that do."""

    def wanted(name: str) -> Any:
        return typed.get(name, typed_settings.value_of(settings, name))

    rows, columns = game.board_shape
    most_plies = min(rows * columns, game.max_plies) - 1
    most_empties = max(rows * columns - 5, 0) if isinstance(game, othello.Othello) else 0
    changes: dict[str, Any] = {
        "endings.adjudicate_empties": min(wanted("endings.adjudicate_empties"), most_empties),
        "selfplay.max_opening_plies": min(wanted("selfplay.max_opening_plies"), most_plies),
        "selfplay.min_opening_plies": min(wanted("selfplay.min_opening_plies"), most_plies),
        "evaluation.opening_plies": min(
            wanted("evaluation.opening_plies"), (game.max_plies - 1) // 2 * 2
        ),
    }
    if not isinstance(game, othello.Othello):
        changes["endings.num_positions"] = 0
    if not ladder.of_game(game):
        changes["ratings.num_points"] = 0
    if not any(name.startswith("network.") for name in typed) and not _fits(settings, game):
        tower = network.NetworkConfig(kind="residual", num_blocks=2)
        changes |= {"network": tower, "learner.augment": True}
    try:
        players.parse(wanted("evaluation.opponent"), game)
    except ValueError:
        changes["evaluation.opponent"] = "random"
    fitted = settings
    for name, value in {**changes, **_of_recipe(typed)}.items():
        fitted = typed_settings.replaced(fitted, name, value)
    changes["replay.capacity"] = max(
        wanted("replay.capacity"),
        _rounded_up(checks.most_added(fitted, game), settings.run.num_devices or 1),
    )
    return changes


def _of_recipe(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the typed settings that decide how much an iteration adds."""
    names = (
        *("selfplay.num_games", "selfplay.num_plies", "selfplay.explored_share"),
        *("endings.adjudicate_empties", "endings.num_positions", "endings.max_empties"),
    )
    return {name: typed[name] for name in names if name in typed}


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _fits(settings: config.Config, game: protocol.Game) -> bool:
    """Returns whether the network of the settings can be made for a game."""
    try:
        network.planes_of(game, settings.network, game.start(1))
        network.build(game, settings.network)
    except ValueError:
        return False
    return True
