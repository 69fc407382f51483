"""The network that a run begins with, and what it has learned from."""

import json
import pathlib

from azo.games import protocol, registry
from azo.networks import initial_variables, network, network_files
from azo.settings import validation
from azo.storage import files
from azo.training import checkpoint, config


def load_run(folder: pathlib.Path) -> config.Config:
    """Returns all settings of the run of a network; ValueError, one line, as of `load_settings`."""
    tree = json.loads(network_files.load_settings(folder).to_json())
    with files.located(str(folder)):
        return validation.validate(config.Config, tree, str(folder), ignores_unknown=True)


def with_origin(settings: config.Config, checkpoints: checkpoint.Checkpoints) -> config.Config:
    """Returns settings with the origin that a run has recorded, or with that of a new run."""
    recorded = checkpoints.settings().origin if checkpoints.latest_step else None
    if recorded is None:
        start = network_files.origin_from("network", settings.run.start_from)
        teacher = network_files.origin_from("teacher", settings.selfplay.teacher)
        recorded = (*start, *teacher)
    return settings.model_copy(update={"origin": recorded})


def load_start(
    settings: config.Config, game: protocol.Game
) -> tuple[network.Variables | None, str | None]:
    """Returns the network that a run begins with, and a line to print; both None by default.

    The line is for a network that was trained on a board of another size, which hands on the layers
    that fit. ValueError, one line, if there is no such network, or it has another shape or game.
    """
    name, folder = "run.start_from", settings.run.start_from
    source = game
    learned = folder and network_files.game_of(str(folder))
    if learned and learned.model_copy(update={"size": settings.game.size}) == settings.game:
        source = registry.make(learned)
    start = network_files.load_setting(name, folder, source)
    if start is None:
        return None, None
    variables, start_settings = start
    if start_settings.network != settings.network:
        raise ValueError(f"{name} {folder} holds a network of another shape than [network]")
    if source == game:
        return variables, None
    carried, others = initial_variables.carry_over(settings.network, variables, source, game)
    fresh = ", ".join(sorted(others)) or "none"
    return carried, f"{name} {folder}: from {source.name} to {game.name}, new layers: {fresh}"
