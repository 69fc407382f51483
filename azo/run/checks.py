"""Checks of combinations of settings from different sections.

Each check raises ValueError with one line that names the settings and says what would work.
"""

import functools
import math
from typing import Any

import jax

from azo.games import othello, protocol
from azo.learning import run_state
from azo.measure import memory
from azo.solver.host import probcut


def check_devices(settings: run_state.RecipeConfig, num_devices: int) -> None:
    """Raises ValueError unless games, batches and replay split evenly over `num_devices`."""
    split = {
        "selfplay.num_games": settings.selfplay.num_games,
        "learner.batch_size": settings.learner.batch_size,
        "replay.capacity": settings.replay.capacity,
        "endings.num_positions": settings.endings.num_positions,
        "endings.deep_positions": settings.endings.deep_positions,
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
    """Raises ValueError if a device cannot hold its share of a run; nothing is allocated.

    Args:
      settings: of the run.
      game: its rules.
      num_devices: over which games, batches and replay are split.
      **matches: sections of the settings with `num_games` and `num_simulations`, by name.
    """
    create = functools.partial(run_state.create, game, settings, seed=0, num_devices=num_devices)
    state = jax.eval_shape(create)
    plays, search, shape = settings.selfplay, settings.search, settings.network
    num_squares = math.prod(game.board_shape)
    trees = memory.tree_bytes(plays.num_games, search.num_simulations)
    games = _num_bytes((state.games, state.history, state.unlabelled)) + plays.num_games * (
        plays.num_plies * 3 * game.num_actions
    )
    layers = shape.block_channels or (shape.num_channels,) * shape.num_blocks
    examples = 4 * settings.learner.batch_size * num_squares * (2 * sum(layers) + 64)
    split = {
        "replay.capacity": _num_bytes(state.replay),
        "selfplay.num_games": trees + games,
        "learner.batch_size": examples if shape.kind == "residual" else 0,
    }
    # The devices of a CPU share its memory.
    share = 1 if jax.local_devices()[0].platform == "cpu" else num_devices
    parts = {name: size // share for name, size in split.items()}
    memory.check("the run", parts | {"the size of [network]": 2 * _num_bytes(state.learner)})
    for name, match in matches.items():
        trees = memory.tree_bytes(match.num_games, match.num_simulations)
        memory.check("a match", {f"{name}.num_games": trees})


def _num_bytes(tree: Any) -> int:
    """Returns the size of arrays, given as shapes."""
    leaves = jax.tree.leaves(tree)
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in leaves)


def check_openings(settings: run_state.RecipeConfig, game: protocol.Game, match_plies: int) -> None:
    """Raises ValueError unless random openings, `match_plies` in matches, leave a game to play."""
    if match_plies >= game.max_plies:
        raise ValueError(
            f"evaluation.opening_plies is {match_plies}, but a game of {game.name} has at most"
            f" {game.max_plies} plies: choose fewer"
        )
    rows, columns = game.board_shape
    plies = settings.selfplay.max_opening_plies
    if plies >= rows * columns:
        raise ValueError(
            f"selfplay.max_opening_plies is {plies}, but the board of {game.name} is full after"
            f" fewer: at most {rows * columns - 1}"
        )


def check_search(settings: run_state.RecipeConfig) -> None:
    """Raises ValueError unless a search has enough positions to explore."""
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
    solved = endings.num_positions or endings.deep_positions
    if solved:
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
    if solved and settings.generation.num_games:
        name = "num_positions" if endings.num_positions else "deep_positions"
        raise ValueError(
            f"endings.{name} replaces self-play by solved endings, but generation.num_games is"
            f" {settings.generation.num_games}: set one of them to 0"
        )
    if endings.deep_positions and endings.confidence < 1:
        assert isinstance(game, othello.Othello)
        probcut.load_cuts(game.size, endings.confidence, is_reversed=game.is_reversed)


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


def most_played(settings: run_state.RecipeConfig, game: protocol.Game) -> int:
    """Returns the most positions that the self-play of one iteration can add to the replay."""
    plays, endings = settings.selfplay, settings.endings
    # At worst one iteration decides all that waited and all that it played.
    number = plays.num_games * (game.max_plies + plays.num_plies)
    number += plays.num_plies * round(plays.num_games * plays.explored_share)
    return number + plays.num_plies * plays.num_games * endings.adjudicate_empties


def check_replay(settings: run_state.RecipeConfig, game: protocol.Game) -> None:
    """Raises ValueError unless the ring holds what an iteration can add."""
    capacity, plays, endings = settings.replay.capacity, settings.selfplay, settings.endings
    most_added = most_played(settings, game)
    source, name = f"one iteration of {plays.num_games} games", "selfplay.num_games"
    if endings.num_positions:
        most_added = endings.num_positions * endings.max_empties
        source = f"one iteration of {endings.num_positions} endings"
        name = "endings.num_positions"
    if endings.deep_positions:
        most_added = endings.deep_positions * endings.max_empties
        source, name = f"the lines of {endings.deep_positions} endings", "endings.deep_positions"
    if capacity < most_added:
        raise ValueError(
            f"replay.capacity is {capacity}, but {source} can add"
            f" {most_added} positions: raise it to {most_added} or lower {name}"
        )
    if settings.replay.min_positions > capacity:
        raise ValueError(
            f"replay.min_positions is {settings.replay.min_positions}, more than the"
            f" {capacity} of replay.capacity: learning would never begin"
        )
