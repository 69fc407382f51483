"""Supervised data: examples from archives, from games made for the purpose, or from runs.

Errors in files or settings are ValueErrors that name the place.
"""

import pathlib
import sys
from collections.abc import Collection
from typing import Annotated, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pydantic
import tyro

from azo.formats import game_files
from azo.games import game_config, plurals, protocol, registry
from azo.learning import pretraining, replay, supervised
from azo.learning.learner import LearnerConfig
from azo.networks import checkpoint_folder, network, network_files
from azo.networks.network import NetworkConfig
from azo.opponents import players
from azo.search import improvement
from azo.settings import setting_types, typed_settings, validation
from azo.training import first_network, orbax_calls

_BY_SEARCH = setting_types.needs("source", "search")
_OF_GAMES = setting_types.needs_other("source", "runs")
_WITH_TABLES = setting_types.needs_other("network.kind", "residual")
_UNIFORM = 1e9  # a temperature that makes every prior uniform to the last bit
_COLUMNS = ("board", "policy", "value", "score", "iteration")  # of `replay.Rows`


class SuperviseConfig(pydantic.BaseModel, frozen=True, extra="forbid"):
    """Supervised learning from games."""

    files: Annotated[
        tyro.conf.Positional[tuple[pathlib.Path, ...]], tyro.conf.arg(metavar="FILES")
    ] = ()
    """Archives of games, or folders of runs."""
    source: Literal["files", "random", "search", "runs"] = setting_types.common("files")
    """Training data: games from the files; random games, which teach only the value; games of
    --player; or the positions in the replays of runs, with the targets of their searches."""
    num_games: setting_types.PositiveInt = setting_types.common(10_000)
    """Games to generate with --source random, or to play in parallel with --source search."""
    player: pathlib.Path | None = setting_types.common(None)
    """Folder of the network that searches with --source search."""
    max_opening_plies: setting_types.Plies = setting_types.common(10)
    """With --source search: maximum number of random opening plies; the minimum is 0."""
    start: pathlib.Path | None = setting_types.common(None)
    """Folder of a network of the same shape to start from."""
    folder: pathlib.Path = setting_types.common(pathlib.Path("runs/supervised"))
    """New folder for the best network and the metrics."""
    num_epochs: setting_types.PositiveFloat = setting_types.common(10.0)
    """Passes over all examples."""
    evaluations_per_epoch: setting_types.PositiveFloat = setting_types.common(1.0)
    """Evaluations on the held-out games per epoch. The last one is always at the end of
    training."""
    seed: setting_types.Seed = setting_types.common(0)
    """Seed of all random keys."""
    game: game_config.GameConfig = game_config.GameConfig()
    """Rules of the generated games; archives have games on 8x8."""
    examples: supervised.ExamplesConfig = supervised.ExamplesConfig()
    network: NetworkConfig = NetworkConfig(kind="residual")
    learner: LearnerConfig = LearnerConfig(
        schedule="cosine",
        warmup_steps=100,
        batch_size=512,
        num_steps=50,
        score_weight=0.25,
        augment=True,
    )
    search: improvement.SearchConfig = improvement.SearchConfig(num_simulations=32)

    NO_EFFECT: ClassVar = {
        "search.prior_temperature": "--source search gives all moves one prior",
        "search.symmetry": "--source search evaluates positions unchanged",
    }
    NEEDS: ClassVar[setting_types.Table] = {
        "files": (setting_types.needs("source", "files", "runs"),),
        "num_games": (setting_types.needs("source", "random", "search"),),
        "player": (_BY_SEARCH,),
        "max_opening_plies": (_BY_SEARCH,),
        "examples.keep_under_8": (_OF_GAMES,),
        "examples.keep_under_16": (_OF_GAMES,),
        "learner.policy_weight": (setting_types.needs_other("source", "random"),),
        "learner.table_feature_rate": (_WITH_TABLES,),
        "learner.table_logit_rate": (_WITH_TABLES,),
        "game": (_OF_GAMES,),
        "search": (_BY_SEARCH,),
    }


def check(settings: SuperviseConfig, typed: Collection[str] = ()) -> SuperviseConfig:
    """Returns settings that fit their source of games; raises ValueError with one line.

    Those that were `typed`, by full names, stay.
    """
    if settings.source == "files" and settings.game != game_config.GameConfig():
        raise ValueError("remove --game.*: archives hold the usual game on 8x8")
    if settings.source == "search" and settings.player is None:
        raise ValueError("--source search needs --player, the folder of a network")
    if settings.source in ("files", "runs") and not settings.files:
        what = "archives of games" if settings.source == "files" else "the folders of runs"
        raise ValueError(f"--source {settings.source} needs {what}: name them first")
    if settings.source == "runs":
        return _as_run(settings, typed)
    if settings.source != "random":
        return settings
    # Random moves teach no policy.
    without_policy = settings.learner.model_copy(update={"policy_weight": 0.0})
    return settings.model_copy(update={"learner": without_policy})


def _as_run(settings: SuperviseConfig, typed: Collection[str]) -> SuperviseConfig:
    """Returns settings with the game and search of the first run, and what else has its default.

    Of the network and the learner, typed settings stay.
    """
    run, default = first_network.load_run(settings.files[0]), SuperviseConfig()
    own = [name for name in typed if name.startswith(("network.", "learner."))]
    untyped = settings
    for name in own:
        value = typed_settings.value_of(default, name)
        untyped = typed_settings.replaced(untyped, name, value)
    changes = {"game": run.game, "search": run.search}
    if untyped.network == default.network:
        changes["network"] = run.network
    if untyped.learner == default.learner:
        kept = default.learner.model_dump(include={"schedule", "num_steps"})
        changes["learner"] = run.learner.model_copy(update=kept)
    changed = settings.model_copy(update=changes)
    for name in own:
        value = typed_settings.value_of(settings, name)
        changed = typed_settings.replaced(changed, name, value)
    return validation.validate(SuperviseConfig, changed.model_dump(), None)


