"""Supervised data: examples from archives, from games made for the purpose, or from runs.

Errors in files or settings are ValueErrors that name the place.
"""

import pathlib
from typing import Annotated, Literal

import jax
import numpy as np
import pydantic
import tyro

from azo.formats import game_files
from azo.games import protocol, registry, setting_types
from azo.learning import network, pretraining, supervised
from azo.learning.learner import LearnerConfig
from azo.learning.network import NetworkConfig
from azo.run import data, kept_positions, network_files
from azo.search import improvement

DEFAULT_ARCHIVE = pathlib.Path("games/eothello_top100.csv.gz")
"""In the data folder."""


class SuperviseConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Supervised learning from games."""

    files: Annotated[
        tyro.conf.Positional[tuple[pathlib.Path, ...]], tyro.conf.arg(metavar="FILES")
    ] = ()
    """Archives of games, by default that of eOthello in the data folder; or folders of runs."""
    source: Literal["files", "random", "search", "runs"] = "files"
    """Games of the files; random games (which teach only the value); games of --player; or the
    positions in the replays of runs, with the targets of their searches."""
    num_games: setting_types.PositiveInt = 10_000
    """Games to make with --source random, and to play in parallel with --source search."""
    player: pathlib.Path | None = None
    """Folder of the network that searches with --source search."""
    uniform_prior: bool = True
    """--source search: a uniform policy replaces the network's, which random games do not train."""
    max_opening_plies: setting_types.Plies = 10
    """--source search: games begin after 0 to this many random plies."""
    start: pathlib.Path | None = None
    """Folder of a network of the same shape to start from. A pattern network may have one stage
    where the new one has several."""
    folder: pathlib.Path = pathlib.Path("runs/supervised")
    """New folder for the best network and the metrics."""
    num_epochs: setting_types.PositiveFloat = 10.0
    """Passes over all examples."""
    evaluations_per_epoch: setting_types.PositiveFloat = 1.0
    """Evaluations on the held-out games; there is always one at the end of training."""
    evaluation_plies: setting_types.PositiveInt = 20_000
    """Plies of the held-out games in an evaluation; the last evaluation takes all."""
    seed: setting_types.Seed = 0
    """Start of all random keys."""
    game: registry.GameConfig = registry.GameConfig(size=8)
    """Rules of the games to make; archives have games on 8x8."""
    examples: supervised.ExamplesConfig = supervised.ExamplesConfig()
    network: NetworkConfig = NetworkConfig()
    learner: LearnerConfig = LearnerConfig(schedule="cosine", num_steps=50)
    search: improvement.SearchConfig = improvement.SearchConfig()


def check(settings: SuperviseConfig) -> SuperviseConfig:
    """Returns settings that fit their source of games; raises ValueError with one line."""
    if settings.source == "files" and settings.game != registry.GameConfig(size=8):
        raise ValueError("remove --game.*: archives hold the usual game on 8x8")
    if settings.source == "search" and settings.player is None:
        raise ValueError("--source search needs --player, the folder of a network")
    if settings.source == "runs":
        return _as_run(settings)
    if settings.source != "random":
        return settings
    # Random moves teach no policy.
    without_policy = settings.learner.model_copy(update={"policy_weight": 0.0})
    return settings.model_copy(update={"learner": without_policy})


def _as_run(settings: SuperviseConfig) -> SuperviseConfig:
    """Returns settings with the game and search of the first run, and what else has its default."""
    if not settings.files:
        raise ValueError("--source runs needs the folders of runs")
    run, default = network_files.load_settings(settings.files[0]), SuperviseConfig()
    changes = {"game": run.game, "search": run.search}
    if settings.network == default.network:
        changes["network"] = run.network
    if settings.learner == default.learner:
        kept = default.learner.model_dump(include={"schedule", "num_steps"})
        changes["learner"] = run.learner.model_copy(update=kept)
    return settings.model_copy(update=changes)


def prepare(
    settings: SuperviseConfig, game: protocol.Game
) -> tuple[supervised.Dataset, supervised.RecordedPlies]:
    """Returns the examples to learn and the held-out plies that place a disc; prints counts."""
    if settings.source == "runs":
        return _from_runs(settings, game)
    is_learned, plies = _plies(settings, game)
    learned = supervised.thinned(plies.select(is_learned), settings.examples, settings.seed)
    rows, columns = game.board_shape
    held_out = plies.select(~is_learned & (plies.action < rows * columns))
    if not len(learned) or not len(held_out):
        raise ValueError(
            f"too few games: {len(learned)} positions to learn and {len(held_out)} held out, but"
            " each should be at least 1"
        )
    examples = supervised.dataset(game, learned)
    print(
        f"{len(np.unique(plies.game)):,} games, {len(plies):,} plies;"
        f" learned: {len(learned):,} plies, {examples.num_rows:,} positions;"
        f" held out: {len(np.unique(held_out.game)):,} games, {len(held_out):,} plies",
        flush=True,
    )
    return examples, held_out


def _from_runs(
    settings: SuperviseConfig, game: protocol.Game
) -> tuple[supervised.Dataset, supervised.RecordedPlies]:
    parts = [kept_positions.read(run, game) for run in settings.files]
    positions = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    examples, held_out = kept_positions.dataset(positions, settings.examples.held_out)
    if not examples.num_rows or not len(held_out):
        raise ValueError("too few positions in these runs: train them longer")
    print(
        f"{len(parts)} runs; learned: {examples.num_rows:,} positions; held out:"
        f" {len(held_out):,} positions",
        flush=True,
    )
    return examples, held_out


def _plies(
    settings: SuperviseConfig, game: protocol.Game
) -> tuple[np.ndarray, supervised.RecordedPlies]:
    """Returns all plies of archives or of new games, after a mask of those to learn from."""
    key, share = jax.random.key(settings.seed), settings.examples.held_out
    if settings.source == "search":
        plies = _searched(settings, game, key)
        draw = np.random.default_rng(settings.seed).random(plies.game.max() + 1)
        return draw[plies.game] >= share, plies
    if settings.source == "random":
        made = pretraining.random_games(game, key, settings.num_games)
        action, value = jax.device_get(made)
        plies = supervised.plies_of(game, action, value)
    else:
        games = game_files.read_archives(settings.files or [_default_archive()])
        action = games.action
        plies = supervised.plies_of(
            game,
            action,
            games.black_value,
            exact_score=games.exact_score,
            num_solved=games.num_solved,
        )
    return ~supervised.is_held_out(game, action, share)[plies.game], plies


def _searched(
    settings: SuperviseConfig, game: protocol.Game, key: jax.Array
) -> supervised.RecordedPlies:
    assert settings.player is not None
    trained = network_files.load_trained(settings.player, game)
    evaluate = network.folded_evaluator(game, trained.network_config, trained.variables)
    return pretraining.searched_plies(
        game,
        pretraining.without_prior(evaluate) if settings.uniform_prior else evaluate,
        key,
        settings.num_games,
        search=settings.search,
        max_opening_plies=settings.max_opening_plies,
    )


def _default_archive() -> pathlib.Path:
    folder = data.folder()
    if folder is None:
        raise ValueError(f"name archives of games, or set {data.VARIABLE} to the data folder")
    return folder / DEFAULT_ARCHIVE
