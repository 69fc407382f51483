"""The settings files in `configs/`: all load, and tic-tac-toe's never loses in the end."""

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.references import slow_tictactoe

from azo.cli import train
from azo.games import registry, tictactoe
from azo.matches import arena, elo, run_matches
from azo.opponents import players
from azo.process import interruption
from azo.settings import setting_types, shipped_files, typed_settings
from azo.training import config, curriculum, metrics, trainer

CONFIGS = shipped_files.CONFIGS
FILES = sorted([*CONFIGS.glob("*.toml"), *CONFIGS.glob("champions/*.toml")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_settings_file_loads_and_names_its_own_folder(path):
    settings = config.load_file(path)
    registry.make(settings.game)
    assert settings.run.folder.name == path.stem


# Where a default differs from the default recipe: docs/design.md has the reason for each.
NOT_OF_RECIPE = {
    "minutes",
    "generation.schedule",
    "run.num_devices",
    "search.prior_temperature",
    "search.score_share",
    "selfplay.max_opening_plies",
    "endings.adjudicate_empties",
    "ratings.num_points",
}


def test_the_defaults_of_the_classes_are_those_of_the_default_recipe():
    recipe, defaults = config.load_file(config.DEFAULT_CONFIG), config.Config()
    different = {
        name
        for name, field in setting_types.fields_of(config.Config).items()
        if setting_types.section_of(field) is None
        and typed_settings.value_of(defaults, name) != typed_settings.value_of(recipe, name)
    }
    assert different == NOT_OF_RECIPE


# What the settings of a file become if they are on; switches, formulas, schedules, phases stay.
REDUCED = {
    "game.size": 4,
    "search.num_simulations": 4,
    "search.gumbel.max_considered_actions": 3,
    "network.num_blocks": 1,
    "network.num_channels": 8,
    "network.policy_units": 8,
    "network.value_units": 8,
    "network.block_channels": [8],
    "network.policy_mlp_units": [8],
    "selfplay.num_games": 4,
    "selfplay.num_plies": 14,  # a 4x4 game has about twelve
    "selfplay.min_opening_plies": 2,
    "selfplay.max_opening_plies": 4,
    "endings.adjudicate_empties": 5,
    "endings.num_positions": 16,
    "endings.min_empties": 4,
    "endings.max_empties": 6,
    "replay.capacity": 512,
    "replay.min_positions": 4,
    "learner.batch_size": 8,
    "learner.num_steps": 1,
    "generation.num_games": 1,
    "generation.num_samples": 8,
    "gate.num_games": 2,
    "gate.num_simulations": 2,
    "evaluation.num_games": 2,
    "evaluation.num_simulations": 2,
    "evaluation.opening_plies": 0,
    "evaluation.opponent": "random",
    "ratings.num_points": 0,  # no ladder is for 4x4
    "run.num_iterations": 2,
    "run.log_every": 1,
    "run.start_from": None,  # a network of full size
}


def reduced(settings, folder):
    """Returns the settings with a small board, network and search, and every phase so too."""
    tree = settings.model_dump()

    def smaller(name, value):
        if name == "evaluation.opponent" and "{" in value:
            return value.replace(":100", ":2")  # the network of an earlier phase
        if name == "run.num_iterations" and settings.curriculum:
            return 1
        return REDUCED.get(name, value) if value else value

    for section, setting in (name.split(".") for name in REDUCED):
        tree[section][setting] = smaller(f"{section}.{setting}", tree[section][setting])
    tree["run"] |= {"folder": folder, "num_devices": 1}
    if tree["minutes"]:
        tree["minutes"] = None
        tree["run"]["num_iterations"] = 1 if settings.curriculum else 2
    for part in (*tree["curriculum"], *tree["generation"]["schedule"]):
        part["set"] = {name: smaller(name, value) for name, value in part["set"].items()}
    return config.Config.model_validate(tree)


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_settings_file_trains_at_reduced_size(path, tmp_path, monkeypatch):
    # Matches have tests of their own, and would take longest to compile.
    drawn = elo.MatchResult(1, 0, 1)
    monkeypatch.setattr(arena, "play_match", lambda *_, **__: drawn)
    settings = reduced(config.load_file(path), tmp_path / "run")
    runs, num_iterations = [settings], 2
    with interruption.StopRequest() as stop:
        if settings.curriculum:
            curriculum.train(settings, stop, run_matches.RunMatches)
            phases = range(len(settings.curriculum))
            runs = [config.of_phase(settings, index) for index in phases]
            num_iterations = 1
        else:
            trainer.train(settings, stop, run_matches.RunMatches)
    for run in runs:
        events = metrics.read(run.run.folder, "iteration")
        assert [event["iteration"] for event in events] == list(range(1, num_iterations + 1))
        least = 0 if run.endings.num_positions else 4 * 14 * (4 + 1)
        assert events[0]["selfplay/evaluations"] >= least
        losses = [event["learner/policy_loss"] for event in events]
        assert any(loss is not None and np.isfinite(loss) for loss in losses), losses
        (end,) = metrics.read(run.run.folder, "end")
        assert end["iteration"] == num_iterations


def best_moves():
    """`[512, 512, 9]` bool: whether a move keeps the value of a position, by both sides' marks."""
    table = np.zeros((512, 512, 9), bool)
    boards = slow_tictactoe.boards()
    marks = jax.device_get(slow_tictactoe.position(boards))
    for board, player, opponent in zip(boards, marks.player, marks.opponent, strict=True):
        for square in slow_tictactoe.good_moves(board):
            table[player, opponent, square] = True
    return table


@flax.struct.dataclass
class PerfectPlayer:
    """Chooses at random among the moves that keep a position's value."""

    is_best: jax.Array  # [512, 512, 9] bool

    def __call__(self, key, position):
        is_best = self.is_best[position.player, position.opponent]
        return jax.random.categorical(key, jnp.where(is_best, 0.0, -jnp.inf))


@pytest.mark.slow
@pytest.mark.usefixtures("thorough_compilation")
def test_tic_tac_toe_is_learned_from_nothing_until_it_never_loses(tmp_path):
    path = shipped_files.CONFIGS / "tictactoe.toml"
    flags = ["--config", str(path), "--run.folder", str(tmp_path / "run"), "--run.num-devices", "1"]
    flags += ["--evaluation.every", "0", "--evaluation.opponent", "random"]
    settings = train.load(flags)
    state = trainer.train(settings, make_matches=run_matches.RunMatches)
    game = tictactoe.TicTacToe()
    without_search = players.NetworkPlayer(
        jax.device_get(state.variables()), game, settings.network
    )
    perfect = PerfectPlayer(jnp.asarray(best_moves()))
    result = arena.play_match(
        game, without_search, perfect, jax.random.key(0), num_games=1000, opening_plies=0
    )
    assert (result.wins, result.losses) == (0, 0), result