def prepare(
    settings: SuperviseConfig, game: protocol.Game
) -> tuple[replay.Examples, supervised.RecordedPlies]:
    """Returns the examples to learn and the held-out plies that place a disc; prints counts."""
    is_learned, plies = _plies(settings, game)
    learned = plies.select(is_learned)
    rows, columns = game.board_shape
    held_out = plies.select(~is_learned)
    if settings.source != "runs":
        learned = supervised.thinned(learned, settings.examples, settings.seed)
        if game.has_square_actions:
            held_out = held_out.select(held_out.action < rows * columns)
    if not len(learned) or not len(held_out):
        raise ValueError(
            f"too few games: {plurals.counted(len(learned), 'position')} to learn and"
            f" {len(held_out)} held out, but each should be at least 1"
        )
    if settings.source == "runs":  # one example per searched position
        examples = replay.Examples(
            board=jnp.asarray(learned.board),
            policy=jnp.asarray(learned.policy),
            value=jnp.asarray(learned.value),
            score=jnp.asarray(learned.score),
        )
        groups = plurals.counted(len(settings.files), "run")
    else:
        examples = supervised.dataset(game, learned)
        groups = plurals.counted(len(np.unique(plies.game)), "game", form=",")
    total, of_learned, of_held_out = (
        plurals.counted(len(x), "ply", "plies", ",") for x in (plies, learned, held_out)
    )
    positions = plurals.counted(len(examples.value), "position", form=",")
    print(
        f"{groups}, {total}; learned: {of_learned}, {positions}; held out: {of_held_out}",
        flush=True,
    )
    return examples, held_out


def _plies(
    settings: SuperviseConfig, game: protocol.Game
) -> tuple[np.ndarray, supervised.RecordedPlies]:
    """Returns all plies of archives, runs or new games, after a mask of those to learn from."""
    key, share = jax.random.key(settings.seed), settings.examples.held_out
    if settings.source == "runs":  # whole iterations are held out
        parts = [kept_positions(run, game) for run in settings.files]
        plies = jax.tree.map(lambda *columns: np.concatenate(columns), *parts)
        return plies.game % max(2, round(1 / share)) != 0, plies
    if settings.source == "search":
        plies = _searched(settings, game, key)
        draw = np.random.default_rng(settings.seed).random(plies.game.max() + 1)
        return draw[plies.game] >= share, plies
    exact: dict[str, np.ndarray] = {}
    if settings.source == "random":
        made = pretraining.random_games(game, key, settings.num_games)
        action, value = jax.device_get(made)
    else:
        games = game_files.read_archives(settings.files, on_left_out=_warn)
        action, value = games.action, games.black_value
        exact = {"exact_score": games.exact_score, "num_solved": games.num_solved}
    plies = supervised.plies_of(game, action, value, **exact)
    return ~supervised.is_held_out(game, action, share)[plies.game], plies


def _warn(line: str) -> None:
    print(line, file=sys.stderr)


def kept_positions(run: pathlib.Path, game: protocol.Game) -> supervised.RecordedPlies:
    """Returns the positions in the replays of a run, with the targets of its searches.

    The replays overlap. A position belongs to the first kept checkpoint after the iteration in
    which it was played, so that none is read twice; games that this checkpoint found unfinished are
    left out. The action is the likeliest one, `game` the iteration, and `ply` 0.

    Raises:
      ValueError: One line: the folder is not that of a run, the run is of another game, or a
        checkpoint is damaged.
    """
    trained_for = registry.make(network_files.load_settings(run).game)
    if trained_for != game:
        raise ValueError(f"{run}: a run of {trained_for.name}, not of {game.name}")
    if not (run / checkpoint_folder.CHECKPOINTS).is_dir():
        raise ValueError(f"{run}: a network without the positions of its run: name the run")
    parts, last = [], -1
    for step in checkpoint_folder.all_steps(run):
        checkpoint_folder.verify(run, step, [checkpoint_folder.STATE])
        state = orbax_calls.read(checkpoint_folder.folder_of(run, step) / checkpoint_folder.STATE)
        sizes, iteration = state["replay/size"], state["replay/iteration"]
        rings = np.arange(len(iteration)).reshape(len(sizes), -1)
        rows = rings[np.arange(rings.shape[1]) < sizes[:, None]]
        rows = rows[iteration[rows] > last]
        parts.append({name: state[f"replay/{name}"][rows] for name in _COLUMNS})
        last = int(parts[-1]["iteration"].max(initial=last))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in _COLUMNS}
    iteration = columns.pop("iteration")
    return supervised.RecordedPlies(
        **columns,
        action=columns["policy"].argmax(axis=1).astype(np.int32),
        ply=np.zeros_like(iteration),
        game=iteration,
    )


def _searched(
    settings: SuperviseConfig, game: protocol.Game, key: jax.Array
) -> supervised.RecordedPlies:
    assert settings.player is not None
    trained = players.load_network(settings.player, game)
    evaluate = network.folded_evaluator(game, trained.network_config, trained.variables)
    return pretraining.searched_plies(
        game,
        evaluate,
        key,
        settings.num_games,
        # Random games, which teach the network its value, teach it no policy.
        search=settings.search.model_copy(update={"prior_temperature": _UNIFORM}),
        max_opening_plies=settings.max_opening_plies,
    )
