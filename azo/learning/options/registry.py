"""Which options are on: those that a section of the settings switches on, in order of calls."""

from typing import Any

from azo.games import protocol
from azo.learning.options import (
    adjudication,
    duplicates,
    endings,
    interface,
    resignation,
    unplayed,
)
from azo.settings import import_paths


def active(game: protocol.Game, config: Any) -> tuple[interface.Option, ...]:
    """Returns the options of settings, a `run_state.RecipeConfig`."""
    switches: list[tuple[type[interface.Option], bool]] = [
        (resignation.Resignation, config.resignation.is_enabled),
        (unplayed.UnplayedPositions, config.selfplay.explored_share > 0),
        (adjudication.Adjudication, config.endings.adjudicate_empties > 0),
        (duplicates.Duplicates, config.targets.average_duplicates != "none"),
    ]
    options = [kind(game, config) for kind, is_on in switches if is_on]
    for number, path in enumerate(config.selfplay.options, start=1):
        option = _load(path)(game, config)
        option.number = number
        options.append(option)
    names = [name for option in options for name in (option.name, *option.fields)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"selfplay.options: two options or fields are named {', '.join(twice)}")
    return tuple(options)


def _load(path: str) -> type[interface.Option]:
    kind = import_paths.load("selfplay.options", path)
    if not (isinstance(kind, type) and issubclass(kind, interface.Option)):
        raise ValueError(
            f"selfplay.options has {path!r}, which should be a subclass of"
            " azo.learning.options.interface.Option"
        )
    return kind


def source(game: protocol.Game, config: Any) -> interface.ExampleSource | None:
    """Returns what gives examples in place of self-play, if anything does."""
    return endings.RandomEndings(game, config) if config.endings.num_positions else None
