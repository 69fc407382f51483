"""Supervised learning by way of the entry point: on tic-tac-toe, and on archives of Othello."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.drivers import commands

from azo.cli import supervise
from azo.games import registry, tictactoe
from azo.networks import network_files
from azo.process import interruption
from azo.settings import typed_settings
from azo.training import metrics, supervised_data, supervised_training

TICTACTOE = (
    "--game.name", "tictactoe", "--learner.batch-size", 32, "--learner.num-steps", 8,
    "--learner.warmup-steps", 2, "--learner.learning-rate", 0.01,
    "--network.num-blocks", 0, "--network.num-channels", 8, "--network.value-units", 32,
)  # fmt: skip
RANDOM = (*TICTACTOE, "--source", "random", "--num-games", 1000, "--num-epochs", 12)


@pytest.fixture(scope="module")
def value_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("supervised") / "value"
    assert commands.run("supervise", "--folder", folder, *RANDOM) == 0
    return folder


@pytest.fixture(scope="module")
def searched(value_run):
    """Returns settings of a search with that value, and the plies that it plays."""
    flags = [*TICTACTOE, "--source", "search", "--player", value_run / "best"]
    flags += ["--num-games", 64, "--search.num-simulations", 16, "--max-opening-plies", 2]
    flags += ["--num-epochs", 40, "--evaluations-per-epoch", 0.1, "--start", value_run / "best"]
    settings = supervise.load([str(flag) for flag in flags])
    return settings, *supervised_data._plies(settings, registry.make(settings.game))


@pytest.mark.slow
def test_searched_plies_are_whole_games_with_their_results(searched):
    _, is_learned, plies = searched
    num_games = plies.game.max() + 1
    assert num_games >= 64
    boards = jax.device_get(tictactoe.TicTacToe().unpack(jnp.asarray(plies.board)))
    stones = np.bitwise_count(boards.player | boards.opponent)
    np.testing.assert_array_equal(stones, plies.ply)
    for index in range(num_games):
        rows = np.flatnonzero(plies.game == index)
        first = plies.ply[rows[0]]
        assert first <= 2
        np.testing.assert_array_equal(plies.ply[rows], first + np.arange(len(rows)))
        # The player of the last move does not lose, and players take turns.
        assert plies.value[rows[-1]] in (0, 1)
        signs = (-1.0) ** np.arange(len(rows))[::-1]
        np.testing.assert_array_equal(plies.value[rows], plies.value[rows[-1]] * signs)
        # A whole game is on one side.
        assert len(set(is_learned[rows])) == 1
    np.testing.assert_array_equal(plies.action, plies.policy.argmax(axis=1))
    assert 0.75 < is_learned.mean() < 1


@pytest.mark.parametrize("num_rows", [1, 40, 700, 5_000, 51_200, 1_000_000])
@pytest.mark.parametrize(("num_epochs", "per_epoch"), [(10, 1), (3, 2), (0.5, 1), (40, 0.1)])
def test_the_epochs_and_their_evaluations_are_those_asked_for(num_rows, num_epochs, per_epoch):
    settings = supervised_data.SuperviseConfig(
        num_epochs=num_epochs, evaluations_per_epoch=per_epoch
    )
    num_calls, steps, batch = supervised_training.split(settings, num_rows)
    assert 1 <= steps <= settings.learner.num_steps
    assert batch == min(512, num_rows)
    # Rounded to whole steps in each call, of which there is at least one.
    wanted = max(num_epochs, batch / num_rows)
    assert num_calls * steps * batch / num_rows == pytest.approx(
        wanted, rel=0.06, abs=0.5 * batch / num_rows
    )
    assert steps * batch / num_rows <= max(1 / per_epoch + 0.5 * batch / num_rows, batch / num_rows)


def test_what_a_section_of_a_file_leaves_out_is_as_without_the_file(tmp_path):
    path = tmp_path / "tower.toml"
    path.write_text("[network]\nnum_blocks = 5\n[learner]\nbatch_size = 64\n")
    flags = ["games.csv", "--learner.warmup-steps", "7"]
    settings = supervise.load(["--config", str(path), *flags])
    changes = {"network.num_blocks": 5, "learner.batch_size": 64}
    expected = supervise.load(flags)
    for name, value in changes.items():
        expected = typed_settings.replaced(expected, name, value)
    assert settings == expected


@pytest.mark.thorough
def test_stopping_early_keeps_the_network_so_far(tmp_path):
    settings = supervise.load([str(flag) for flag in ("--folder", tmp_path / "run", *RANDOM)])
    game = registry.make(settings.game)
    stop = interruption.StopRequest()
    stop.is_made = True
    result = supervised_training.train(
        settings, game, *supervised_data.prepare(settings, game), stop
    )
    events = metrics.read(tmp_path / "run", "evaluation")
    assert [event["iteration"] for event in events] == [8]
    assert 0 < events[0]["supervised/epoch"] < 1
    assert result["held_out/accuracy"] == events[0]["held_out/accuracy"]
    assert network_files.load_settings(tmp_path / "run" / "best").game.name == "tictactoe"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--source", "search"], "--source search needs --player, the folder of a network"),
        ([], "--source files needs archives of games: name them first"),
        (["a.csv", "--folder", "{}"], "{}: exists already: choose a new --folder"),
        (
            ["--config", "{}/a.toml"],
            "{}/a.toml [network]: num_blocks is -1, but should be greater than or equal to 0",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_named_in_one_line(flags, message, tmp_path, capsys):
    (tmp_path / "a.toml").write_text("[network]\nnum_blocks = -1\n")
    new = [] if "--folder" in flags else ["--folder", tmp_path / "run"]
    words = [flag.replace("{}", str(tmp_path)) for flag in flags]
    shown = commands.refused(capsys, "supervise", *words, *new)
    assert shown == message.replace("{}", str(tmp_path))
