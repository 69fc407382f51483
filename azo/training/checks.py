"""Checks of combinations of settings from different sections, and of the memory that they need.

Each check raises ValueError with one line that names the settings and says what would work.
"""

from typing import Any

import jax

from azo.games import othello, plurals, protocol
from azo.learning import run_state
from azo.process import memory
from azo.search import tree_size
from azo.training import memory_estimate


def check_devices(settings: run_state.RecipeConfig, num_devices: int) -> None:
    """Raises ValueError unless games, batches and replay split evenly over `num_devices`."""
    split = {
        "selfplay.num_games": settings.selfplay.num_games,
        "learner.batch_size": settings.learner.batch_size,
        "replay.capacity": settings.replay.capacity,
        "endings.num_positions": settings.endings.num_positions,
    }
    for name, number in split.items():
        if number % num_devices:
            higher = (number // num_devices + 1) * num_devices
            raise ValueError(
                f"{name} is {number}, but should be a multiple of {num_devices}, the number of"
                f" devices: choose {higher}, or fewer devices by --run.num-devices"
            )


def check_memory(
    settings: run_state.RecipeConfig, game: protocol.Game, num_devices: int, **matches: Any
) -> None:
    """Raises ValueError if one of `num_devices` cannot hold its share of a run.

    `matches` are sections of the settings with `num_games` and `num_simulations`, by name. Nothing
    is allocated.
    """
    parts = memory_estimate.of_iteration(
        settings, game, num_devices, jax.local_devices()[0].platform
    )
    memory.check_fits("the run", parts)
    for name, match in matches.items():
        trees = tree_size.num_bytes(game, match.num_games, match.num_simulations)
        memory.check_fits("a match", {f"{name}.num_games": trees})


def check_games(settings: run_state.RecipeConfig, game: protocol.Game, match_plies: int) -> None:
    """Raises ValueError unless random openings, `match_plies` in matches, leave a game to play.

    A search must also have enough positions to explore.
    """
    if match_plies >= game.max_plies:
        raise ValueError(
            f"evaluation.opening_plies is {match_plies}, but a game of {game.name} has at most"
            f" {game.max_plies} plies: choose fewer"
        )
    rows, columns = game.board_shape
    plies, most = settings.selfplay.max_opening_plies, min(rows * columns, game.max_plies) - 1
    if plies > most:
        raise ValueError(
            f"selfplay.max_opening_plies is {plies}, but should be at most {most} with {game.name},"
            " to leave a game to play"
        )
    share, simulations = settings.selfplay.explored_share, settings.search.num_simulations
    if share > simulations:
        raise ValueError(
            f"selfplay.explored_share is {share:g}, but should be at most {simulations}, the"
            " simulations of a search"
        )


def check_endings(settings: run_state.RecipeConfig, game: protocol.Game) -> None:
    """Raises ValueError unless the game has endings to solve, and something before them."""
    endings = settings.endings
    used = {"adjudicate_empties": endings.adjudicate_empties}
    if endings.num_positions:
        used["max_empties"] = endings.max_empties
    for name, empties in used.items():
        if empties and not isinstance(game, othello.Othello):
            raise ValueError(
                f"endings.{name} is {empties}, but should be 0: {game.name} has no solver"
            )
        rows, columns = game.board_shape
        if empties > rows * columns - 5:
            raise ValueError(
                f"endings.{name} is {empties}, but a game of {game.name} begins with"
                f" {rows * columns - 4} empty squares: at most {rows * columns - 5}"
            )
    if endings.num_positions and settings.generation.num_games:
        raise ValueError(
            "endings.num_positions replaces self-play by solved endings, but generation.num_games"
            f" is {settings.generation.num_games}: set one of them to 0"
        )


def check_generations(settings: run_state.RecipeConfig) -> None:
    """Raises ValueError if generations, gate and teacher contradict one another."""
    generation, gate = settings.generation, settings.gate
    if settings.selfplay.teacher is not None and gate.is_enabled:
        raise ValueError(
            "gate.is_enabled has no effect with selfplay.teacher, which plays all games: remove one"
        )
    if gate.is_enabled and not generation.num_games:
        raise ValueError(
            "gate.is_enabled needs generations, but generation.num_games is 0: set it, say to 500"
        )
    if generation.num_samples and not generation.num_games:
        raise ValueError(
            f"generation.num_samples is {generation.num_samples}, but generation.num_games is 0:"
            " set it, say to 500"
        )
    if gate.after_failure == "learn" and not generation.num_samples:
        raise ValueError("gate.after_failure is 'learn', but generation.num_samples is 0: set it")


def most_added(settings: run_state.RecipeConfig, game: protocol.Game) -> int:
    """Returns the number of positions that an iteration adds to the replay at worst."""
    plays, endings = settings.selfplay, settings.endings
    if endings.num_positions:
        return endings.num_positions * endings.max_empties
    # At worst one iteration decides all that waited and all that it played.
    most = plays.num_games * (game.max_plies + plays.num_plies)
    most += plays.num_plies * round(plays.num_games * plays.explored_share)
    return most + plays.num_plies * plays.num_games * endings.adjudicate_empties


def check_replay(settings: run_state.RecipeConfig, game: protocol.Game) -> None:
    """Raises ValueError unless the ring holds what an iteration can add."""
    capacity, plays, endings = settings.replay.capacity, settings.selfplay, settings.endings
    source, name = plurals.counted(plays.num_games, "game"), "selfplay.num_games"
    if endings.num_positions:
        source = plurals.counted(endings.num_positions, "ending")
        name = "endings.num_positions"
    most = most_added(settings, game)
    if capacity < most:
        raise ValueError(
            f"replay.capacity is {capacity}, but one iteration of {source}"
            f" can add {plurals.counted(most, 'position')}: raise it to {most} or lower {name}"
        )
    if settings.replay.min_positions > capacity:
        raise ValueError(
            f"replay.min_positions is {settings.replay.min_positions}, more than the"
            f" {capacity} of replay.capacity: learning would never begin"
        )
